package sidemirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// defaultFlush is how long Flush and Close wait for what is still on its way.
const defaultFlush = 2 * time.Second

// Client holds the services of one sidecar, and the turns that are reported to it. It is safe for concurrent use.
type Client struct {
	Thinking pb.ThinkingServiceClient
	Critique pb.CritiqueServiceClient
	Goals    pb.GoalReflectionServiceClient
	Memory   pb.ReflectiveMemoryServiceClient
	Sidecar  pb.SidecarServiceClient
	// Conn is the connection of calls, for services that have no field here. Turns have others. When the sidecar goes, the
	// next call has a new one.
	Conn grpc.ClientConnInterface

	calls      *renewed
	probes     *renewed
	pool       *pool
	link       *link
	losses     losses
	refusals   sync.Map // by refusal: those that the log has
	unanswered sync.Map // by method and reason: when the log had last that it has no answer
	closing    sync.Mutex
	mu         sync.Mutex
	turns      map[*Turn]struct{}
	closed     bool
	delivering sync.WaitGroup
}

// Connect makes a client. Connections are made when they are first used. The error is a [*TokenInTheClearError] or an
// [*AddressError], or says which file could not be read.
func Connect(given ...Option) (*Client, error) {
	o := optionsOf(given)
	target, credentials, err := transport(o)
	if err != nil {
		return nil, err
	}
	client := &Client{turns: map[*Turn]struct{}{}}
	client.link = newLink(o, client)
	dial := append([]grpc.DialOption{
		grpc.WithTransportCredentials(credentials),
		// A sidecar is next door: never through a proxy, and looked for again soon after it was away.
		grpc.WithNoProxy(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.WithDefaultServiceConfig(serviceConfig()),
	}, o.dial...)
	connect := func(calls int) func() (*grpc.ClientConn, error) {
		carried := &carried{o, make(chan struct{}, calls), client.link.heard}
		dial := append([]grpc.DialOption{
			grpc.WithChainUnaryInterceptor(carried.unary), grpc.WithChainStreamInterceptor(carried.stream),
		}, dial...)
		return func() (*grpc.ClientConn, error) { return grpc.NewClient(target, dial...) }
	}
	connectCalls := connect(callsAtOnce)
	if client.calls, err = newRenewed(connectCalls); err != nil {
		return nil, fmt.Errorf("sidemirror: %w", err)
	}
	if client.probes, err = newRenewed(connect(probesAtOnce)); err != nil {
		client.calls.close()
		return nil, fmt.Errorf("sidemirror: %w", err)
	}
	client.pool = newPool(connectCalls)
	client.Thinking = pb.NewThinkingServiceClient(client.calls)
	client.Critique = pb.NewCritiqueServiceClient(client.calls)
	client.Goals = pb.NewGoalReflectionServiceClient(client.calls)
	client.Memory = pb.NewReflectiveMemoryServiceClient(client.calls)
	client.Sidecar = pb.NewSidecarServiceClient(client.calls)
	client.Conn = client.calls
	return client, nil
}

// Must is the client of [Connect], for a program that does not start with options that cannot be used: it panics with the
// error where there is one.
//
//	client := sidemirror.Must(sidemirror.Connect())
func Must(client *Client, err error) *Client {
	if err != nil {
		panic(err)
	}
	return client
}

// WaitUntilReady returns once the sidecar says that it serves and does not count as away, or when the context ends: without
// a deadline it waits for as long as that takes. With a client that is closed, or that is closed meanwhile, it fails as
// calls do, with [codes.Canceled].
func (c *Client) WaitUntilReady(ctx context.Context) error {
	for {
		err := c.serves(ctx)
		if err == nil && !c.Away() {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-c.link.ctx.Done():
			return status.Error(codes.Canceled, "sidemirror: the client is closed")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// serves returns nil once the sidecar says so.
func (c *Client) serves(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := healthpb.NewHealthClient(c.calls).Watch(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	for err == nil {
		var state *healthpb.HealthCheckResponse
		if state, err = watch.Recv(); err == nil && state.Status == healthpb.HealthCheckResponse_SERVING {
			return nil
		}
	}
	return err
}

// Away tells whether the sidecar is known not to answer now.
func (c *Client) Away() bool { return c.link.away() }

// BeginTurn begins a turn of the agent, reported beside it: nothing waits for the sidecar, and nothing fails because it
// is away.
func (c *Client) BeginTurn(o TurnOptions) *Turn {
	turn := newTurn(c, o)
	c.mu.Lock()
	defer c.mu.Unlock()
	// Without its beginning the sidecar would take nothing of it.
	if c.closed || len(c.turns) >= mostTurns || turn.Dropped() > 0 {
		turn.end()
		return turn
	}
	c.turns[turn] = struct{}{}
	c.delivering.Add(1)
	go func() {
		defer c.delivering.Done()
		turn.deliver()
		c.mu.Lock()
		delete(c.turns, turn)
		c.mu.Unlock()
	}()
	return turn
}

// Flush waits until everything reported so far is durable with the sidecar, outcomes and goals too, or until the context
// ends, with its error; two seconds where it has no deadline.
func (c *Client) Flush(ctx context.Context) error {
	ctx, cancel := bounded(ctx, defaultFlush)
	defer cancel()
	c.mu.Lock()
	turns := make([]*Turn, 0, len(c.turns))
	for turn := range c.turns {
		turns = append(turns, turn)
	}
	c.mu.Unlock()
	for _, turn := range turns {
		if err := turn.delivered(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close is [Client.Shutdown] after two seconds.
func (c *Client) Close() error { return c.Shutdown(context.Background()) }

// Shutdown waits for what is on its way until the context ends, two seconds where it has no deadline; then it ends every
// connection, and every call on them. It waits half a second more, at most, for callbacks that still run. The error is an
// [*UndeliveredError], also of what was dropped before, or nil.
func (c *Client) Shutdown(ctx context.Context) error {
	_ = c.Flush(ctx)
	c.closing.Lock()
	defer c.closing.Unlock()
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if first {
		c.link.close()
		c.pool.close()
		c.calls.close()
		c.probes.close()
		c.delivering.Wait()
		c.link.awaitCallbacks()
	}
	lost := c.losses.soFar()
	if lost == nil {
		return nil
	}
	if first {
		slog.Warn("not everything was delivered to the sidecar", "events", lost.Events, "outcomes", lost.Outcomes,
			"goals", lost.Goals, "turns", len(lost.Turns))
	}
	return lost
}

// --- what the link needs ---------------------------------------------------------------------------------------------

// probe also waits until calls have their connection back: else the first of them would fail for a sidecar that is there.
func (c *Client) probe(ctx context.Context) error {
	_, err := pb.NewSidecarServiceClient(c.probes).GetServerInfo(
		ctx, &pb.GetServerInfoRequest{}, grpc.WaitForReady(true),
	)
	if !isAnswer(err) {
		if isSlow(err) {
			c.probes.renew()
		}
		return err
	}
	calls := c.calls.current()
	calls.ResetConnectBackoff()
	for {
		state := calls.GetState()
		if state != connectivity.TransientFailure && state != connectivity.Connecting {
			return nil
		}
		if !calls.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
}

func (c *Client) isThere(ctx context.Context) error {
	_, err := healthpb.NewHealthClient(c.probes).Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

// giveUp leaves calls of the agent's own, which have deadlines.
func (c *Client) giveUp() {
	c.pool.renew()
	c.calls.renew()
	c.probes.renew()
}

// bounded is the context with this deadline where it has none.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// isNewlyUnanswered: the log has not had for a while that this method has no answer, for this reason.
func (c *Client) isNewlyUnanswered(method, why string) bool {
	now, this := time.Now(), [2]string{method, why}
	told, had := c.unanswered.LoadOrStore(this, now)
	return !had || (now.Sub(told.(time.Time)) >= busyPause && c.unanswered.CompareAndSwap(this, told, now))
}
