package sidemirror

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	// mostEvents is what the sidecar takes in a turn.
	mostEvents = 10_000
	// mostBytes of events wait for a sidecar that is away. Beyond that they are dropped, and counted.
	mostBytes = 16 << 20
	// mostBytesInAll is the same of all turns of a client, and mostTurns may be open: one that begins beyond that is not
	// reported.
	mostBytesInAll = 64 << 20
	mostTurns      = 10_000
	// longestText is what the sidecar takes; of a longer one the beginning is reported.
	longestText = 256 << 10
	cut         = " … [cut]"
	// longestName of a tool, in characters, is what the sidecar takes; it takes none without a name.
	longestName = 256
	unnamed     = "unnamed"
	// mostEventBytes: a larger one, or a larger report, would not fit the sidecar's 4 MiB a message. What the
	// sidecar takes of an event, which is less, it says itself when it refuses the turn.
	mostEventBytes = 4<<20 - 64<<10
	// mostDirectives that nobody takes are kept: the oldest go.
	mostDirectives = 1_000
)

// report is a call that follows the turn: an outcome, or a goal.
type report struct {
	goal *pb.ReportGoalRequest
	// outcome is nil for a goal.
	outcome *pb.ReportOutcomeRequest
	size    int
}

func (r *report) send(ctx context.Context, client *Client) (err error) {
	if r.goal != nil {
		_, err = client.Goals.ReportGoal(ctx, r.goal)
	} else {
		_, err = client.Memory.ReportOutcome(ctx, r.outcome)
	}
	return err
}

// Report takes an event and returns its id. It never waits. Of a text of more than 256 KiB, which is what the sidecar
// takes, the beginning is kept, and so are 256 characters of a tool's name; a tool without one is called "unnamed". Bytes
// that are no UTF-8 are replaced.
func (t *Turn) Report(event *pb.TurnEvent) string {
	if event == nil {
		return "" // there is nothing to report
	}
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
	if called := event.GetToolCalled(); called != nil {
		called.Name = named(called.Name)
	}
	size := proto.Size(event)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(event, size)
	return event.EventId
}

// put keeps an event, or drops it. The mutex is held.
func (t *Turn) put(event *pb.TurnEvent, size int) {
	ends := event.GetTurnFinished() != nil
	if ends && t.finishing {
		// Beside it, since the mutex is held: a handler may report events itself.
		go slog.Warn("the turn is finished: another Finish changes nothing", "turn_id", t.ID)
		return
	}
	if t.finishing || t.over || (t.isFull(size) && !ends) {
		if t.finishing && !t.late {
			t.late = true
			go slog.Warn("the turn is finished: what is reported after that is not delivered", "turn_id", t.ID)
		} else if size > mostEventBytes {
			go slog.Warn("an event that is too large for a message is not delivered", "turn_id", t.ID)
		}
		t.dropEvents(1)
		t.finishing = t.finishing || ends
		return
	}
	t.finishing = ends
	t.events++
	t.keep(size)
	t.waiting = append(t.waiting, event)
	t.ring()
}

func (t *Turn) finish(outcome pb.TaskOutcome, score *float64, goal *Goal) {
	if score != nil && !(0 <= *score && *score <= 1) {
		slog.Warn("the turn ends without its score: a number from 0 to 1", "turn_id", t.ID, "score", *score)
		score = nil
	}
	var after *report
	if goal != nil && outcome != pb.TaskOutcome_TASK_OUTCOME_UNSPECIFIED {
		after = goalReport(goal, outcome, t.ID)
	}
	event := &pb.TurnEvent{
		EventId: newID(), Agent: t.agent, Time: timestamppb.Now(),
		Kind: &pb.TurnEvent_TurnFinished{TurnFinished: &pb.TurnFinished{Outcome: outcome, Score: score}},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.finishing && !t.over {
		t.outcome, t.score = outcome, score
		if after != nil {
			t.add(after)
		}
	} else if after != nil && !t.finishing {
		t.client.losses.add(t.ID, 0, 0, 1)
	}
	t.put(event, proto.Size(event))
}

func goalReport(goal *Goal, outcome pb.TaskOutcome, turnID string) *report {
	request := &pb.ReportGoalRequest{
		RequestId: newID(), GoalId: goal.ID, Objective: goal.Objective, State: goal.State, Error: goal.Error,
		SubjectIds: slices.Clone(goal.SubjectIDs), TurnId: turnID,
	}
	for _, task := range goal.Tasks {
		request.Tasks = append(request.Tasks, proto.Clone(task).(*pb.GoalTask))
	}
	if request.State == pb.GoalState_GOAL_STATE_UNSPECIFIED {
		request.State = pb.GoalState_GOAL_STATE_FAILED
		if outcome == pb.TaskOutcome_TASK_OUTCOME_SUCCESS {
			request.State = pb.GoalState_GOAL_STATE_COMPLETED
		}
	}
	fit(request.ProtoReflect())
	return &report{goal: request, size: proto.Size(request)}
}

// add keeps a report, or drops it. The mutex is held.
func (t *Turn) add(after *report) {
	if t.isFull(after.size) {
		t.drop(after)
		return
	}
	t.keep(after.size)
	t.reports = append(t.reports, after)
}

// shown: the turn was given a block with this receipt. The mutex is held.
func (t *Turn) shown(receipt string) {
	if receipt != "" && !t.over && !slices.Contains(t.receipts, receipt) {
		t.receipts = append(t.receipts, receipt)
	}
}

// nextReport is what is to be reported next, once the turn is durable; nil when there is nothing.
func (t *Turn) nextReport() *report {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.outcome != pb.TaskOutcome_TASK_OUTCOME_UNSPECIFIED {
		// The first block that told a lesson is reported first: its error has come up again if it came behind that.
		for _, receipt := range slices.Backward(t.receipts) {
			request := &pb.ReportOutcomeRequest{RequestId: newID(), ReceiptId: receipt, Outcome: t.outcome, Score: t.score}
			after := &report{outcome: request, size: proto.Size(request)}
			t.keep(after.size)
			t.reports = slices.Insert(t.reports, 0, after)
		}
		t.receipts = nil
	}
	if len(t.reports) == 0 {
		// From here on nothing is taken: what comes now would wait for nobody.
		t.over = true
		return nil
	}
	return t.reports[0]
}

// forgetReport: the first report is made, or was refused.
func (t *Turn) forgetReport(refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.reports[0]
	t.reports = t.reports[1:]
	t.keep(-first.size)
	if refused {
		t.drop(first)
	}
	t.tell()
}

// end: nothing more is delivered.
func (t *Turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.quiet, t.over = true, true
	t.dropEvents(len(t.waiting))
	t.waiting = nil
	for _, after := range t.reports {
		t.drop(after)
	}
	t.reports = nil
	if t.outcome != pb.TaskOutcome_TASK_OUTCOME_UNSPECIFIED {
		t.client.losses.add(t.ID, 0, len(t.receipts), 0)
	}
	t.receipts = nil
	t.keep(-t.waitingBytes)
	t.tell()
}

// drop counts a report that is not delivered. The mutex is held.
func (t *Turn) drop(after *report) {
	if after.goal != nil {
		t.client.losses.add(t.ID, 0, 0, 1)
	} else {
		t.client.losses.add(t.ID, 0, 1, 0)
	}
}

// dropEvents counts events that are not delivered. The mutex is held.
func (t *Turn) dropEvents(count int) {
	t.dropped += count
	t.client.losses.add(t.ID, count, 0, 0)
}

// isFull: there is no room for so many bytes. The mutex is held.
func (t *Turn) isFull(size int) bool {
	return t.events+len(t.reports) >= mostEvents || t.waitingBytes+size > mostBytes || size > mostEventBytes ||
		t.link.waitingBytes.Load()+int64(size) > mostBytesInAll
}

// keep counts so many bytes more that wait, or fewer. The mutex is held.
func (t *Turn) keep(size int) {
	t.waitingBytes += size
	t.link.waitingBytes.Add(int64(size))
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

// named is a tool's name as the sidecar takes it: models call tools without one, too.
func named(name string) string {
	if name == "" {
		return unnamed
	}
	if characters := []rune(name); len(characters) > longestName {
		return string(characters[:longestName])
	}
	return name
}

// valid is the text with what is no UTF-8 replaced: a message with that cannot be sent.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// fit shortens texts that the sidecar would refuse, and replaces what cannot be sent.
func fit(message protoreflect.Message) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() != nil && field.IsList():
			for i := range value.List().Len() {
				fit(value.List().Get(i).Message())
			}
		case field.Message() != nil && !field.IsMap():
			fit(value.Message())
		case field.Kind() == protoreflect.StringKind && field.IsList():
			for i := range value.List().Len() {
				text := valid(value.List().Get(i).String())
				value.List().Set(i, protoreflect.ValueOfString(text))
			}
		case field.Kind() == protoreflect.StringKind:
			text := value.String()
			if len(text) <= longestText && utf8.ValidString(text) {
				return true
			}
			text = valid(text)
			if len(text) > longestText {
				// What the cut leaves of a character goes with it.
				text = strings.ToValidUTF8(text[:longestText-len(cut)], "") + cut
			}
			message.Set(field, protoreflect.ValueOfString(text))
		}
		return true
	})
}
