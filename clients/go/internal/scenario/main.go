// Command scenario runs the scenario of clients/scenario with the Go client. How a runner behaves is said there, in
// README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	sidemirror "github.com/sidemirror/sidemirror/clients/go"
	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const patience = 10 * time.Second

type object = map[string]any

type runner struct {
	variables  map[string]string
	client     *sidemirror.Client
	turns      map[string]*sidemirror.Turn
	directives map[string][]any
	told       atomic.Int32
	stdin      *bufio.Reader
}

func main() {
	passed, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("passed", passed)
}

func run() (int, error) {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return 0, err
	}
	var steps []object
	r := &runner{turns: map[string]*sidemirror.Turn{}, directives: map[string][]any{}, stdin: bufio.NewReader(os.Stdin)}
	if err := errors.Join(
		json.Unmarshal(text, &steps), json.Unmarshal([]byte(os.Getenv("SCENARIO_VARIABLES")), &r.variables),
	); err != nil {
		return 0, err
	}
	has := strings.Split(os.Getenv("SCENARIO_HAS"), ",")
	passed := 0
	for _, given := range steps {
		if needs, _ := given["needs"].([]any); slices.ContainsFunc(needs, func(need any) bool {
			return !slices.Contains(has, need.(string))
		}) {
			continue
		}
		fmt.Println("step", given["name"])
		if err := r.do(r.filled(given).(object)); err != nil {
			return 0, fmt.Errorf("%s: %w", given["name"], err)
		}
		passed++
	}
	return passed, r.client.Close()
}

func (r *runner) do(step object) error {
	switch {
	case step["connect"] != nil:
		return r.connect(step["connect"].(object))
	case step["server"] != nil:
		return r.control(step["server"].(string))
	case step["turn"] != nil:
		return r.turn(step)
	case step["away"] != nil:
		return r.away(step["away"].(object))
	}
	return r.call(step)
}

func (r *runner) connect(given object) error {
	if r.client != nil {
		_ = r.client.Close()
	}
	client, err := sidemirror.Connect(
		sidemirror.WithAddress(text(given, "address")),
		sidemirror.WithTokenFile(text(given, "token_file")),
		sidemirror.WithTLS(text(given, "ca_file")),
		sidemirror.WithScope(text(given, "tenant_id"), text(given, "project_id")),
		sidemirror.WithOnAway(func(why error) {
			r.told.Add(1)
			fmt.Println("told", why)
			panic("an agent's own callback")
		}),
	)
	if err != nil {
		return err
	}
	r.client = client
	if given["wait"] == false {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return client.WaitUntilReady(ctx)
}

// control has something done to the sidecar.
func (r *runner) control(what string) error {
	fmt.Println("@" + what)
	answer, err := r.stdin.ReadString('\n')
	if err == nil && strings.TrimSpace(answer) != "done" {
		err = fmt.Errorf("%s: %q", what, answer)
	}
	return err
}

// --- calls -----------------------------------------------------------------------------------------------------------

func (r *runner) call(step object) error {
	service, name, _ := strings.Cut(step["call"].(string), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("sidemirror.v1." + service))
	if err != nil {
		return err
	}
	method := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name))
	answers, err := r.answers(step, method)
	if err != nil || step["error"] != nil {
		return checkError(step, err, answers)
	}
	var answer any = answers
	if expected, is := step["expect_stream"].([]any); is {
		err = checkStream(expected, answers)
	} else {
		answer = answers[0]
		err = check(step["expect"], answer)
	}
	if err != nil {
		return err
	}
	saved, _ := step["save"].(object)
	for variable, path := range saved {
		r.variables[variable] = at(answer, path.(string)).(string)
	}
	return nil
}

func (r *runner) answers(step object, method protoreflect.MethodDescriptor) ([]any, error) {
	given, is := step["requests"].([]any)
	if !is {
		given = []any{step["request"]}
	}
	ctx, cancel := context.WithCancel(context.Background())
	if limit, is := step["deadline_ms"].(float64); is {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(limit)*time.Millisecond)
	}
	defer cancel()
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		response := message(method.Output())
		request, err := parsed(given[0], method.Input())
		if err == nil {
			err = r.client.Conn.Invoke(ctx, path, request, response)
		}
		return []any{plain(response)}, err
	}
	stream, err := r.client.Conn.NewStream(ctx, &grpc.StreamDesc{
		ClientStreams: method.IsStreamingClient(), ServerStreams: method.IsStreamingServer(),
	}, path)
	if err != nil {
		return nil, err
	}
	for _, each := range given {
		request, err := parsed(each, method.Input())
		if err != nil {
			return nil, err
		}
		if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	return received(stream, method.Output(), step["cancel_after"], cancel)
}

func received(
	stream grpc.ClientStream, output protoreflect.MessageDescriptor, cancelAfter any, cancel func(),
) ([]any, error) {
	var answers []any
	cancelled := false
	for {
		response := message(output)
		err := stream.RecvMsg(response)
		if errors.Is(err, io.EOF) || (cancelled && status.Code(err) == codes.Canceled) {
			return answers, nil
		}
		if err != nil {
			return answers, err
		}
		answers = append(answers, plain(response))
		if limit, is := cancelAfter.(float64); is && len(answers) == int(limit) {
			cancelled = true
			cancel()
		}
	}
}

func checkError(step object, err error, answers []any) error {
	expected, is := step["error"].(object)
	if !is {
		return err
	}
	if err == nil {
		return fmt.Errorf("an answer instead of %v: %v", expected, answers)
	}
	problem := sidemirror.ProblemOf(err)
	same := codeName(status.Code(err)) == expected["code"]
	if reason, is := expected["reason"]; is && reason != problem.Reason {
		same = false
	}
	fields, _ := expected["fields"].([]any)
	for _, field := range fields {
		if _, is := problem.Fields[field.(string)]; !is {
			same = false
		}
	}
	if !same {
		return fmt.Errorf("%w (%v) instead of %v", err, problem, expected)
	}
	return nil
}

func codeName(code codes.Code) string {
	for name, each := range map[string]codes.Code{
		"INVALID_ARGUMENT": codes.InvalidArgument, "NOT_FOUND": codes.NotFound, "ALREADY_EXISTS": codes.AlreadyExists,
		"FAILED_PRECONDITION": codes.FailedPrecondition, "UNAVAILABLE": codes.Unavailable,
		"DEADLINE_EXCEEDED": codes.DeadlineExceeded, "UNAUTHENTICATED": codes.Unauthenticated,
		"PERMISSION_DENIED": codes.PermissionDenied, "INTERNAL": codes.Internal,
	} {
		if each == code {
			return name
		}
	}
	return code.String()
}

// --- the turn helper -------------------------------------------------------------------------------------------------

func (r *runner) turn(step object) error {
	name := "t"
	if step["as"] != nil {
		name = step["as"].(string)
	}
	turn := r.turns[name]
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch step["turn"] {
	case "begin":
		started := &pb.TurnStarted{}
		if err := parse(step["started"], started); err != nil {
			return err
		}
		r.turns[name] = r.client.BeginTurn(sidemirror.TurnOptions{
			TurnID: text(step, "turn_id"), Agent: text(step, "agent"), Started: started,
		})
		r.directives[name] = nil
	case "report":
		if size, is := step["text_bytes"].(float64); is {
			turn.Report(sidemirror.ToolReturned(strings.Repeat("é", int(size)/2), false))
		}
		events, _ := step["events"].([]any)
		times, _ := step["times"].(float64)
		for range max(1, int(times)) {
			for _, given := range events {
				event := &pb.TurnEvent{}
				if err := parse(given, event); err != nil {
					return err
				}
				turn.Report(event)
			}
		}
	case "finish":
		var score *float64
		if given, is := step["score"].(float64); is {
			score = &given
		}
		turn.Finish(pb.TaskOutcome(pb.TaskOutcome_value[text(step, "outcome")]), score)
	case "flush":
		ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
		defer cancel()
		return r.client.Flush(ctx)
	case "error":
		return r.awaitError(turn, step)
	case "await":
		return r.await(ctx, name, step["expect"])
	case "plan":
		return check(step["expect"], plain(turn.Plan(ctx)))
	case "summary":
		return check(step["expect"], plain(turn.Summary(ctx)))
	}
	return nil
}

func (r *runner) awaitError(turn *sidemirror.Turn, step object) error {
	for ends := time.Now().Add(3 * patience); turn.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(ends) {
			return errors.New("the turn goes on")
		}
	}
	if dropped := turn.Dropped(); dropped != int(step["dropped"].(float64)) {
		return fmt.Errorf("%d events were dropped", dropped)
	}
	return checkError(step, turn.Err(), nil)
}

func (r *runner) await(ctx context.Context, name string, expected any) error {
	for {
		directive, err := r.turns[name].Next(ctx)
		if err != nil {
			return fmt.Errorf("no directive %v among %v: %w", expected, r.directives[name], err)
		}
		came := plain(directive)
		if matches(expected, came) {
			r.directives[name] = nil
			return nil
		}
		r.directives[name] = append(r.directives[name], came)
	}
}

func (r *runner) away(given object) error {
	count := func(name string) int { return int(given[name].(float64)) }
	prefix := given["prefix"].(string)
	longest, plain, dropped := time.Duration(0), time.Duration(0), 0
	// The system's account is that of a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	scheduled, _ := os.Open("/proc/thread-self/schedstat")
	defer scheduled.Close()
	timed := func(use func()) {
		before, began := waited(scheduled), time.Now()
		use()
		took := time.Since(began)
		longest, plain = max(longest, took-(waited(scheduled)-before)), max(plain, took)
	}
	r.told.Store(0)
	var begun []*sidemirror.Turn
	for number := range count("turns") {
		var turn *sidemirror.Turn
		timed(func() {
			turn = r.client.BeginTurn(sidemirror.TurnOptions{
				TurnID:  fmt.Sprintf("%s-%d", prefix, number),
				Started: &pb.TurnStarted{SessionId: prefix, Task: "away"},
			})
		})
		begun = append(begun, turn)
		for place := range count("events") {
			if place == count("events")/2 {
				if err := r.strike(number, count("kill_at"), count("start_at")); err != nil {
					return err
				}
			}
			event := sidemirror.ToolCalled("step", fmt.Sprintf(`{"i": %d}`, place))
			event.EventId = fmt.Sprintf("e%d", place)
			timed(func() { turn.Report(event) })
		}
		timed(func() { turn.Take() })
		timed(func() { turn.Finish(pb.TaskOutcome_TASK_OUTCOME_SUCCESS, nil) })
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.client.Flush(ctx); err != nil {
		return fmt.Errorf("not everything was delivered: %w", err)
	}
	for _, turn := range begun {
		dropped += turn.Dropped()
	}
	fmt.Printf("away {\"longest_ms\": %f, \"plain_ms\": %f, \"told\": %d, \"dropped\": %d}\n",
		longest.Seconds()*1000, plain.Seconds()*1000, r.told.Load(), dropped)
	return nil
}

// waited is how long this thread could have run while others had its core; 0 where the system does not say.
func waited(scheduled *os.File) time.Duration {
	var text [128]byte
	length, _ := scheduled.ReadAt(text[:], 0)
	fields := strings.Fields(string(text[:length]))
	if len(fields) < 2 {
		return 0
	}
	nanoseconds, _ := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(nanoseconds)
}

func (r *runner) strike(number, killAt, startAt int) error {
	switch number {
	case killAt:
		return r.control("kill")
	case startAt:
		return r.control("start")
	}
	return nil
}

// --- comparing -------------------------------------------------------------------------------------------------------

func message(descriptor protoreflect.MessageDescriptor) proto.Message {
	found, err := protoregistry.GlobalTypes.FindMessageByName(descriptor.FullName())
	if err != nil {
		panic(err)
	}
	return found.New().Interface()
}

func parsed(given any, descriptor protoreflect.MessageDescriptor) (proto.Message, error) {
	parsed := message(descriptor)
	return parsed, parse(given, parsed)
}

func parse(given any, into proto.Message) error {
	if given == nil {
		return nil
	}
	text, err := json.Marshal(given)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(text, into)
}

// plain is protobuf's JSON of a message; nil for none.
func plain(message proto.Message) any {
	if message == nil || !message.ProtoReflect().IsValid() {
		return nil
	}
	var plain any
	text, err := protojson.Marshal(message)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		panic(err)
	}
	return plain
}

func checkStream(expected, answers []any) error {
	rest := answers
	for _, each := range expected {
		place := slices.IndexFunc(rest, func(answer any) bool { return matches(each, answer) })
		if place < 0 {
			return fmt.Errorf("%v did not come, in that order, in %v", each, answers)
		}
		rest = rest[place+1:]
	}
	return nil
}

func check(expected, answer any) error {
	if expected != nil && !matches(expected, answer) {
		return fmt.Errorf("expected %v, got %v", expected, answer)
	}
	return nil
}

func matches(expected, actual any) bool {
	switch expected := expected.(type) {
	case nil:
		return actual == nil
	case object:
		answer, is := actual.(object)
		for key, value := range expected {
			is = is && matches(value, answer[key])
		}
		return is
	case []any:
		answer, is := actual.([]any)
		is = is && len(answer) >= len(expected)
		for place, value := range expected {
			is = is && matches(value, answer[place])
		}
		return is
	}
	return expected == actual || (expected == "*" && actual != nil)
}

func at(answer any, path string) any {
	for _, part := range strings.Split(path, ".") {
		if list, is := answer.([]any); is {
			place, _ := strconv.Atoi(part)
			answer = list[place]
		} else {
			answer = answer.(object)[part]
		}
	}
	return answer
}

var variable = regexp.MustCompile(`\$[a-z_]+`)

func (r *runner) filled(given any) any {
	switch given := given.(type) {
	case string:
		return variable.ReplaceAllStringFunc(given, func(name string) string {
			if value, is := r.variables[name[1:]]; is {
				return value
			}
			return name
		})
	case []any:
		filled := make([]any, len(given))
		for place, each := range given {
			filled[place] = r.filled(each)
		}
		return filled
	case object:
		filled := object{}
		for key, each := range given {
			filled[key] = r.filled(each)
		}
		return filled
	}
	return given
}

func text(given object, key string) string {
	value, _ := given[key].(string)
	return value
}
