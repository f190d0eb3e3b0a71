package sidemirror

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// A request is kept well below the sidecar's 4 MiB a message.
	batchEvents = 500
	batchBytes  = 1 << 20
	// mostTries: a turn is lost when so many streams in a row have failed without a word that it passes, and nothing more of
	// it was durable after them; a report is lost after as many calls.
	mostTries = 10
	// reportDeadline is the longest that a report may take.
	reportDeadline = 10 * time.Second
)

// deliver runs beside the agent until the turn is over: one stream after the other, then its reports.
func (t *Turn) deliver() {
	defer t.end()
	if t.deliverEvents() {
		t.deliverReports()
	}
}

// deliverEvents returns true once the turn is durable with its end, false when it is given up.
func (t *Turn) deliverEvents() bool {
	failures, tries, toldLater := 0, 0, false
	for {
		here, outages, open := t.link.wait()
		if !open {
			return false
		}
		durable, err := t.run(here, outages)
		t.link.settled(t)
		if t.link.ctx.Err() != nil {
			return false
		}
		if t.hasEnded() {
			err = nil // whatever has become of the stream behind the summary
		}
		failures++
		if durable > 0 {
			failures, tries = 0, 0
		} else if here.Err() == nil && isCounted(err) {
			tries++
		}
		// One that is closed without a word is no better than one that breaks.
		pause := min(time.Duration(failures)*firstPause, longestPause)
		switch {
		case err == nil:
			if t.settleEnd() {
				return true
			}
			// Closed by the sidecar, because nothing was said for long: opened again when there is something.
			if !t.somethingToSend() {
				return false
			}
		case isFinal(err):
			t.refuse(err, "the sidecar has refused a turn", "turn_id", t.ID, "why", err)
			return false
		case tries >= mostTries:
			t.refuse(err, "a turn is lost, the sidecar has failed with it", "turn_id", t.ID, "tries", tries, "why", err)
			return false
		case isForNow(err):
			t.link.heard()
			if !toldLater {
				slog.Warn("the sidecar refuses a turn for now", "turn_id", t.ID, "why", err)
			}
			toldLater = true
			pause = max(pause, ProblemOf(err).RetryAfter)
		case isThere(err):
		default:
			t.link.failed(err, outages)
		}
		t.link.sleep(pause)
	}
}

// refuse keeps why nothing more is reported, and tells it: what has to be set where it is the token.
func (t *Turn) refuse(why error, said string, about ...any) {
	t.mu.Lock()
	t.refusal = why
	t.mu.Unlock()
	if status.Code(why) == codes.PermissionDenied {
		t.link.denied(why)
		return
	}
	slog.Warn(said, append(about, "address", t.link.o.address)...)
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

// isForNow: there is no room, and the sidecar says when there will be.
func isForNow(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && ProblemOf(err).RetryAfter > 0
}

// isThere: what has failed, and is not final, is no absence. A stream or call that somebody gives up is CANCELLED; a
// connection that breaks is UNAVAILABLE.
func isThere(err error) bool {
	return isAnswer(err) || isRefusedStream(err) || status.Code(err) == codes.Canceled
}

// isCounted: nobody says that it passes, so it is not tried for ever.
func isCounted(err error) bool {
	switch status.Code(err) {
	case codes.OK, codes.Unavailable, codes.Unauthenticated:
		return false
	}
	return ProblemOf(err).RetryAfter == 0
}

// run is one stream. It returns how many events of it are durable, and no error when the sidecar has closed it.
func (t *Turn) run(here context.Context, outages int) (int, error) {
	conn, free, err := t.client.pool.take(here)
	if err != nil {
		return 0, err
	}
	defer free()
	ctx, cancel := context.WithCancel(here)
	sent := make(chan struct{})
	// The sending side has to be done before another stream sends: both count what waits.
	defer func() { cancel(); <-sent }()
	t.link.sent(t)
	run, err := pb.NewThinkingServiceClient(conn).RunTurn(ctx)
	if err != nil {
		close(sent)
		return 0, err
	}
	sending := &sending{turn: t}
	t.setStream(sending)
	defer t.setStream(nil)
	go func() {
		defer close(sent)
		sending.run(ctx, run)
	}()
	for {
		response, err := run.Recv()
		if errors.Is(err, io.EOF) {
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

func (t *Turn) setStream(stream *sending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream = stream
}

// hasEnded: the summary has come, which is the last that is said of a turn, and everything is durable.
func (t *Turn) hasEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.summary != nil && len(t.waiting) == 0
}

// settleEnd returns whether the turn is durable with its end. Nothing more comes then, which it tells whoever waits.
func (t *Turn) settleEnd() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.quiet = t.finishing && len(t.waiting) == 0
	t.tell()
	return t.quiet
}

// received is a condition for wait: the sidecar has received everything that was reported until now.
func (t *Turn) received() func() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	reported := t.events
	return func() bool {
		received := t.events - len(t.waiting)
		if t.stream != nil {
			received += t.stream.received - t.stream.durable
		}
		return received >= reported
	}
}

// sending counts how many events one stream has sent, and how many of these were received and are durable. Guarded by
// the turn's mutex.
type sending struct {
	turn                    *Turn
	sent, received, durable int
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
	if len(rest) > 0 {
		s.turn.link.sent(s.turn)
	}
	return append([]*pb.TurnEvent(nil), rest...)
}

func (t *Turn) hear(directive *pb.TurnDirective, sending *sending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastSequence = max(t.lastSequence, directive.Sequence)
	switch kind := directive.Kind.(type) {
	case *pb.TurnDirective_Ack:
		t.settle(kind.Ack, sending)
		return
	case *pb.TurnDirective_Heartbeat, *pb.TurnDirective_Closing:
		return
	case *pb.TurnDirective_TurnPlan:
		if t.plan != nil {
			return // begun again, because the first beginning was lost in a crash
		}
		t.plan = kind.TurnPlan
		t.shown(kind.TurnPlan.GetContext().GetReceiptId())
	case *pb.TurnDirective_Reflection:
		t.shown(kind.Reflection.GetLessons().GetReceiptId())
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

// settle: the first events of a stream are received, and some of them durable. The mutex is held.
func (t *Turn) settle(ack *pb.TurnAck, sending *sending) {
	sent := uint64(sending.sent)
	for durable := int(min(ack.Durable, sent)); sending.durable < durable; {
		t.keep(-proto.Size(t.waiting[0]))
		t.waiting[0] = nil
		t.waiting = t.waiting[1:]
		sending.durable++
	}
	sending.received = max(sending.received, sending.durable, int(min(ack.Received, sent)))
	t.pending = len(ack.PendingIds) > 0
	t.withdraw(ack.WithdrawnIds)
	if sending.received == sending.sent {
		t.link.settled(t)
	}
	t.tell()
}

// withdraw: nobody needs to be told these any more; what was not taken was not shown. The mutex is held.
func (t *Turn) withdraw(ids []string) {
	if len(ids) == 0 {
		return
	}
	t.directives = slices.DeleteFunc(t.directives, func(one *pb.TurnDirective) bool {
		isGone := slices.Contains(ids, one.DirectiveId)
		if receipt := one.GetReflection().GetLessons().GetReceiptId(); isGone && receipt != "" {
			t.receipts = slices.DeleteFunc(t.receipts, func(shown string) bool { return shown == receipt })
		}
		return isGone
	})
}

// somethingToSend returns true once there is something; false when the client closed.
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

func (t *Turn) ringLocked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring()
}

// --- reports ---------------------------------------------------------------------------------------------------------

func (t *Turn) deliverReports() {
	for {
		after := t.nextReport()
		if after == nil || !t.deliverReport(after) {
			return
		}
	}
}

// deliverReport returns false when the client was closed.
func (t *Turn) deliverReport(after *report) bool {
	for failures, tries := 1, 0; ; failures++ {
		here, outages, open := t.link.wait()
		if !open {
			return false
		}
		ctx, cancel := context.WithTimeout(here, reportDeadline)
		t.link.sent(after)
		err := after.send(ctx, t.client)
		t.link.settled(after)
		cancel()
		if err == nil {
			t.link.answered(outages)
			t.forgetReport(false)
			return true
		}
		if here.Err() == nil && isCounted(err) && !isSlow(err) {
			tries++
		}
		pause := min(time.Duration(failures)*firstPause, longestPause)
		switch {
		case t.link.ctx.Err() != nil:
			return false
		case isFinal(err), tries >= mostTries:
			slog.Warn("the sidecar has refused what follows a turn", "turn_id", t.ID, "is_goal", after.goal != nil, "why", err)
			t.forgetReport(true)
			return true
		case isForNow(err), isUnable(err):
			pause = max(pause, ProblemOf(err).RetryAfter)
		case here.Err() != nil, isSlow(err), isThere(err):
		default:
			t.link.failed(err, outages)
		}
		t.link.sleep(pause)
	}
}

// isSlow: no answer in time; whether the sidecar is silent is found otherwise.
func isSlow(err error) bool { return status.Code(err) == codes.DeadlineExceeded }
