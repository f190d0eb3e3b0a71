package sidemirror

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// firstPause and longestPause are waited before the sidecar is looked for again.
	firstPause   = 100 * time.Millisecond
	longestPause = time.Second
	// probeDeadline: an answer that takes longer is none.
	probeDeadline = 2 * time.Second
	// steady: after so long the sidecar counts as back.
	steady = 5 * time.Second
	// streams of turns that are open at once; others wait. The sidecar takes 100 streams on a connection, and of a client
	// that comes back with more than that it refuses some.
	streams = 80
)

// link is the state of the way to the sidecar, shared by all turns of a client: told once when the sidecar goes, and
// looked for again until it is back.
type link struct {
	// waitingBytes of events, of all turns.
	waitingBytes atomic.Int64

	onAway  func(error)
	probe   func(context.Context) error
	ctx     context.Context
	cancel  context.CancelFunc
	streams chan struct{}

	looking sync.WaitGroup
	mu      sync.Mutex
	outages int
	told    bool
	backAt  time.Time
	there   chan struct{} // closed while the sidecar is there
	gone    chan struct{} // closed while it is away
}

func newLink(onAway func(error), probe func(context.Context) error) *link {
	ctx, cancel := context.WithCancel(context.Background())
	there := make(chan struct{})
	close(there)
	return &link{
		onAway: onAway, probe: probe, ctx: ctx, cancel: cancel,
		streams: make(chan struct{}, streams), there: there, gone: make(chan struct{}),
	}
}

// close returns when nothing looks for the sidecar any more.
func (l *link) close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.looking.Wait()
}

func (l *link) away() bool {
	select {
	case <-l.goneNow():
		return true
	default:
		return false
	}
}

// goneNow is closed as soon as the sidecar is known to be away.
func (l *link) goneNow() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

// wait returns how many outages there were, once the sidecar is there; false when the client was closed.
func (l *link) wait() (int, bool) {
	for {
		l.mu.Lock()
		there, outages := l.there, l.outages
		l.mu.Unlock()
		select {
		case <-l.ctx.Done():
			return 0, false
		case <-there:
			return outages, true
		}
	}
}

// answered: the sidecar has spoken on a stream that was opened after so many outages. The next one is told again, unless
// it follows so soon that it is the same one to whoever is told.
func (l *link) answered(outages int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if outages == l.outages && time.Since(l.backAt) > steady {
		l.told = false
	}
}

// lost: a stream broke that was opened after so many outages. Of many that break in one, the first counts.
func (l *link) lost(why error, outages int) {
	l.mu.Lock()
	if outages != l.outages || l.ctx.Err() != nil {
		l.mu.Unlock()
		return
	}
	l.outages++
	l.there = make(chan struct{})
	close(l.gone)
	told := l.told
	l.told = true
	l.looking.Add(1)
	l.mu.Unlock()
	go l.lookForIt()
	if !told {
		// Not here: the agent may close the client then, which waits for whoever calls this.
		go l.tell(why)
	}
}

// tell survives a callback that panics: the agent would die of a sidecar that is away.
func (l *link) tell(why error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			slog.Error("the callback of WithOnAway has panicked", "why", panicked)
		}
	}()
	l.onAway(why)
}

func (l *link) lookForIt() {
	defer l.looking.Done()
	for pause := firstPause; ; pause = min(pause*2, longestPause) {
		if !l.sleep(time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))) {
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, probeDeadline)
		err := l.probe(ctx)
		cancel()
		if err == nil {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backAt = time.Now()
	l.gone = make(chan struct{})
	close(l.there)
}

// sleep returns false when the client was closed meanwhile.
func (l *link) sleep(pause time.Duration) bool {
	select {
	case <-l.ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}
