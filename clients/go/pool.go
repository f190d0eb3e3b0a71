package sidemirror

import (
	"context"
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
