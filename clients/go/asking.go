package sidemirror

import (
	"context"
	"log/slog"
	"slices"
	"time"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// How long the methods below wait, unless their context ends before.
const (
	planLimit     = time.Second
	adviceLimit   = time.Second
	recallLimit   = 2 * time.Second
	critiqueLimit = 10 * time.Second
)

// limitKey is what Within keeps its limit under.
type limitKey struct{}

// Within is a context with which a method of a [Turn] that waits does so for this long, in the place of its own time:
// turn.Recall(sidemirror.Within(ctx, 5*time.Second)). The deadline of ctx holds as well.
func Within(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, limitKey{}, limit)
}

// limited is the context with the method's own time, or that of Within.
func limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if given, is := ctx.Value(limitKey{}).(time.Duration); is {
		limit = given
	}
	return context.WithTimeout(ctx, limit)
}

// mostLessons is what the sidecar takes as a number of lessons to recall.
const mostLessons = 20

// Plan waits for the plan; nil when it has not come within a second or before the context ends, or at once while the
// sidecar is away. [Within] says another time.
func (t *Turn) Plan(ctx context.Context) *pb.TurnPlan {
	ctx, cancel := limited(ctx, planLimit)
	defer cancel()
	t.wait(ctx, func() bool { return t.plan != nil })
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.plan
}

// Summary waits for the summary after the turn's end; nil when it has not come within a second or before the context ends,
// or at once while the sidecar is away. [Within] says another time.
func (t *Turn) Summary(ctx context.Context) *pb.TurnSummary {
	ctx, cancel := limited(ctx, planLimit)
	defer cancel()
	t.wait(ctx, func() bool { return t.summary != nil })
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.summary
}

// Advice is what the sidecar says to what was reported: nudges, recoveries, reflections and critiques that nobody has
// taken yet, as far as they have a text for a model. It returns at once when nothing is in progress, or the sidecar is
// away; else after a second, or when the context ends before. [Within] says another time. Nothing is an answer. The plan
// and the summary are left to Take.
func (t *Turn) Advice(ctx context.Context) []*pb.TurnDirective {
	received := t.received()
	ctx, cancel := limited(ctx, adviceLimit)
	defer cancel()
	t.wait(ctx, func() bool { return received() && !t.pending })
	t.mu.Lock()
	defer t.mu.Unlock()
	var advice, rest []*pb.TurnDirective
	for _, directive := range t.directives {
		if isAdvice(directive) {
			advice = append(advice, directive)
		} else {
			rest = append(rest, directive)
		}
	}
	t.directives = rest
	return advice
}

// RecallOption says which lessons.
type RecallOption func(*pb.BuildMemoryContextRequest)

// RecallFor asks for lessons for this task instead of the turn's.
func RecallFor(task string) RecallOption {
	return func(request *pb.BuildMemoryContextRequest) { request.Task = task }
}

// RecallTools names the tools of the task.
func RecallTools(tools ...string) RecallOption {
	return func(request *pb.BuildMemoryContextRequest) { request.Tools = slices.Clone(tools) }
}

// RecallMost asks for so many lessons at most, from 1 to 20; more is 20, and 0 or less the sidecar's default, which is 5.
func RecallMost(items int32) RecallOption {
	return func(request *pb.BuildMemoryContextRequest) { request.MaxItems = items }
}

// Recall is the lessons for the turn's task as a block with its text; nil when no lesson fits, when it has not come within
// two seconds or before the context ends, or at once while the sidecar is away. [Within] says another time. What the sidecar
// refuses is nil too, with a warning in the log, once for each status of a client.
func (t *Turn) Recall(ctx context.Context, options ...RecallOption) *pb.ContextBlock {
	ctx, cancel := limited(ctx, recallLimit)
	defer cancel()
	request := &pb.BuildMemoryContextRequest{Task: t.task, TurnId: t.ID}
	for _, option := range options {
		option(request)
	}
	request.MaxItems = min(max(request.MaxItems, 0), mostLessons)
	fit(request.ProtoReflect())
	var block *pb.ContextBlock
	t.ask(ctx, "Recall", time.Now(), func(ctx context.Context) error {
		answer, err := t.client.Memory.BuildMemoryContext(ctx, request)
		block = answer.GetBlock()
		return err
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown(block.GetReceiptId())
	if block.GetText() == "" {
		return nil
	}
	return block
}

// Critique is the verdict on a response that was not sent yet, beside what the turn's tools returned; nil when there is
// none within ten seconds or before the context ends, or at once while the sidecar is away. [Within] says another time.
// userMessage: what the user asked, or empty. It reports no event. A refusal is logged as that of [Turn.Recall] is.
func (t *Turn) Critique(ctx context.Context, response, userMessage string) *pb.CritiqueResult {
	began, received := time.Now(), t.received()
	ctx, cancel := limited(ctx, critiqueLimit)
	defer cancel()
	t.wait(ctx, received)
	request := &pb.CritiqueRequest{TurnId: t.ID, Response: response, UserMessage: userMessage}
	fit(request.ProtoReflect())
	var verdict *pb.CritiqueResult
	t.ask(ctx, "Critique", began, func(ctx context.Context) error {
		answer, err := t.client.Critique.Critique(ctx, request)
		verdict = answer.GetCritique()
		return err
	})
	if verdict.GetStatus() != pb.ResultStatus_RESULT_STATUS_OK {
		return nil
	}
	return verdict
}

// ReviseOption says what an answer answers.
type ReviseOption func(*pb.CritiqueRequest)

// ReviseFor says what the user asked, in the place of the turn's task or of what was reported as [UserMessage].
func ReviseFor(userMessage string) ReviseOption {
	return func(request *pb.CritiqueRequest) { request.UserMessage = userMessage }
}

// Revised is the answer that may be sent: what again makes of the revision prompt where [Turn.Critique] asks for a
// revision, else the answer as it is, also without a verdict. What again makes is judged by nobody: one revision at most.
// The error is that of again, beside which the answer is given as it was. The verdict takes ten seconds at most, or what
// [Within] says; again takes as long as it takes.
func (t *Turn) Revised(
	ctx context.Context, answer string, again func(revisionPrompt string) (string, error), options ...ReviseOption,
) (string, error) {
	asked := &pb.CritiqueRequest{}
	for _, option := range options {
		option(asked)
	}
	verdict := t.Critique(ctx, answer, asked.GetUserMessage())
	if !verdict.GetShouldRevise() {
		return answer, nil
	}
	revised, err := again(verdict.GetRevisionPrompt())
	if err != nil {
		return answer, err
	}
	return revised, nil
}

// busyPause: so long a warning that the sidecar is too busy for a method, or has no answer now, is not repeated.
const busyPause = time.Minute

// refusal is a kind of it: the method whose question was refused, and how.
type refusal struct {
	method string
	code   codes.Code
}

// ask makes a call that is given up when the sidecar goes, and tried again when HTTP/2 refuses it. Nothing of the sidecar's
// makes an agent fail; what it refuses, or has no answer to, is logged. The agent has asked when it began.
func (t *Turn) ask(ctx context.Context, method string, began time.Time, call func(context.Context) error) {
	here, outages := t.link.now()
	if here.Err() != nil {
		return
	}
	if ctx.Err() != nil {
		t.declined(method, began, status.FromContextError(ctx.Err()).Err())
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(here, cancel)()
	this := new(byte)
	t.link.sent(this)
	defer t.link.settled(this)
	err := call(ctx)
	for isRefusedStream(err) {
		select {
		case <-time.After(spread(firstPause)):
			err = call(ctx)
		case <-ctx.Done():
			err = status.FromContextError(ctx.Err()).Err()
		}
	}
	switch {
	case err == nil:
	case isNotLetIn(err), isGone(err):
		t.link.failed(err, outages)
	default:
		t.declined(method, began, err)
	}
}

// declined tells that a question comes to nothing: that it is refused, once for each method and status, and that the sidecar
// is too busy for it or has no answer now, once a minute for each method. A sidecar of which nothing was heard since may be
// away, which is told otherwise.
func (t *Turn) declined(method string, began time.Time, why error) {
	isBusy := isSlow(why) && t.link.silence.heardSince(began) || status.Code(why) == codes.ResourceExhausted
	about := []any{"method", method, "turn_id", t.ID, "address", t.link.o.address, "waited", time.Since(began), "why", why}
	switch {
	case isFinal(why):
		if _, told := t.client.refusals.LoadOrStore(refusal{method, status.Code(why)}, true); !told {
			slog.Warn("the sidecar has refused what a turn asks for", about...)
		}
	case isBusy && t.client.isNewlyUnanswered(method, "busy"):
		slog.Warn("the sidecar is too busy for what a turn asks for", about...)
	case isUnable(why) && t.client.isNewlyUnanswered(method, "unable"):
		slog.Warn("the sidecar has no answer now to what a turn asks for", about...)
	}
}

// wait returns when it is there, the context ends, or the sidecar goes. there is called with the mutex held.
func (t *Turn) wait(ctx context.Context, there func() bool) {
	here, _ := t.link.now()
	for {
		t.mu.Lock()
		news, done := t.news, t.quiet || there()
		t.mu.Unlock()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-here.Done():
			return
		case <-news:
		}
	}
}

func (t *Turn) delivered(ctx context.Context) error {
	for {
		t.mu.Lock()
		news, done := t.news, t.over || (len(t.waiting) == 0 && !t.finishing)
		t.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
		}
	}
}
