package sidemirror

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

// DefaultAddress is where a sidecar listens when nobody says otherwise.
const DefaultAddress = "127.0.0.1:50051"

// defaultFlush is how long Close waits for events that are still on their way.
const defaultFlush = 2 * time.Second

// Client holds the services of one sidecar on one connection. It is safe for concurrent use.
type Client struct {
	Thinking pb.ThinkingServiceClient
	Critique pb.CritiqueServiceClient
	Goals    pb.GoalReflectionServiceClient
	Memory   pb.ReflectiveMemoryServiceClient
	Sidecar  pb.SidecarServiceClient
	// Conn is the connection, for services that have no field here.
	Conn *grpc.ClientConn

	link       *link
	mu         sync.Mutex
	turns      map[*Turn]struct{}
	closed     bool
	delivering sync.WaitGroup
}

// Option says how to connect. What no option says is read from the environment.
type Option func(*options)

type options struct {
	address, tokenFile, caFile, certificateFile, keyFile string
	tenantID, projectID                                  string
	deadline                                             time.Duration
	onAway                                               func(error)
	dial                                                 []grpc.DialOption
}

// WithAddress is host:port or unix:/path; else SIDEMIRROR_ADDRESS, else [DefaultAddress].
func WithAddress(address string) Option { return func(o *options) { o.address = address } }

// WithTokenFile names the file that holds the token; else SIDEMIRROR_TOKEN_FILE. It is read again for each call.
func WithTokenFile(path string) Option { return func(o *options) { o.tokenFile = path } }

// WithTLS names the file of the authorities whose certificates are taken, in PEM; else SIDEMIRROR_CA_FILE. With it the
// connection is TLS.
func WithTLS(caFile string) Option { return func(o *options) { o.caFile = caFile } }

// WithClientCertificate names the client's own certificate and key, in PEM; else SIDEMIRROR_CLIENT_CERTIFICATE_FILE and
// SIDEMIRROR_CLIENT_KEY_FILE.
func WithClientCertificate(certificateFile, keyFile string) Option {
	return func(o *options) { o.certificateFile, o.keyFile = certificateFile, keyFile }
}

// WithScope fills in the tenant and the project of requests that name none.
func WithScope(tenantID, projectID string) Option {
	return func(o *options) { o.tenantID, o.projectID = tenantID, projectID }
}

// WithDeadline is for unary calls whose context has none; 10 seconds when nobody says otherwise, and at least 60 for
// calls that ask a model.
func WithDeadline(deadline time.Duration) Option { return func(o *options) { o.deadline = deadline } }

// WithOnAway is called with the reason when the sidecar goes away, and again only after it was back. Else a warning is
// logged with log/slog.
func WithOnAway(told func(error)) Option { return func(o *options) { o.onAway = told } }

// WithDialOptions adds to how the connection is made, for instance a stats handler of OpenTelemetry.
func WithDialOptions(dial ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, dial...) }
}

// Connect makes a client. The connection is made when it is first used; an error means that a file could not be read.
func Connect(given ...Option) (*Client, error) {
	o := options{
		address:         os.Getenv("SIDEMIRROR_ADDRESS"),
		tokenFile:       os.Getenv("SIDEMIRROR_TOKEN_FILE"),
		caFile:          os.Getenv("SIDEMIRROR_CA_FILE"),
		certificateFile: os.Getenv("SIDEMIRROR_CLIENT_CERTIFICATE_FILE"),
		keyFile:         os.Getenv("SIDEMIRROR_CLIENT_KEY_FILE"),
		deadline:        10 * time.Second,
		onAway: func(why error) {
			slog.Warn("the sidecar is away, the agent goes on without it", "why", why)
		},
	}
	for _, option := range given {
		option(&o)
	}
	if o.address == "" {
		o.address = DefaultAddress
	}
	target := o.address
	if !strings.HasPrefix(target, "unix:") {
		target = "passthrough:///" + target
	}
	transport, err := transportCredentials(&o)
	if err != nil {
		return nil, err
	}
	carried := &carried{&o}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		// A sidecar is next door: never through a proxy, and looked for again soon after it was away.
		grpc.WithNoProxy(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.WithDefaultServiceConfig(serviceConfig()),
		grpc.WithChainUnaryInterceptor(carried.unary),
		grpc.WithChainStreamInterceptor(carried.stream),
	}
	conn, err := grpc.NewClient(target, append(dial, o.dial...)...)
	if err != nil {
		return nil, fmt.Errorf("sidemirror: %w", err)
	}
	client := &Client{
		Thinking: pb.NewThinkingServiceClient(conn),
		Critique: pb.NewCritiqueServiceClient(conn),
		Goals:    pb.NewGoalReflectionServiceClient(conn),
		Memory:   pb.NewReflectiveMemoryServiceClient(conn),
		Sidecar:  pb.NewSidecarServiceClient(conn),
		Conn:     conn,
		turns:    map[*Turn]struct{}{},
	}
	client.link = newLink(o.onAway, func(ctx context.Context) error {
		_, err := client.Sidecar.GetServerInfo(ctx, &pb.GetServerInfoRequest{})
		return err
	})
	return client, nil
}

func transportCredentials(o *options) (credentials.TransportCredentials, error) {
	if o.caFile == "" || strings.HasPrefix(o.address, "unix:") {
		return insecure.NewCredentials(), nil
	}
	authorities, err := os.ReadFile(o.caFile)
	if err != nil {
		return nil, fmt.Errorf("sidemirror: %w", err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("sidemirror: %s holds no certificate", o.caFile)
	}
	if o.certificateFile != "" {
		own, err := tls.LoadX509KeyPair(o.certificateFile, o.keyFile)
		if err != nil {
			return nil, fmt.Errorf("sidemirror: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return credentials.NewTLS(config), nil
}

// WaitUntilReady returns once the sidecar says that it serves, or when the context ends.
func (c *Client) WaitUntilReady(ctx context.Context) error {
	for {
		watch, err := healthpb.NewHealthClient(c.Conn).Watch(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
		for err == nil {
			var state *healthpb.HealthCheckResponse
			if state, err = watch.Recv(); err == nil && state.Status == healthpb.HealthCheckResponse_SERVING {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Away tells whether the sidecar is known not to answer now.
func (c *Client) Away() bool { return c.link.away() }

// BeginTurn begins a turn of the agent, reported beside it: nothing waits for the sidecar, and nothing fails because it
// is away.
func (c *Client) BeginTurn(o TurnOptions) *Turn {
	turn := newTurn(c.Thinking, c.link, o)
	c.mu.Lock()
	defer c.mu.Unlock()
	// Without its beginning the sidecar would take nothing of it.
	if c.closed || len(c.turns) >= mostTurns || turn.Dropped() > 0 {
		turn.end(nil)
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

// Flush waits until everything reported so far is durable with the sidecar, or until the context ends.
func (c *Client) Flush(ctx context.Context) error {
	for _, turn := range c.open() {
		if err := turn.delivered(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close waits up to two seconds for events that are on their way, then ends the connection and every call on it.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), defaultFlush)
	defer cancel()
	_ = c.Flush(ctx)
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.link.close()
	err := c.Conn.Close()
	c.delivering.Wait()
	return err
}

func (c *Client) open() []*Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	turns := make([]*Turn, 0, len(c.turns))
	for turn := range c.turns {
		turns = append(turns, turn)
	}
	return turns
}
