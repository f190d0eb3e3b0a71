package sidemirror

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// peer is a server that does with every turn what it is told to.
type peer struct {
	pb.UnimplementedThinkingServiceServer
	runTurn func(pb.ThinkingService_RunTurnServer) error
}

func (p *peer) RunTurn(stream pb.ThinkingService_RunTurnServer) error { return p.runTurn(stream) }

// listen is a client of such a server, which takes reports where it is given who does.
func listen(
	t *testing.T, runTurn func(pb.ThinkingService_RunTurnServer) error, reports *reportsPeer, given ...Option,
) *Client {
	t.Helper()
	path := serve(t, func(server *grpc.Server) {
		pb.RegisterThinkingServiceServer(server, &peer{runTurn: runTurn})
		if reports != nil {
			pb.RegisterGoalReflectionServiceServer(server, reports)
			pb.RegisterReflectiveMemoryServiceServer(server, reports)
		}
	})
	return connected(t, path, given...)
}

// serve is the socket of a server with what is registered.
func serve(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxConcurrentStreams(100))
	register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return path
}

func connected(t *testing.T, path string, given ...Option) *Client {
	t.Helper()
	client, err := Connect(append([]Option{WithAddress("unix:" + path), WithOnAway(func(error) {})}, given...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leaveNow(client) })
	return client
}

// leaveNow closes a client without waiting.
func leaveNow(client *Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	_ = client.Shutdown(ctx)
}

// Seen to fail when each turn counts for itself: an agent that goes on for hours without its sidecar would run out of
// memory.
func TestWhatWaitsIsBoundedOverAllTurns(t *testing.T) {
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"))
	content := strings.Repeat("x", 250_000)
	kept := 6 * 60
	turns := make([]*Turn, 6)
	for i := range turns {
		turns[i] = client.BeginTurn(TurnOptions{})
		for range 60 {
			turns[i].Report(ToolReturned(content, false))
		}
		kept -= turns[i].Dropped()
	}
	if bytes := kept * len(content); bytes > mostBytesInAll || bytes < mostBytesInAll*98/100 {
		t.Fatalf("%d bytes wait", bytes)
	}
	var lost *UndeliveredError
	if err := client.Close(); !errors.As(err, &lost) || lost.Events != 6*61 || len(lost.Turns) != 6 {
		t.Fatal(err)
	}
	if left := client.link.waitingBytes.Load(); left != 0 {
		t.Fatalf("%d bytes are still counted", left)
	}
	late := client.BeginTurn(TurnOptions{})
	late.Report(ToolCalled("search", "{}"))
	if late.Dropped() != 2 {
		t.Fatalf("%d dropped of a turn of a closed client", late.Dropped())
	}
}

// The task and the level have a short form; what Started says goes before them, and is not the agent's to lose.
func TestTheTaskAndTheLevelOfATurnAreSaidInShort(t *testing.T) {
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"))
	const low, medium = pb.ThinkLevel_THINK_LEVEL_LOW, pb.ThinkLevel_THINK_LEVEL_MEDIUM
	own := &pb.TurnStarted{BasePrompt: "prompt", Config: &pb.ThinkingConfig{ReflectEvery: 2}}
	said := &pb.TurnStarted{Task: "look", Config: &pb.ThinkingConfig{Level: low}}
	for name, one := range map[string]struct {
		given  TurnOptions
		expect *pb.TurnStarted
	}{
		"short": {
			TurnOptions{Task: "count", Level: medium},
			&pb.TurnStarted{Task: "count", Config: &pb.ThinkingConfig{Level: medium}},
		},
		"beside others": {
			TurnOptions{Task: "count", Level: medium, Started: own},
			&pb.TurnStarted{Task: "count", BasePrompt: "prompt", Config: &pb.ThinkingConfig{Level: medium, ReflectEvery: 2}},
		},
		"said":    {TurnOptions{Task: "count", Level: medium, Started: said}, said},
		"neither": {TurnOptions{}, &pb.TurnStarted{}},
	} {
		turn := client.BeginTurn(one.given)
		if got := turn.waiting[0].GetTurnStarted(); !proto.Equal(got, one.expect) || turn.task != one.expect.Task {
			t.Errorf("%s: %v, for %q", name, got, turn.task)
		}
	}
	if own.Task != "" || own.Config.Level != pb.ThinkLevel_THINK_LEVEL_UNSPECIFIED {
		t.Errorf("the agent's own message says now %v", own)
	}
}

// Seen to fail, with thousands of streams in a second, without the pause.
func TestAStreamThatIsClosedWithoutAWordIsNotOpenedAgainAtOnce(t *testing.T) {
	var mu sync.Mutex
	var times []time.Time
	often := make(chan struct{})
	client := listen(t, func(pb.ThinkingService_RunTurnServer) error {
		mu.Lock()
		defer mu.Unlock()
		times = append(times, time.Now())
		if len(times) == 4 {
			close(often)
		}
		return nil
	}, nil)
	client.BeginTurn(TurnOptions{})
	<-often
	mu.Lock()
	defer mu.Unlock()
	// After 0.1, 0.2 and 0.3 seconds.
	if took := times[3].Sub(times[0]); took < 500*time.Millisecond {
		t.Fatalf("four streams in %v", took)
	}
}

// Seen to fail, with the whole agent, when the count is believed.
func TestMoreThanWasSentIsSaidToBeDurable(t *testing.T) {
	client := listen(t, func(stream pb.ThinkingService_RunTurnServer) error {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		ack := &pb.TurnDirective{Kind: &pb.TurnDirective_Ack{Ack: &pb.TurnAck{Received: 5, Durable: 5}}}
		if err := stream.Send(&pb.RunTurnResponse{Directives: []*pb.TurnDirective{ack}}); err != nil {
			return err
		}
		<-stream.Context().Done()
		return nil
	}, nil)
	turn := client.BeginTurn(TurnOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := client.Flush(ctx); err != nil || turn.Dropped() != 0 {
		t.Fatal(err, turn.Dropped())
	}
}

// As those of a configuration that leaves them out. Seen to fail, at the default address, without time for any call and
// with a panic that the log tells, when they replace what there is.
func TestAnOptionWithoutAValueSaysNothing(t *testing.T) {
	lines := logs(t)
	address := "unix:" + filepath.Join(t.TempDir(), "nobody.sock")
	t.Setenv("SIDEMIRROR_ADDRESS", address)
	client := Must(Connect(WithAddress(""), WithDeadline(0), WithOnAway(nil), WithOnRefused(nil)))
	if o := client.link.o; o.address != address || o.deadline != 10*time.Second {
		t.Error(o.address, o.deadline)
	}
	client.BeginTurn(TurnOptions{}).Plan(Within(t.Context(), 30*time.Second))
	leaveNow(client)
	client.link.tellRefused(errors.New("who?"))
	if lines.count("has panicked") > 0 || lines.count("the sidecar is away") != 1 || lines.count("does not let the agent in") != 1 {
		t.Error(lines.text.String())
	}
}

// Also one that waits when it is closed. Seen to fail, after ten seconds, when the context alone ends it.
func TestNobodyWaitsForTheSidecarOfAClosedClient(t *testing.T) {
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"))
	waiting := make(chan error, 1)
	ctx := &waited{Context: context.Background(), begun: make(chan struct{})}
	go func() { waiting <- client.WaitUntilReady(ctx) }()
	<-ctx.begun
	leaveNow(client)
	again := make(chan error, 1)
	go func() { again <- client.WaitUntilReady(context.Background()) }()
	for name, ends := range map[string]chan error{"before": waiting, "after": again} {
		select {
		case err := <-ends:
			if status.Code(err) != codes.Canceled {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: it waits on", name)
		}
	}
}

// Seen to fail when it gives a client that is nil.
func TestMustPanicsWithWhatConnectSays(t *testing.T) {
	defer func() {
		if said, _ := recover().(error); said == nil || !strings.Contains(said.Error(), "host:port") {
			t.Fatal(said)
		}
	}()
	Must(Connect(WithAddress("nonsense")))
}

// Also when it is closed by the callback that is told. Seen to fail when closing only cancels.
func TestNothingRunsOnAfterClose(t *testing.T) {
	closed := make(chan struct{})
	var client *Client
	ready := make(chan struct{})
	client, err := Connect(
		WithAddress("unix:"+filepath.Join(t.TempDir(), "nobody.sock")),
		WithOnAway(func(error) {
			<-ready
			_ = client.Close()
			close(closed)
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 5_000 {
		client.BeginTurn(TurnOptions{})
	}
	close(ready)
	<-closed
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, ours := range []string{".(*Turn).deliver", ".(*link).lookForIt"} {
		if strings.Contains(string(stacks), ours) {
			t.Errorf("%s goes on:\n%s", ours, stacks)
		}
	}
}

// A process that ends right after it has closed the client would lose what the callback says. Seen to fail when closing does
// not wait for callbacks.
func TestWhoClosesHasBeenTold(t *testing.T) {
	var told atomic.Bool
	client, err := Connect(
		WithAddress("unix:"+filepath.Join(t.TempDir(), "nobody.sock")),
		WithOnAway(func(error) {
			time.Sleep(50 * time.Millisecond)
			told.Store(true)
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	client.BeginTurn(TurnOptions{}).Plan(t.Context())
	now, cancel := context.WithCancel(t.Context())
	cancel()
	_ = client.Shutdown(now)
	if !told.Load() {
		t.Error("closed before the agent was told that nobody is there")
	}
}

// As by t.FailNow, which a test of an agent may call in its turn. Seen to fail, with SUCCESS, when only a panic and an
// error count.
func TestATurnWhoseGoroutineEndsHasNoOutcome(t *testing.T) {
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"))
	for name, leave := range map[string]func(*Turn, *error){
		"End":     func(turn *Turn, err *error) { defer turn.End(err); runtime.Goexit() },
		"Succeed": func(turn *Turn, err *error) { defer turn.Succeed(err); runtime.Goexit() },
	} {
		turn := client.BeginTurn(TurnOptions{Goal: &Goal{ID: "g", Objective: "o"}})
		ended := make(chan struct{})
		go func() {
			var err error
			defer close(ended)
			// One that begins and ends while the goroutine does is as good as any other.
			defer func() {
				inner := client.BeginTurn(TurnOptions{})
				func() (err error) { defer inner.Succeed(&err); return nil }()
				if outcome := outcomeOf(inner); outcome != success {
					t.Errorf("%s: the inner one ends as %v", name, outcome)
				}
			}()
			leave(turn, &err)
		}()
		<-ended
		if outcome := outcomeOf(turn); outcome != OutcomeUnspecified || len(turn.reports) != 0 {
			t.Errorf("%s: %v, %d reports", name, outcome, len(turn.reports))
		}
	}
}

// outcomeOf is that of a turn that is finished, and of which nothing is delivered.
func outcomeOf(turn *Turn) pb.TaskOutcome {
	turn.mu.Lock()
	defer turn.mu.Unlock()
	return turn.waiting[len(turn.waiting)-1].GetTurnFinished().GetOutcome()
}

// Seen to fail, with ERROR and a goal that failed, when a cancellation counts as the agent's error.
func TestATurnThatIsCancelledHasNoOutcome(t *testing.T) {
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, err := range map[string]error{
		"the context's":     ctx.Err(),
		"wrapped":           fmt.Errorf("asking: %w", ctx.Err()),
		"that of its cause": errors.Join(errors.New("closing"), context.Cause(ctx)),
	} {
		turn := client.BeginTurn(TurnOptions{Goal: &Goal{ID: "g", Objective: "o"}})
		_ = func() (failed error) { defer turn.Succeed(&failed); return err }()
		if outcome := outcomeOf(turn); outcome != OutcomeUnspecified || len(turn.reports) != 0 {
			t.Errorf("%s: %v, %d reports", name, outcome, len(turn.reports))
		}
	}
	late := client.BeginTurn(TurnOptions{})
	_ = func() (err error) { defer late.Succeed(&err); return context.DeadlineExceeded }()
	if outcome := outcomeOf(late); outcome != OutcomeError {
		t.Errorf("what is too late ends as %v", outcome)
	}
}

// Seen to fail when an id is left out of one kind, and when it is written into the caller's event.
func TestEventsOfACall(t *testing.T) {
	called := ToolCalled("look", "{}")
	for name, id := range map[string]string{
		"called":   OfCall("c", called).GetToolCalled().GetCallId(),
		"returned": OfCall("c", ToolResult("41", nil)).GetToolReturned().GetCallId(),
		"failed":   OfCall("c", ToolFailed("gone")).GetToolFailed().GetCallId(),
	} {
		if id != "c" {
			t.Errorf("%s: %q", name, id)
		}
	}
	if called.GetToolCalled().GetCallId() != "" || OfCall("c", UserMessage("hello")).GetUserMessage().GetText() != "hello" {
		t.Error("another event is no longer as it was")
	}
}

type wordless struct{ words string }

func (w *wordless) Error() string { return w.words }

func (w *wordless) Unwrap() error { return errors.New(w.words) }

// A nil pointer that is an error panics where it is asked for its words. Seen to fail when it is.
func TestAnErrorThatHasNoWordsIsToldAllTheSame(t *testing.T) {
	var none *wordless
	if content := ToolResult("", none).GetToolReturned().GetContent(); content != "<nil>" {
		t.Errorf("a tool's result: %q", content)
	}
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"))
	turn := client.BeginTurn(TurnOptions{})
	func() (err error) { defer turn.End(&err); return none }()
	if outcome := outcomeOf(turn); outcome != pb.TaskOutcome_TASK_OUTCOME_ERROR {
		t.Errorf("the turn ends as %v", outcome)
	}
}

// Seen to fail, told as away, when every error that is none of the sidecar's own counts as absence.
func TestAStreamThatTheSidecarGivesUpIsNoAbsence(t *testing.T) {
	away := make(told, 10)
	var streams atomic.Int32
	client := listen(t, func(stream pb.ThinkingService_RunTurnServer) error {
		if streams.Add(1) == 1 {
			return status.Error(codes.Canceled, "CANCELLED")
		}
		return acks()(stream)
	}, nil, WithOnAway(away.on))
	turn := client.BeginTurn(TurnOptions{})
	turn.Finish(OutcomeUnspecified, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := client.Flush(ctx); err != nil || len(away) > 0 || streams.Load() != 2 {
		t.Fatal(err, len(away), streams.Load())
	}
}
