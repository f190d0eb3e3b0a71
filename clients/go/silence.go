package sidemirror

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// silent: what was sent has waited so long, and so long nothing was heard, when the sidecar is asked whether it is
	// there; asked is how long it may take to answer that.
	silent = time.Second
	asked  = time.Second
	// look is how often that is looked at, and late by how much a look may come late: a client that was held up heard
	// nothing.
	look = 250 * time.Millisecond
	late = 500 * time.Millisecond
)

// silence knows what was sent that the sidecar answers at once, and when something was heard of it.
type silence struct {
	mu        sync.Mutex
	sent      map[any]time.Time
	heard     time.Time
	listening bool
}

// sent: something was sent that the sidecar answers at once. It counts from the first time until it is settled.
func (l *link) sent(what any) {
	s := &l.silence
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent = map[any]time.Time{}
	}
	if _, has := s.sent[what]; !has {
		s.sent[what] = time.Now()
	}
	if s.listening {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() == nil {
		s.listening = true
		l.looking.Add(1)
		go l.listen()
	}
}

// settled: it is answered, or given up.
func (l *link) settled(what any) {
	l.silence.mu.Lock()
	defer l.silence.mu.Unlock()
	delete(l.silence.sent, what)
}

// heard: something has come from the sidecar.
func (l *link) heard() {
	l.silence.mu.Lock()
	defer l.silence.mu.Unlock()
	l.silence.heard = time.Now()
}

// heardSince says whether something has come after that time.
func (s *silence) heardSince(then time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard.After(then)
}

// listen runs while something waits for an answer.
func (l *link) listen() {
	defer l.looking.Done()
	for {
		began := time.Now()
		if !l.sleep(look) {
			return
		}
		waits, isSilent := l.silence.looked(time.Now(), time.Since(began) > look+late)
		if !waits {
			return
		}
		if here, outages := l.now(); isSilent && here.Err() == nil {
			l.ask(here, outages)
		}
	}
}

// looked says whether something waits, and whether it has waited in silence for too long. heldUp counts everything anew.
func (s *silence) looked(now time.Time, heldUp bool) (waits, isSilent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sent) == 0 {
		s.listening = false
		return false, false
	}
	since := now
	for what, at := range s.sent {
		if heldUp {
			s.sent[what] = now
		} else if at.Before(since) {
			since = at
		}
	}
	if s.heard.After(since) {
		since = s.heard
	}
	return true, now.Sub(since) >= silent
}

// ask asks the sidecar whether it is there. One that is heard meanwhile is busy; a client that was held up has heard
// nothing of what may have come.
func (l *link) ask(here context.Context, outages int) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(here, asked)
	defer cancel()
	err := l.way.isThere(ctx)
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		if time.Since(began) > asked+late {
			l.heard()
			return
		}
		if l.silence.heardSince(began) {
			return
		}
		l.failed(fmt.Errorf("it does not answer: %w", err), outages)
	case codes.Canceled:
		// The client is closed, or the sidecar has gone meanwhile.
	default:
		l.heard()
	}
}
