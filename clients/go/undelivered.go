package sidemirror

import (
	"fmt"
	"sync"
)

// mostNamed turns are named in what was not delivered: as many as may be open.
const mostNamed = mostTurns

// UndeliveredError is what a client had not delivered when it was closed, with what it had dropped before.
type UndeliveredError struct {
	// Events, Outcomes and Goals say how many of each.
	Events, Outcomes, Goals int
	// Turns are the ids of the turns that they belong to.
	Turns []string
}

func (e *UndeliveredError) Error() string {
	return fmt.Sprintf("sidemirror: not delivered to the sidecar: %d events, %d outcomes and %d goals, of %d turns",
		e.Events, e.Outcomes, e.Goals, len(e.Turns))
}

// losses counts what is dropped, of all turns of a client.
type losses struct {
	mu    sync.Mutex
	lost  UndeliveredError
	named map[string]bool
}

func (l *losses) add(turnID string, events, outcomes, goals int) {
	if events+outcomes+goals == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost.Events += events
	l.lost.Outcomes += outcomes
	l.lost.Goals += goals
	if !l.named[turnID] && len(l.named) < mostNamed {
		if l.named == nil {
			l.named = map[string]bool{}
		}
		l.named[turnID] = true
		l.lost.Turns = append(l.lost.Turns, turnID)
	}
}

// soFar is nil when nothing was lost.
func (l *losses) soFar() *UndeliveredError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lost.Turns) == 0 {
		return nil
	}
	lost := l.lost
	lost.Turns = append([]string(nil), lost.Turns...)
	return &lost
}
