package sidemirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// firstPause and longestPause are waited before the sidecar is looked for again.
	firstPause   = 100 * time.Millisecond
	longestPause = time.Second
	// probeDeadline: an answer that takes longer is none.
	probeDeadline = 2 * time.Second
	// steady: after so long the sidecar counts as back.
	steady = 5 * time.Second
	// callbackPatience is how long closing waits for callbacks that still run. An agent that closes the client in one of
	// them waits for all of it.
	callbackPatience = 500 * time.Millisecond
)

// link is the state of the way to the sidecar, shared by all turns of a client: told once when the sidecar goes, and
// looked for again until it is back. It is gone when it is away, and when it refuses the token.
type link struct {
	// waitingBytes of events and reports, of all turns.
	waitingBytes atomic.Int64

	silence silence
	way     way
	o       *options
	ctx     context.Context
	cancel  context.CancelFunc
	looking sync.WaitGroup
	telling sync.WaitGroup

	mu      sync.Mutex
	outages int
	told    bool
	refused bool
	barred  bool // told that the token may not report a turn
	backAt  time.Time
	there   chan struct{} // closed while the sidecar is there
	// here ends when the sidecar goes.
	here  context.Context
	leave context.CancelFunc
}

// way is what the link needs of the connections.
type way interface {
	// probe is a cheap call that carries the token; nil when the sidecar is ready for everything.
	probe(context.Context) error
	// isThere asks what every sidecar answers at once, whatever its store does.
	isThere(context.Context) error
	// giveUp ends what runs on connections to a sidecar that is gone.
	giveUp()
}

func newLink(o *options, way way) *link {
	l := &link{o: o, way: way, there: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.here, l.leave = context.WithCancel(l.ctx)
	close(l.there)
	return l
}

// close returns when nothing looks for the sidecar any more.
func (l *link) close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.looking.Wait()
}

// awaitCallbacks waits until the callbacks that were begun have returned: a process that ends right after it has closed the
// client would lose what they say. No further one is begun by then.
func (l *link) awaitCallbacks() {
	returned := make(chan struct{})
	go func() {
		l.telling.Wait()
		close(returned)
	}()
	select {
	case <-returned:
	case <-time.After(callbackPatience):
	}
}

// away: nothing is known to answer there.
func (l *link) away() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.here.Err() != nil && !l.refused
}

// now is a context that ends when the sidecar goes, and how many outages there were. It has ended while it is gone.
func (l *link) now() (context.Context, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.here, l.outages
}

// wait returns the same once the sidecar is there; false when the client was closed.
func (l *link) wait() (context.Context, int, bool) {
	l.mu.Lock()
	there := l.there
	l.mu.Unlock()
	select {
	case <-l.ctx.Done():
	case <-there:
	}
	here, outages := l.now()
	return here, outages, l.ctx.Err() == nil
}

// answered: the sidecar has spoken on a stream or call that was begun after so many outages. The next one is told again,
// unless it follows so soon that it is the same one to whoever is told.
func (l *link) answered(outages int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.barred = false
	if outages == l.outages && time.Since(l.backAt) > steady {
		l.told = false
	}
}

// denied: the token may not report a turn, which is over. Of many such turns the first is told, until one is taken.
func (l *link) denied(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.barred {
		l.callBack(func() { l.tellRefused(why) })
	}
	l.barred = true
}

// failed: a stream or call has failed that was begun after so many outages, because the sidecar is gone.
func (l *link) failed(why error, outages int) {
	if isNotLetIn(why) {
		l.goAway(outages, func() func() {
			if l.refused {
				return nil
			}
			l.refused = true
			return func() { l.tellRefused(why) }
		})
		return
	}
	l.goAway(outages, func() func() {
		if l.told {
			return nil
		}
		l.told = true
		return func() { survive(l.o.onAway, why, "WithOnAway") }
	})
}

// goAway ends the time since so many outages: of many that break in one, the first counts. `tell` is called with the mutex
// held, and returns what tells the agent.
func (l *link) goAway(outages int, tell func() func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if outages != l.outages || l.here.Err() != nil {
		return
	}
	l.outages++
	l.there = make(chan struct{})
	l.leave()
	if told := tell(); told != nil {
		l.callBack(told)
	}
	l.looking.Add(1)
	go l.lookForIt()
}

// callBack runs a callback of the agent in a goroutine of its own: it may close the client, which waits for the goroutine
// that calls this. The mutex is held.
func (l *link) callBack(callback func()) {
	l.telling.Add(1)
	go func() {
		defer l.telling.Done()
		callback()
	}()
}

func (l *link) tellRefused(why error) {
	var unusable *tokenError
	if errors.As(why, &unusable) {
		survive(l.o.onRefused, unusable, "WithOnRefused")
		return
	}
	survive(l.o.onRefused, fmt.Errorf("the sidecar refuses the token, or there is none: name a file with one that it "+
		"knows, and that permits this, in SIDEMIRROR_TOKEN_FILE: %w", why), "WithOnRefused")
}

// survive calls the agent's callback: the agent would die of a sidecar that is away if that panics.
func survive(callback func(error), why error, name string) {
	defer func() {
		if panicked := recover(); panicked != nil {
			slog.Error("the callback of "+name+" has panicked", "why", panicked)
		}
	}()
	callback(why)
}

func (l *link) lookForIt() {
	defer l.looking.Done()
	l.way.giveUp()
	for pause := firstPause; ; pause = min(pause*2, longestPause) {
		l.mu.Lock()
		if l.refused {
			pause = longestPause
		}
		l.mu.Unlock()
		if !l.sleep(spread(pause)) {
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, probeDeadline)
		err := l.way.probe(ctx)
		cancel()
		if l.ctx.Err() != nil {
			return
		}
		if err == nil {
			break
		}
		l.mu.Lock()
		if isNotLetIn(err) && !l.refused {
			l.refused = true
			l.callBack(func() { l.tellRefused(err) })
		}
		l.mu.Unlock()
	}
	l.heard()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backAt = time.Now()
	l.refused = false
	l.here, l.leave = context.WithCancel(l.ctx)
	close(l.there)
}

// spread makes a pause a little longer or shorter: what broke together does not come back in one moment.
func spread(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}

// sleep returns false when the client was closed meanwhile.
func (l *link) sleep(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-l.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// isNotLetIn: the sidecar does not know the token, or its file gives none (a tokenError).
func isNotLetIn(err error) bool {
	return status.Code(err) == codes.Unauthenticated
}
