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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sidemirror "github.com/sidemirror/sidemirror/clients/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const patience = time.Minute

type object = map[string]any

type runner struct {
	variables  map[string]string
	client     *sidemirror.Client
	turns      map[string]*sidemirror.Turn
	directives map[string][]any
	told       atomic.Int32
	refusals   *refusals
	times      times
	tasks      int // at the first `held`
	stdin      *bufio.Reader
}

// refusals are what the agent was told of its token.
type refusals struct {
	mu   sync.Mutex
	said []string
}

func (r *refusals) on(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, why.Error())
}

func (r *refusals) soFar() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.said)
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
	r := &runner{
		turns: map[string]*sidemirror.Turn{}, directives: map[string][]any{}, times: times{}, stdin: bufio.NewReader(os.Stdin),
	}
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
	if r.client != nil {
		_ = r.client.Close() // a step says what must be delivered
	}
	return passed, r.times.print()
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
	case step["many"] != nil:
		return r.many(step["many"].(object))
	case step["held"] != nil:
		return r.held()
	case step["advice_text"] != nil:
		return checkText(step)
	case step["close"] != nil:
		return r.close(step["close"])
	case step["refused"] != nil:
		return r.awaitRefusal(step)
	}
	return r.call(step)
}

func (r *runner) connect(given object) error {
	if r.client != nil {
		_ = r.client.Close()
	}
	r.told.Store(0)
	r.refusals = &refusals{}
	options := []sidemirror.Option{
		sidemirror.WithAddress(text(given, "address")),
		sidemirror.WithTokenFile(text(given, "token_file")),
		sidemirror.WithCAFile(text(given, "ca_file")),
		sidemirror.WithScope(text(given, "tenant_id"), text(given, "project_id")),
		sidemirror.WithOnAway(func(why error) {
			r.told.Add(1)
			fmt.Println("told", why)
			panic("an agent's own callback")
		}),
		sidemirror.WithOnRefused(r.refusals.on),
		sidemirror.WithClientCertificate(text(given, "client_certificate_file"), text(given, "client_key_file")),
	}
	if given["tls"] == true {
		options = append(options, sidemirror.WithTLS())
	}
	client, err := sidemirror.Connect(options...)
	if words, is := given["refused"].([]any); is {
		return checkRefused(words, err)
	}
	if err != nil {
		return err
	}
	r.client = client
	if given["wait"] == false {
		return nil
	}
	return r.ready()
}

func (r *runner) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.client.WaitUntilReady(ctx); err != nil {
		return err
	}
	if r.client.Away() {
		return errors.New("ready, and away")
	}
	return nil
}

func checkRefused(words []any, err error) error {
	if err == nil {
		return errors.New("not refused")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word.(string)) {
			return fmt.Errorf("refused, but not with %v: %w", words, err)
		}
	}
	return nil
}

func (r *runner) awaitRefusal(step object) error {
	for ends := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		said := r.refusals.soFar()
		if slices.ContainsFunc(said, func(why string) bool { return strings.Contains(why, step["refused"].(string)) }) {
			if times, is := step["times"].(float64); (is && len(said) != int(times)) || r.told.Load() > 0 {
				return fmt.Errorf("told %q, and %d times that the sidecar is away", said, r.told.Load())
			}
			return nil
		}
		if time.Now().After(ends) {
			return fmt.Errorf("told %q", said)
		}
	}
}

func (r *runner) close(expected any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	left := &sidemirror.UndeliveredError{}
	if err := r.client.Shutdown(ctx); err != nil && !errors.As(err, &left) {
		return err
	}
	return check(expected, object{
		"events": float64(left.Events), "outcomes": float64(left.Outcomes), "goals": float64(left.Goals),
		"turns": float64(len(left.Turns)),
	})
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
	var answers []any
	r.times.of(step, func() { answers, err = r.answers(step, method) })
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
		"PERMISSION_DENIED": codes.PermissionDenied, "INTERNAL": codes.Internal, "CANCELLED": codes.Canceled,
		"UNKNOWN": codes.Unknown, "ABORTED": codes.Aborted, "RESOURCE_EXHAUSTED": codes.ResourceExhausted,
	} {
		if each == code {
			return name
		}
	}
	return code.String()
}
