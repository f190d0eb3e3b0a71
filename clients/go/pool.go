package sidemirror

import (
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"
)

const (
	// streamsAtOnce of turns are on one connection. The sidecar takes 100, and counts one that has ended for a moment
	// longer.
	streamsAtOnce = 80
	// mostConnections carry turns: room for a thousand at once, and a few more.
	mostConnections = 16
	// callsAtOnce are on the connection of calls; the rest of its 100 streams is for those that an agent opens itself.
	callsAtOnce = 90
	// probesAtOnce have places of their own: whether the sidecar is there is asked however long calls take.
	probesAtOnce = 2
)

// renewed is a connection in whose place another one comes. A call begins on the newest; one that was left ends with
// the last of its calls.
type renewed struct {
	make   func() (*grpc.ClientConn, error)
	mu     sync.Mutex
	newest *grpc.ClientConn
	calls  map[*grpc.ClientConn]int // how many are in progress, where there are any
}

func newRenewed(make_ func() (*grpc.ClientConn, error)) (*renewed, error) {
	conn, err := make_()
	return &renewed{make: make_, newest: conn, calls: map[*grpc.ClientConn]int{}}, err
}

// Invoke is that of [grpc.ClientConnInterface].
func (r *renewed) Invoke(ctx context.Context, method string, request, reply any, given ...grpc.CallOption) error {
	conn, done := r.take()
	defer done()
	return conn.Invoke(ctx, method, request, reply, given...)
}

// NewStream is that of [grpc.ClientConnInterface].
func (r *renewed) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, given ...grpc.CallOption,
) (grpc.ClientStream, error) {
	conn, done := r.take()
	given = append(given[:len(given):len(given)], grpc.OnFinish(func(error) { done() }))
	stream, err := conn.NewStream(ctx, description, method, given...)
	if err != nil {
		done() // also of one that was not begun at all
	}
	return stream, err
}

// take is the newest connection, with one call more until that is done.
func (r *renewed) take() (conn *grpc.ClientConn, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	conn = r.newest
	r.calls[conn]++
	return conn, sync.OnceFunc(func() {
		r.mu.Lock()
		if r.calls[conn]--; r.calls[conn] == 0 {
			delete(r.calls, conn)
		}
		isOver := conn != r.newest && r.calls[conn] == 0
		r.mu.Unlock()
		if isOver {
			_ = conn.Close()
		}
	})
}

// renew makes calls from now on take a new connection. It may be that the old one carries nothing any more, and that
// nobody says so.
func (r *renewed) renew() {
	made, err := r.make()
	if err != nil {
		return // the old one is as good as none
	}
	r.mu.Lock()
	left := r.newest
	r.newest = made
	isOver := r.calls[left] == 0
	r.mu.Unlock()
	if isOver {
		_ = left.Close()
	}
}

// current is the connection that the next call takes.
func (r *renewed) current() *grpc.ClientConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}

// close ends all connections, with their calls.
func (r *renewed) close() {
	r.mu.Lock()
	conns := append(slices.Collect(maps.Keys(r.calls)), r.newest)
	r.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// pool holds the connections that carry turns: as many as their streams need.
type pool struct {
	make   func() (*grpc.ClientConn, error)
	room   chan struct{}
	mu     sync.Mutex
	conns  []*pooled
	closed bool
}

type pooled struct {
	*grpc.ClientConn
	taken int
}

func newPool(make_ func() (*grpc.ClientConn, error)) *pool {
	return &pool{make: make_, room: make(chan struct{}, streamsAtOnce*mostConnections)}
}

// take waits for room for a stream, and returns its connection; free gives the room back.
func (p *pool) take(ctx context.Context) (conn *grpc.ClientConn, free func(), err error) {
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	taken, err := p.find(ctx)
	if err != nil {
		<-p.room
		return nil, nil, err
	}
	taken.taken++
	return taken.ClientConn, func() {
		p.mu.Lock()
		taken.taken--
		p.mu.Unlock()
		<-p.room
	}, nil
}

// find is a connection with room, or a new one. The mutex is held.
func (p *pool) find(ctx context.Context) (*pooled, error) {
	if p.closed || ctx.Err() != nil {
		return nil, context.Canceled
	}
	for _, conn := range p.conns {
		if conn.taken < streamsAtOnce {
			return conn, nil
		}
	}
	made, err := p.make()
	if err != nil {
		return nil, err
	}
	conn := &pooled{ClientConn: made}
	p.conns = append(p.conns, conn)
	return conn, nil
}

// renew ends all connections, with their streams: the next stream has a new one. One that was refused would refuse
// streams for a while after the sidecar is back.
func (p *pool) renew() {
	p.mu.Lock()
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.renew()
}
