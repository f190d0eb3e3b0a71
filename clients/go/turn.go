package sidemirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/protobuf/proto"
)

// How deep to think, in short.
const (
	LevelOff    = pb.ThinkLevel_THINK_LEVEL_OFF
	LevelLow    = pb.ThinkLevel_THINK_LEVEL_LOW
	LevelMedium = pb.ThinkLevel_THINK_LEVEL_MEDIUM
	LevelHigh   = pb.ThinkLevel_THINK_LEVEL_HIGH
)

// How a turn ended, in short.
const (
	OutcomeUnspecified = pb.TaskOutcome_TASK_OUTCOME_UNSPECIFIED
	OutcomeSuccess     = pb.TaskOutcome_TASK_OUTCOME_SUCCESS
	OutcomeFailure     = pb.TaskOutcome_TASK_OUTCOME_FAILURE
	OutcomePartial     = pb.TaskOutcome_TASK_OUTCOME_PARTIAL
	OutcomeTimeout     = pb.TaskOutcome_TASK_OUTCOME_TIMEOUT
	OutcomeError       = pb.TaskOutcome_TASK_OUTCOME_ERROR
)

// TurnOptions is what is known when a turn begins.
type TurnOptions struct {
	// TurnID is chosen here when it is empty.
	TurnID string
	// Agent names which of several agents acts.
	Agent string
	// Task is what the turn is to do, where Started does not say it.
	Task string
	// Level is how deep to think, where Started does not say it; the session's own, or OFF, when nobody does.
	Level pb.ThinkLevel
	// Goal is what the turn works towards, reported with its outcome however it ends, unless as UNSPECIFIED. May be nil.
	Goal *Goal
	// Started holds whatever else is known: the session, the prompt, the model. May be nil.
	Started *pb.TurnStarted
}

// Goal is what a turn worked towards. ID and Objective are needed.
type Goal struct {
	ID, Objective string
	// State is COMPLETED for SUCCESS, and FAILED for every other outcome, where it is not given.
	State pb.GoalState
	// Tasks are what the turn's own tools returned, where they are not given.
	Tasks []*pb.GoalTask
	// Error says why the goal failed.
	Error string
	// SubjectIDs name the people that its texts are about.
	SubjectIDs []string
}

// Turn is one turn, reported beside the agent: nothing waits, nothing is lost while the sidecar is away, nothing counts
// twice. Every event has an id, and stays here until the sidecar has said that it is durable. When the stream breaks,
// another one takes the turn up and sends again what is not known to be durable; the sidecar drops what it has. Outcomes
// and goals follow once the turn is durable, each under a request_id that stays the same.
//
// It is safe for concurrent use.
type Turn struct {
	// ID is the turn's id.
	ID string

	agent  string
	task   string
	goal   *Goal
	client *Client
	link   *link

	mu           sync.Mutex
	waiting      []*pb.TurnEvent
	reports      []*report
	waitingBytes int
	events       int
	dropped      int
	receipts     []string // of blocks that the turn was given, and whose outcome is not in reports yet
	outcome      pb.TaskOutcome
	score        *float64
	finishing    bool
	late         bool // the agent was told that it reports after the end
	quiet        bool // nothing more comes from the sidecar
	over         bool // nothing more is delivered
	refusal      error
	lastSequence uint64
	stream       *sending // the stream that there is, if any
	pending      bool     // directives are in progress
	told         map[string]bool
	directives   []*pb.TurnDirective
	plan         *pb.TurnPlan
	summary      *pb.TurnSummary
	news         chan struct{} // closed and replaced when something changes
	toSend       chan struct{} // holds one when there is something to send
}

// ToolCalled is the event of a call of a tool.
func ToolCalled(name, arguments string) *pb.TurnEvent {
	return &pb.TurnEvent{Kind: &pb.TurnEvent_ToolCalled{ToolCalled: &pb.ToolCalled{Name: name, Arguments: arguments}}}
}

// ToolReturned is the event of a tool's result; isError: the tool reported a failure.
func ToolReturned(content string, isError bool) *pb.TurnEvent {
	return &pb.TurnEvent{Kind: &pb.TurnEvent_ToolReturned{
		ToolReturned: &pb.ToolReturned{Content: content, IsError: isError},
	}}
}

// ToolWorked is the event of the result of a call that is known to have worked, as by an exit status of 0: its text is
// never taken for a failure. That there was no error is not enough, since tools return texts of errors too.
func ToolWorked(content string) *pb.TurnEvent {
	return &pb.TurnEvent{Kind: &pb.TurnEvent_ToolReturned{ToolReturned: &pb.ToolReturned{Content: content, HasWorked: true}}}
}

// ToolResult is the event of what a tool gave: its result, whose text may still say that it has failed, or its error where
// it has one; of an error whose own method panics, such as a nil pointer, what fmt says.
func ToolResult(result string, err error) *pb.TurnEvent {
	if err != nil {
		return ToolReturned(fmt.Sprint(err), true)
	}
	return ToolReturned(result, false)
}

// ToolFailed is the event of a call that never returned, such as by a timeout.
func ToolFailed(why string) *pb.TurnEvent {
	return &pb.TurnEvent{Kind: &pb.TurnEvent_ToolFailed{ToolFailed: &pb.ToolFailed{Error: why}}}
}

// OfCall is a copy of the event as one of a call that overlaps with others. Without the call's id, what returns belongs to
// the last call that is still open. An event that is of no call stays as it is.
func OfCall(callID string, event *pb.TurnEvent) *pb.TurnEvent {
	event = proto.CloneOf(event)
	switch kind := event.GetKind().(type) {
	case *pb.TurnEvent_ToolCalled:
		kind.ToolCalled.CallId = callID
	case *pb.TurnEvent_ToolReturned:
		kind.ToolReturned.CallId = callID
	case *pb.TurnEvent_ToolFailed:
		kind.ToolFailed.CallId = callID
	}
	return event
}

// UserMessage is the event of what the user said.
func UserMessage(text string) *pb.TurnEvent {
	return &pb.TurnEvent{Kind: &pb.TurnEvent_UserMessage{UserMessage: &pb.UserMessage{Text: text}}}
}

// ResponseDrafted is the event of an answer that is ready to be sent.
func ResponseDrafted(text string) *pb.TurnEvent {
	return &pb.TurnEvent{Kind: &pb.TurnEvent_ResponseDrafted{ResponseDrafted: &pb.ResponseDrafted{Text: text}}}
}

// Score is for [Turn.Finish]: how well the task was done, from 0 to 1.
func Score(share float64) *float64 { return &share }

// started is a copy of Started with Task and Level in it.
func (o TurnOptions) started() *pb.TurnStarted {
	const unspecified = pb.ThinkLevel_THINK_LEVEL_UNSPECIFIED
	started := &pb.TurnStarted{}
	if o.Started != nil {
		started = proto.CloneOf(o.Started)
	}
	if started.Task == "" {
		started.Task = o.Task
	}
	if o.Level != unspecified && started.GetConfig().GetLevel() == unspecified {
		if started.Config == nil {
			started.Config = &pb.ThinkingConfig{}
		}
		started.Config.Level = o.Level
	}
	return started
}

func newTurn(client *Client, o TurnOptions) *Turn {
	started := o.started()
	turn := &Turn{
		ID: valid(o.TurnID), agent: valid(o.Agent), task: started.GetTask(), client: client, link: client.link,
		told: map[string]bool{}, news: make(chan struct{}), toSend: make(chan struct{}, 1),
	}
	if o.Goal != nil {
		goal := *o.Goal
		turn.goal = &goal
	}
	if turn.ID == "" {
		turn.ID = newID()
	}
	turn.Report(&pb.TurnEvent{TurnId: turn.ID, Kind: &pb.TurnEvent_TurnStarted{TurnStarted: started}})
	return turn
}

// Finish ends the turn. Unless the outcome is UNSPECIFIED, which teaches nothing, it is then reported for every block of
// lessons that the turn was given, and so is the goal of its TurnOptions. What is on its way is still delivered, also
// after the sidecar was away. score is from 0 to 1 (see [Score]), or nil; any other is left out, as a warning says. A second
// Finish changes nothing but for a warning, and so does FinishGoal.
func (t *Turn) Finish(outcome pb.TaskOutcome, score *float64) { t.finish(outcome, score, t.goal) }

// FinishGoal is Finish with this goal, in the place of that of the TurnOptions.
func (t *Turn) FinishGoal(outcome pb.TaskOutcome, score *float64, goal Goal) {
	t.finish(outcome, score, &goal)
}

// End ends a turn that is not finished, as ERROR with a panic or with an error in *err, else as UNSPECIFIED. The panic or
// the error is also that of the goal of its TurnOptions, unless this has one. An error that is [context.Canceled], and
// [runtime.Goexit], say nothing of the work: UNSPECIFIED. err may be nil. End is for defer, in a function whose error has a
// name:
//
//	defer turn.End(&err)
//
// The panic goes on. Called by a function that is deferred, End sees neither a panic nor Goexit.
func (t *Turn) End(err *error) { t.leave(recover(), err, OutcomeUnspecified) }

// Succeed is End for an agent that returns an error whenever it fails: where it returns without one, the turn ends as
// SUCCESS. As End, it has to be deferred directly.
//
//	defer turn.Succeed(&err)
func (t *Turn) Succeed(err *error) { t.leave(recover(), err, OutcomeSuccess) }

// isCancelled: an error's own methods may panic, as those of a nil pointer do.
func isCancelled(err error) (is bool) {
	defer func() { _ = recover() }()
	return errors.Is(err, context.Canceled)
}

// leave ends a turn that is not finished, as outcome where nothing went wrong. It is called by what is deferred.
func (t *Turn) leave(panicked any, err *error, outcome pb.TaskOutcome) {
	goal, why := t.goal, ""
	switch {
	case panicked != nil:
		outcome, why = OutcomeError, fmt.Sprint("panic: ", panicked)
	case err != nil && isCancelled(*err), exits():
		// Nobody wants the work any more, which says nothing of how it was done.
		outcome = OutcomeUnspecified
	case err != nil && *err != nil:
		outcome, why = OutcomeError, fmt.Sprint(*err)
	}
	if goal != nil && goal.Error == "" {
		failed := *goal
		failed.Error = why
		goal = &failed
	}
	t.mu.Lock()
	finished := t.finishing
	t.mu.Unlock()
	if !finished {
		t.finish(outcome, nil, goal)
	}
	if panicked != nil {
		panic(panicked)
	}
}

// exits: what the caller's caller has deferred runs because its goroutine ends by runtime.Goexit, as by t.FailNow. There
// is no panic then, and no error.
func exits() bool {
	var callers [8]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(4, callers[:])])
	for {
		frame, more := frames.Next()
		if !strings.Contains(frame.Function, ".deferwrap") {
			return frame.Function == "runtime.Goexit"
		}
		if !more {
			return false
		}
	}
}

// Take returns the directives that have come since the last time, in their order, without waiting.
func (t *Turn) Take() []*pb.TurnDirective {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.directives
	t.directives = nil
	return taken
}

// Next returns the next directive, waiting for it; io.EOF when the turn is over, and the context's error when it ends.
func (t *Turn) Next(ctx context.Context) (*pb.TurnDirective, error) {
	for {
		t.mu.Lock()
		news, quiet := t.news, t.quiet
		if len(t.directives) > 0 {
			next := t.directives[0]
			t.directives = t.directives[1:]
			t.mu.Unlock()
			return next, nil
		}
		t.mu.Unlock()
		if quiet {
			return nil, io.EOF
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-news:
		}
	}
}

// Err is why nothing more of this turn is reported: the sidecar has refused it, or it is lost, because the sidecar has
// failed with it ten times in a row; nil otherwise.
func (t *Turn) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		return nil // what is dropped with it is not counted yet
	}
	return t.refusal
}

// Dropped counts the events that were not kept: there were too many, one was too large, or the turn is over.
func (t *Turn) Dropped() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped
}
