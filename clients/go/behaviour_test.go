package sidemirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const success = OutcomeSuccess

// acks answers every event at once, with these directives after the first.
func acks(directives ...*pb.TurnDirective) func(pb.ThinkingService_RunTurnServer) error {
	return func(stream pb.ThinkingService_RunTurnServer) error {
		received, said := uint64(0), directives
		for {
			request, err := stream.Recv()
			if err != nil {
				return nil // the turn has ended
			}
			received += uint64(len(request.Events))
			ack := &pb.TurnDirective{Kind: &pb.TurnDirective_Ack{Ack: &pb.TurnAck{Received: received, Durable: received}}}
			if err := stream.Send(&pb.RunTurnResponse{Directives: append(said[:len(said):len(said)], ack)}); err != nil {
				return err
			}
			said = nil
		}
	}
}

// plan is a directive that shows a block with this receipt.
func plan(receipt string) *pb.TurnDirective {
	return &pb.TurnDirective{DirectiveId: "plan", Kind: &pb.TurnDirective_TurnPlan{
		TurnPlan: &pb.TurnPlan{Context: &pb.ContextBlock{ReceiptId: receipt}},
	}}
}

// told collects what a callback was told.
type told chan error

func (c told) on(why error) { c <- why }

func (c told) within(t *testing.T, limit time.Duration) error {
	t.Helper()
	select {
	case why := <-c:
		return why
	case <-time.After(limit):
		t.Fatalf("nobody was told within %v", limit)
		return nil
	}
}

// reportsPeer counts what follows a turn and what it recalls, and fails with it at first.
type reportsPeer struct {
	pb.UnimplementedGoalReflectionServiceServer
	pb.UnimplementedReflectiveMemoryServiceServer
	mu     sync.Mutex
	ids    map[string]int
	errors []error
}

func (p *reportsPeer) answer(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[id]++
	if len(p.errors) == 0 {
		return nil
	}
	err := p.errors[0]
	p.errors = p.errors[1:]
	return err
}

func (p *reportsPeer) ReportGoal(_ context.Context, r *pb.ReportGoalRequest) (*pb.ReportGoalResponse, error) {
	return &pb.ReportGoalResponse{}, p.answer("goal " + r.State.String() + " of " + r.TurnId + r.RequestId)
}

func (p *reportsPeer) BuildMemoryContext(
	_ context.Context, r *pb.BuildMemoryContextRequest,
) (*pb.BuildMemoryContextResponse, error) {
	return &pb.BuildMemoryContextResponse{}, p.answer(fmt.Sprint("recall of ", r.MaxItems))
}

func (p *reportsPeer) ReportOutcome(_ context.Context, r *pb.ReportOutcomeRequest) (*pb.ReportOutcomeResponse, error) {
	return &pb.ReportOutcomeResponse{}, p.answer("outcome " + r.ReceiptId + r.RequestId)
}

// Seen to fail when a request_id is made for each try, and when the outcome of a plan's block is not reported.
func TestOutcomesAndGoalsAreTriedAgainUnderTheSameID(t *testing.T) {
	peer := &reportsPeer{ids: map[string]int{}, errors: []error{
		status.Error(codes.Internal, "the outcome, once"), nil, status.Error(codes.Internal, "the goal, once"),
	}}
	client := listen(t, acks(plan("r1")), peer)
	turn := client.BeginTurn(TurnOptions{TurnID: "t"})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if turn.Plan(Within(ctx, 30*time.Second)) == nil {
		t.Fatal("no plan")
	}
	turn.FinishGoal(success, nil, Goal{ID: "g", Objective: "o"})
	if err := client.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	goals, outcomes, calls := 0, 0, 0
	for id, times := range peer.ids {
		calls += times
		if strings.HasPrefix(id, "goal GOAL_STATE_COMPLETED of t") {
			goals++
		} else if strings.HasPrefix(id, "outcome r1") {
			outcomes++
		}
	}
	if goals != 1 || outcomes != 1 || calls != 4 {
		t.Fatal(peer.ids)
	}
}

// Seen to fail when a turn that is left with an error reports its end alone: its goal was lost.
func TestTheGoalOfATurnIsReportedHoweverItEnds(t *testing.T) {
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"))
	const completed, failed = pb.GoalState_GOAL_STATE_COMPLETED, pb.GoalState_GOAL_STATE_FAILED
	given := &Goal{ID: "given", Objective: "o"}
	for name, one := range map[string]struct {
		end    func(*Turn) error
		expect *pb.ReportGoalRequest
	}{
		"panics": {
			func(*Turn) error { panic("agent") },
			&pb.ReportGoalRequest{GoalId: "given", State: failed, Error: "panic: agent"},
		},
		"fails": {
			func(*Turn) error { return errors.New("agent") },
			&pb.ReportGoalRequest{GoalId: "given", State: failed, Error: "agent"},
		},
		"left": {func(*Turn) error { return nil }, nil},
		"finished": {
			func(turn *Turn) error { turn.Finish(success, nil); return errors.New("agent") },
			&pb.ReportGoalRequest{GoalId: "given", State: completed},
		},
		"replaced": {
			func(turn *Turn) error { turn.FinishGoal(success, nil, Goal{ID: "own"}); return nil },
			&pb.ReportGoalRequest{GoalId: "own", State: completed},
		},
	} {
		turn := client.BeginTurn(TurnOptions{Goal: given})
		func() {
			defer func() { _ = recover() }()
			_ = func() (err error) {
				defer turn.End(&err)
				return one.end(turn)
			}()
		}()
		turn.mu.Lock()
		var reported *pb.ReportGoalRequest
		if len(turn.reports) > 0 {
			reported = turn.reports[0].goal
		}
		turn.mu.Unlock()
		if (reported == nil) != (one.expect == nil) || reported.GetGoalId() != one.expect.GetGoalId() ||
			reported.GetState() != one.expect.GetState() || reported.GetError() != one.expect.GetError() {
			t.Errorf("%s: %v", name, reported)
		}
	}
	if given.Error != "" {
		t.Errorf("the agent's own goal says now %q", given.Error)
	}
}

// Seen to fail when a refusal is tried again, by the flush, and when it is not counted.
func TestAGoalThatIsRefusedIsCounted(t *testing.T) {
	peer := &reportsPeer{ids: map[string]int{}, errors: []error{status.Error(codes.InvalidArgument, "no")}}
	client := listen(t, acks(), peer)
	turn := client.BeginTurn(TurnOptions{TurnID: "t"})
	turn.FinishGoal(pb.TaskOutcome_TASK_OUTCOME_FAILURE, nil, Goal{ID: "g", Objective: "o"})
	var lost *UndeliveredError
	if err := client.Close(); !errors.As(err, &lost) {
		t.Fatal(err)
	}
	if lost.Goals != 1 || lost.Events != 0 || lost.Outcomes != 0 || len(lost.Turns) != 1 || lost.Turns[0] != "t" {
		t.Fatal(lost)
	}
}

// mute accepts connections, begins HTTP/2 with its settings, and never says anything more.
func mute(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0})
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
}

// Seen to fail when nothing looks for silence.
func TestOneThatNeverAnswersIsAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "silent.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go mute(listener)
	away := make(told, 10)
	client, err := Connect(WithAddress("unix:"+path), WithOnAway(away.on))
	if err != nil {
		t.Fatal(err)
	}
	defer leaveNow(client)
	ctx := Within(t.Context(), 30*time.Second)
	turn := client.BeginTurn(TurnOptions{})
	began := time.Now()
	if turn.Plan(ctx) != nil || time.Since(began) > 10*time.Second {
		t.Fatalf("the plan took %v", time.Since(began))
	}
	_ = away.within(t, 10*time.Second)
	if !client.Away() {
		t.Fatal("it counts as there")
	}
	began = time.Now()
	turn.Recall(ctx)
	turn.Advice(ctx)
	turn.Critique(ctx, "x", "")
	turn.Summary(ctx)
	if took := time.Since(began); took > 250*time.Millisecond {
		t.Fatalf("asked while away, it took %v", took)
	}
}

// Seen to fail when UNAUTHENTICATED counts as absence.
func TestATokenThatIsRefusedIsToldAsThat(t *testing.T) {
	away, refused := make(told, 10), make(told, 10)
	client := listen(t, func(pb.ThinkingService_RunTurnServer) error {
		return status.Error(codes.Unauthenticated, "who?")
	}, nil, WithOnAway(away.on), WithOnRefused(refused.on))
	client.BeginTurn(TurnOptions{})
	if why := refused.within(t, 10*time.Second); !strings.Contains(why.Error(), "SIDEMIRROR_TOKEN_FILE") {
		t.Fatal(why)
	}
	if client.Away() || len(away) > 0 {
		t.Fatal("it counts as away")
	}
}

// Also one whose file is not there. Seen to fail when the file's error counts as absence.
func TestATokenThatIsMissingIsToldAsThat(t *testing.T) {
	refused := make(told, 10)
	client := listen(t, acks(), nil, WithOnRefused(refused.on), WithTokenFile(filepath.Join(t.TempDir(), "none")))
	client.BeginTurn(TurnOptions{})
	_ = refused.within(t, 10*time.Second)
	if client.Away() {
		t.Fatal("it counts as away")
	}
}

// Seen to fail when all turns share one connection: the peer takes 100 streams on each.
func TestTurnsTakeAsManyConnectionsAsTheyNeed(t *testing.T) {
	client := listen(t, acks(plan("")), nil)
	ctx := Within(t.Context(), 30*time.Second)
	turns := make([]*Turn, 2*streamsAtOnce+1)
	for i := range turns {
		turns[i] = client.BeginTurn(TurnOptions{})
	}
	for _, turn := range turns {
		if turn.Plan(ctx) == nil {
			t.Fatal("a turn has no plan")
		}
	}
	if len(client.pool.conns) != 3 {
		t.Fatalf("%d connections", len(client.pool.conns))
	}
}

// Seen to fail when End and Succeed do not go on with the panic, and when they end a turn that is finished.
func TestAScopeThatIsLeftEndsItsTurn(t *testing.T) {
	outcomes := map[string]pb.TaskOutcome{}
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"))
	in := func(name string, leave func(*Turn, *error), work func(*Turn) error) {
		turn := client.BeginTurn(TurnOptions{})
		defer func() {
			if p := recover(); (p != nil) != strings.HasSuffix(name, "panics") {
				t.Errorf("%s: %v", name, p)
			}
			turn.mu.Lock()
			defer turn.mu.Unlock()
			outcomes[name] = turn.waiting[len(turn.waiting)-1].GetTurnFinished().GetOutcome()
			if len(turn.waiting) != 2 || turn.dropped != 0 {
				t.Errorf("%s: %d events, %d dropped", name, len(turn.waiting), turn.dropped)
			}
		}()
		_ = func() (err error) {
			defer leave(turn, &err)
			return work(turn)
		}()
	}
	for way, leave := range map[string]func(*Turn, *error){"": (*Turn).End, "succeed: ": (*Turn).Succeed} {
		in(way+"panics", leave, func(*Turn) error { panic("agent") })
		in(way+"fails", leave, func(*Turn) error { return errors.New("agent") })
		in(way+"left", leave, func(*Turn) error { return nil })
		in(way+"finished", leave, func(turn *Turn) error { turn.Finish(OutcomePartial, nil); return errors.New("agent") })
	}
	for name, outcome := range map[string]pb.TaskOutcome{
		"panics": OutcomeError, "fails": OutcomeError, "left": OutcomeUnspecified, "finished": OutcomePartial,
		"succeed: panics": OutcomeError, "succeed: fails": OutcomeError, "succeed: left": success,
		"succeed: finished": OutcomePartial,
	} {
		if outcomes[name] != outcome {
			t.Errorf("%s ends as %v", name, outcomes[name])
		}
	}
}

// The end of a turn is taken all the same. Seen to fail when either is not counted.
func TestATurnHasSoManyEventsAndAClientSoManyTurns(t *testing.T) {
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"))
	turn := client.BeginTurn(TurnOptions{})
	for range mostEvents {
		turn.Report(UserMessage("hello"))
	}
	turn.Finish(success, nil)
	if turn.Dropped() != 1 || outcomeOf(turn) != success {
		t.Error(turn.Dropped(), outcomeOf(turn))
	}
	for range mostTurns - 1 {
		turn = client.BeginTurn(TurnOptions{})
	}
	if turn.Dropped() != 0 || client.BeginTurn(TurnOptions{}).Dropped() != 1 {
		t.Error("so many turns are not what it takes")
	}
}

// Seen to fail when it is told each time, and when it is never told again.
func TestThatItIsAwayIsToldAgainOnceItWasBackForAWhile(t *testing.T) {
	away := make(told, 10)
	client := connected(t, serve(t, func(server *grpc.Server) {
		pb.RegisterSidecarServiceServer(server, &pb.UnimplementedSidecarServiceServer{})
	}), WithOnAway(away.on))
	goAndComeBack := func() {
		_, outages := client.link.now()
		client.link.answered(outages)
		client.link.failed(status.Error(codes.Unavailable, "gone"), outages)
		until(t, func() bool { return !client.Away() })
	}
	goAndComeBack()
	goAndComeBack()
	client.link.mu.Lock()
	client.link.backAt = client.link.backAt.Add(-steady)
	client.link.mu.Unlock()
	goAndComeBack()
	leaveNow(client)
	if len(away) != 2 {
		t.Errorf("told %d times", len(away))
	}
}
