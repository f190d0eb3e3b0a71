package sidemirror

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	// mostEvents is what the sidecar takes in a turn; a request is kept well below its 4 MiB a message.
	mostEvents  = 10_000
	batchEvents = 500
	batchBytes  = 1 << 20
	// mostBytes of events wait for a sidecar that is away. Beyond that they are dropped, and counted.
	mostBytes = 16 << 20
	// mostBytesInAll is the same of all turns of a client, and mostTurns may be open: one that begins beyond that is not
	// reported.
	mostBytesInAll = 64 << 20
	mostTurns      = 10_000
	// longestText is what the sidecar takes; of a longer one the beginning is reported.
	longestText = 256 << 10
	cut         = " … [cut]"
	// mostEventBytes: an event that would not fit the sidecar's 4 MiB a message, texts cut.
	mostEventBytes = 4<<20 - 64<<10
	// mostDirectives that nobody takes are kept: the oldest go.
	mostDirectives = 1_000
	// mostTries: a turn is lost when so many streams in a row have ended with INTERNAL and nothing more of it was durable
	// after them.
	mostTries = 10
)

// TurnOptions is what is known when a turn begins.
type TurnOptions struct {
	// TurnID is chosen here when it is empty.
	TurnID string
	// Agent names which of several agents acts.
	Agent string
	// Started holds the task, the session, the prompt and how to think about it. May be nil.
	Started *pb.TurnStarted
}

// Turn is one turn, reported beside the agent: nothing waits, nothing is lost while the sidecar is away, nothing counts
// twice. Every event has an id, and stays here until the sidecar has said that it is durable. When the stream breaks,
// another one takes the turn up and sends again what is not known to be durable; the sidecar drops what it has.
//
// It is safe for concurrent use.
type Turn struct {
	// ID is the turn's id.
	ID string

	agent    string
	thinking pb.ThinkingServiceClient
	link     *link

	mu           sync.Mutex
	waiting      []*pb.TurnEvent
	waitingBytes int
	events       int
	dropped      int
	finishing    bool
	over         bool
	refusal      error
	lastSequence uint64
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

// ResponseDrafted is the event of an answer that is ready to be sent.
func ResponseDrafted(text string) *pb.TurnEvent {
	return &pb.TurnEvent{Kind: &pb.TurnEvent_ResponseDrafted{ResponseDrafted: &pb.ResponseDrafted{Text: text}}}
}

func newTurn(thinking pb.ThinkingServiceClient, link *link, o TurnOptions) *Turn {
	turn := &Turn{
		ID: o.TurnID, agent: o.Agent, thinking: thinking, link: link, told: map[string]bool{},
		news: make(chan struct{}), toSend: make(chan struct{}, 1),
	}
	if turn.ID == "" {
		turn.ID = newID()
	}
	started := o.Started
	if started == nil {
		started = &pb.TurnStarted{}
	}
	turn.Report(&pb.TurnEvent{TurnId: turn.ID, Kind: &pb.TurnEvent_TurnStarted{TurnStarted: started}})
	return turn
}

// Report takes an event and returns its id. It never waits. Of a text of more than 256 KiB, which is what the sidecar
// takes, the beginning is kept, and bytes that are no UTF-8 are replaced.
func (t *Turn) Report(event *pb.TurnEvent) string {
	event = proto.Clone(event).(*pb.TurnEvent)
	if event.EventId == "" {
		event.EventId = newID()
	}
	if event.Agent == "" {
		event.Agent = t.agent
	}
	if event.Time == nil {
		event.Time = timestamppb.Now()
	}
	fit(event.ProtoReflect())
	size := proto.Size(event)
	_, ends := event.Kind.(*pb.TurnEvent_TurnFinished)
	t.mu.Lock()
	defer t.mu.Unlock()
	full := t.events >= mostEvents || t.waitingBytes+size > mostBytes || size > mostEventBytes ||
		t.link.waitingBytes.Load()+int64(size) > mostBytesInAll
	if t.finishing || t.over || (full && !ends) {
		t.dropped++
		return event.EventId
	}
	t.finishing = ends
	t.events++
	t.keep(size)
	t.waiting = append(t.waiting, event)
	t.ring()
	return event.EventId
}

// keep counts so many bytes more that wait, or fewer. The mutex is held.
func (t *Turn) keep(size int) {
	t.waitingBytes += size
	t.link.waitingBytes.Add(int64(size))
}

// Finish ends the turn. What is on its way is still delivered, also after the sidecar was away. score may be nil.
func (t *Turn) Finish(outcome pb.TaskOutcome, score *float64) {
	t.Report(&pb.TurnEvent{Kind: &pb.TurnEvent_TurnFinished{TurnFinished: &pb.TurnFinished{Outcome: outcome, Score: score}}})
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
		news, over := t.news, t.over
		if len(t.directives) > 0 {
			next := t.directives[0]
			t.directives = t.directives[1:]
			t.mu.Unlock()
			return next, nil
		}
		t.mu.Unlock()
		if over {
			return nil, io.EOF
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-news:
		}
	}
}

// Plan waits for the plan; nil when it has not come before the context ends, or at once while the sidecar is away.
func (t *Turn) Plan(ctx context.Context) *pb.TurnPlan {
	t.wait(ctx, func() bool { return t.plan != nil })
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.plan
}

// Summary waits for the summary after Finish; nil when it has not come before the context ends, or at once while the
// sidecar is away.
func (t *Turn) Summary(ctx context.Context) *pb.TurnSummary {
	t.wait(ctx, func() bool { return t.summary != nil })
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.summary
}

// Err is why nothing more of this turn is reported: the sidecar has refused it, or it is lost, because the sidecar has
// failed with it ten times in a row; nil otherwise.
func (t *Turn) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refusal
}

// Dropped counts the events that were not kept: there were too many, one was too large, or the turn is over.
func (t *Turn) Dropped() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped
}

func (t *Turn) wait(ctx context.Context, there func() bool) {
	for {
		gone := t.link.goneNow()
		t.mu.Lock()
		news, done := t.news, t.over || there()
		t.mu.Unlock()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-gone:
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

// --- the way between -------------------------------------------------------------------------------------------------

// deliver runs beside the agent until the turn is over: one stream after the other.
func (t *Turn) deliver() {
	var refusal error
	defer func() { t.end(refusal) }()
	failures, tries, toldLater := 0, 0, false
	for {
		outages, open := t.link.wait()
		if !open {
			return
		}
		select {
		case t.link.streams <- struct{}{}:
		case <-t.link.ctx.Done():
			return
		}
		durable, err := t.stream(outages)
		<-t.link.streams
		if t.link.ctx.Err() != nil || t.isOver() {
			return
		}
		failures++
		if durable > 0 {
			failures, tries = 0, 0
		} else if status.Code(err) == codes.Internal {
			tries++
		}
		// One that is closed without a word is no better than one that breaks.
		pause := min(time.Duration(failures)*firstPause, longestPause)
		switch problem := ProblemOf(err); {
		case err == nil:
			// Closed by the sidecar, because nothing was said for long: opened again when there is something.
			if !t.somethingToSend() {
				return
			}
		case isFinal(err):
			refusal = err
			slog.Warn("the sidecar has refused a turn", "turn_id", t.ID, "why", err)
			return
		case tries >= mostTries:
			refusal = err
			slog.Warn("a turn is lost, the sidecar has failed with it", "turn_id", t.ID, "tries", tries, "why", err)
			return
		case status.Code(err) == codes.ResourceExhausted && problem.RetryAfter > 0:
			if !toldLater {
				slog.Warn("the sidecar refuses a turn for now", "turn_id", t.ID, "why", err)
			}
			toldLater = true
			pause = max(pause, problem.RetryAfter)
		case status.Code(err) == codes.Internal && problem.Reason != "", isRefusedStream(err):
			// It is there.
		default:
			t.link.lost(err, outages)
		}
		t.link.sleep(pause)
	}
}

// isFinal: the sidecar has understood, and will say the same again.
func isFinal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange,
		codes.PermissionDenied, codes.Unimplemented:
		return true
	case codes.ResourceExhausted:
		// A limit of the turn, such as its bytes. Where there will be room again the sidecar says when.
		problem := ProblemOf(err)
		return problem.Reason != "" && problem.RetryAfter == 0
	}
	return false
}

// stream returns how many events of it are durable, and no error when the sidecar has closed it.
func (t *Turn) stream(outages int) (int, error) {
	ctx, cancel := context.WithCancel(t.link.ctx)
	sent := make(chan struct{})
	// The sending side has to be done before another stream sends: both count what waits.
	defer func() { cancel(); <-sent }()
	run, err := t.thinking.RunTurn(ctx)
	if err != nil {
		close(sent)
		return 0, err
	}
	sending := &sending{turn: t}
	go func() {
		defer close(sent)
		sending.run(ctx, run)
	}()
	for {
		response, err := run.Recv()
		if errors.Is(err, io.EOF) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.over = t.finishing && len(t.waiting) == 0
			return sending.durable, nil
		}
		if err != nil {
			return sending.durable, err
		}
		t.link.answered(outages)
		for _, directive := range response.Directives {
			t.hear(directive, sending)
		}
	}
}

// sending counts how many events one stream has sent, and how many of these are durable. Guarded by the turn's mutex.
type sending struct {
	turn          *Turn
	sent, durable int
}

func (s *sending) run(ctx context.Context, run pb.ThinkingService_RunTurnClient) {
	t := s.turn
	t.mu.Lock()
	var resume *pb.TurnResume
	if len(t.waiting) == 0 || t.waiting[0].GetTurnStarted() == nil {
		resume = &pb.TurnResume{TurnId: t.ID, AfterSequence: t.lastSequence}
	}
	t.mu.Unlock()
	for {
		if batch := s.batch(); len(batch) > 0 || resume != nil {
			if run.Send(&pb.RunTurnRequest{Events: batch, Resume: resume}) != nil {
				t.ringLocked() // the receiving side says why; the next stream sends these again
				return
			}
			resume = nil
			if len(batch) > 0 && batch[len(batch)-1].GetTurnFinished() != nil {
				// Said, so that the stream just ends: one that is reset counts with the sidecar for a while.
				_ = run.CloseSend()
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
			t.ringLocked()
			return
		case <-t.toSend:
		}
	}
}

// batch is what this stream has not sent yet, as far as it fits one request.
func (s *sending) batch() []*pb.TurnEvent {
	s.turn.mu.Lock()
	defer s.turn.mu.Unlock()
	rest := s.turn.waiting[s.sent-s.durable:]
	size := 0
	for i, event := range rest {
		size += proto.Size(event)
		if i > 0 && (size > batchBytes || i >= batchEvents) {
			rest = rest[:i]
			break
		}
	}
	s.sent += len(rest)
	return append([]*pb.TurnEvent(nil), rest...)
}

func (t *Turn) hear(directive *pb.TurnDirective, sending *sending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastSequence = max(t.lastSequence, directive.Sequence)
	switch kind := directive.Kind.(type) {
	case *pb.TurnDirective_Ack:
		for durable := min(int(kind.Ack.Durable), sending.sent); sending.durable < durable; {
			t.keep(-proto.Size(t.waiting[0]))
			t.waiting[0] = nil
			t.waiting = t.waiting[1:]
			sending.durable++
		}
		t.tell()
		return
	case *pb.TurnDirective_Heartbeat, *pb.TurnDirective_Closing:
		return
	case *pb.TurnDirective_TurnPlan:
		if t.plan != nil {
			return // begun again, because the first beginning was lost in a crash
		}
		t.plan = kind.TurnPlan
	case *pb.TurnDirective_TurnSummary:
		t.summary = kind.TurnSummary
	}
	if id := directive.DirectiveId; id != "" {
		if t.told[id] {
			return
		}
		t.told[id] = true
	}
	t.directives = append(t.directives, directive)
	if len(t.directives) > mostDirectives {
		t.directives = t.directives[1:]
	}
	t.tell()
}

// somethingToSend returns true once there is something; false when the turn is over or the client closed.
func (t *Turn) somethingToSend() bool {
	for {
		t.mu.Lock()
		there := len(t.waiting) > 0
		t.mu.Unlock()
		if there {
			return true
		}
		select {
		case <-t.link.ctx.Done():
			return false
		case <-t.toSend:
		}
	}
}

// fit shortens texts that the sidecar would refuse the turn for, and replaces what cannot be sent.
func fit(message protoreflect.Message) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() != nil && field.IsList():
			for i := range value.List().Len() {
				fit(value.List().Get(i).Message())
			}
		case field.Message() != nil && !field.IsMap():
			fit(value.Message())
		case field.Kind() == protoreflect.StringKind && !field.IsList():
			text := value.String()
			if len(text) <= longestText && utf8.ValidString(text) {
				return true
			}
			text = strings.ToValidUTF8(text, "\uFFFD")
			if len(text) > longestText {
				// What the cut leaves of a character goes with it.
				text = strings.ToValidUTF8(text[:longestText-len(cut)], "") + cut
			}
			message.Set(field, protoreflect.ValueOfString(text))
		}
		return true
	})
}

func (t *Turn) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

func (t *Turn) end(refusal error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over, t.refusal = true, refusal
	t.dropped += len(t.waiting)
	t.waiting = nil
	t.keep(-t.waitingBytes)
	t.tell()
}

// tell wakes whoever waits for news. The mutex is held.
func (t *Turn) tell() {
	close(t.news)
	t.news = make(chan struct{})
}

// ring wakes the sending side. The mutex is held.
func (t *Turn) ring() {
	select {
	case t.toSend <- struct{}{}:
	default:
	}
}

func (t *Turn) ringLocked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring()
}
