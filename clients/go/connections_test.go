package sidemirror

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// slowCritic takes as long over a verdict as it is waited for.
type slowCritic struct {
	pb.UnimplementedCritiqueServiceServer
	begun chan struct{}
}

func (c *slowCritic) Critique(ctx context.Context, _ *pb.CritiqueRequest) (*pb.CritiqueResponse, error) {
	c.begun <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Seen to fail, told as away, when whether it is there waits for a place among the agent's calls.
func TestASidecarIsThereHoweverManyCallsItTakesItsTimeWith(t *testing.T) {
	critic := &slowCritic{begun: make(chan struct{}, callsAtOnce)}
	client := connected(t, serve(t, func(server *grpc.Server) {
		pb.RegisterCritiqueServiceServer(server, critic)
		pb.RegisterSidecarServiceServer(server, &pb.UnimplementedSidecarServiceServer{})
		healthpb.RegisterHealthServer(server, health.NewServer())
	}))
	for range callsAtOnce {
		go func() { _, _ = client.Critique.Critique(t.Context(), &pb.CritiqueRequest{}) }()
	}
	for range callsAtOnce {
		<-critic.begun
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := client.isThere(ctx); err != nil {
		t.Error(err)
	}
	if err := client.probe(ctx); err != nil {
		t.Error(err)
	}
}

// probed answers a probe with an error.
type probed struct {
	pb.UnimplementedSidecarServiceServer
	err error
}

func (p *probed) GetServerInfo(context.Context, *pb.GetServerInfoRequest) (*pb.GetServerInfoResponse, error) {
	return nil, p.err
}

// Seen to fail when only two codes are an answer, and when every error with a reason is.
func TestAnErrorOfTheSidecarsOwnAnswersAProbe(t *testing.T) {
	sidecar := &probed{}
	client := connected(t, serve(t, func(server *grpc.Server) { pb.RegisterSidecarServiceServer(server, sidecar) }))
	for code, isThere := range map[codes.Code]bool{
		codes.ResourceExhausted: true, codes.Internal: true, codes.PermissionDenied: true,
		codes.Unauthenticated: false, codes.Unavailable: false,
	} {
		said, err := status.New(code, "no").WithDetails(&errdetails.ErrorInfo{Reason: "A_REASON"})
		if err != nil {
			t.Fatal(err)
		}
		sidecar.err = said.Err()
		if err := client.probe(t.Context()); (err == nil) != isThere {
			t.Errorf("%v: %v", code, err)
		}
	}
	sidecar.err = status.Error(codes.Internal, "of something between")
	if client.probe(t.Context()) == nil {
		t.Error("there without a reason")
	}
}

// network carries bytes both ways. While it is down it takes them and carries nothing, and never again what comes on a
// connection of before.
type network struct {
	to   string
	down atomic.Bool
}

// serve returns where it listens.
func (n *network) serve(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "network.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			if there, err := net.Dial("unix", n.to); err == nil {
				var dead atomic.Bool
				go n.carry(here, there, &dead)
				go n.carry(there, here, &dead)
			}
		}
	}()
	return path
}

func (n *network) carry(from, to net.Conn, dead *atomic.Bool) {
	buffer := make([]byte, 1<<16)
	for {
		count, err := from.Read(buffer)
		if n.down.Load() {
			dead.Store(true)
		}
		if !dead.Load() {
			_, _ = to.Write(buffer[:count])
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

// Seen to fail when calls keep the connection of before, and when whether it is back is asked on that: nobody says that
// it is broken.
func TestCallsAnswerSoonAfterASilentOutage(t *testing.T) {
	network := &network{to: serve(t, func(server *grpc.Server) {
		pb.RegisterThinkingServiceServer(server, &peer{runTurn: acks()})
		pb.RegisterReflectiveMemoryServiceServer(server, &reportsPeer{ids: map[string]int{}})
	})}
	client := connected(t, network.serve(t))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	// Each connection has carried something.
	turn := client.BeginTurn(TurnOptions{})
	turn.Advice(Within(ctx, 30*time.Second))
	recall := func() error {
		_, err := client.Memory.BuildMemoryContext(ctx, &pb.BuildMemoryContextRequest{})
		return err
	}
	if err := errors.Join(recall(), client.probe(ctx)); err != nil {
		t.Fatal(err)
	}
	network.down.Store(true)
	left := make(chan error, 1)
	go func() { left <- recall() }()
	turn.Report(ToolCalled("look", "{}"))
	until(t, client.Away)
	network.down.Store(false)
	began := time.Now()
	until(t, func() bool { return !client.Away() })
	if err := recall(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("it takes %v", took)
	}
	if len(left) > 0 {
		t.Error("a call of the agent's own has ended with the connection that was left:", <-left)
	}
}

// Seen to fail when the old connection is closed at once, and when nobody closes it.
func TestAConnectionThatIsLeftEndsWithTheLastOfItsCalls(t *testing.T) {
	critic := &slowCritic{begun: make(chan struct{}, 1)}
	client := connected(t, serve(t, func(server *grpc.Server) {
		pb.RegisterCritiqueServiceServer(server, critic)
		healthpb.RegisterHealthServer(server, health.NewServer())
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	left := client.calls.current()
	watching, leave := context.WithCancel(ctx)
	watch, err := healthpb.NewHealthClient(client.Conn).Watch(watching, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	calling, hangUp := context.WithCancel(ctx)
	go func() { _, _ = client.Critique.Critique(calling, &pb.CritiqueRequest{}) }()
	<-critic.begun
	client.giveUp()
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	hangUp()
	until(t, func() bool {
		client.calls.mu.Lock()
		defer client.calls.mu.Unlock()
		return client.calls.calls[left] == 1
	})
	if left.GetState() == connectivity.Shutdown {
		t.Fatal("it is closed beside a stream")
	}
	leave()
	until(t, func() bool { return left.GetState() == connectivity.Shutdown })
	idle := client.calls.current()
	client.giveUp()
	if idle.GetState() != connectivity.Shutdown {
		t.Error("one without a call stays")
	}
}

// imports takes everything.
type imports struct {
	pb.UnimplementedReflectiveMemoryServiceServer
}

func (imports) ImportReflections(stream pb.ReflectiveMemoryService_ImportReflectionsServer) error {
	return stream.SendAndClose(&pb.ImportReflectionsResponse{})
}

// Seen to fail, with a timer that runs for five minutes, when the end of a stream is an error alone.
func TestAStreamOfOneAnswerLetsGoOfItsDeadlineWithIt(t *testing.T) {
	var carried context.Context
	spy := func(
		ctx context.Context, description *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
		given ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		carried = ctx
		return open(ctx, description, conn, method, given...)
	}
	client := connected(t, serve(t, func(server *grpc.Server) {
		pb.RegisterReflectiveMemoryServiceServer(server, imports{})
	}), WithDialOptions(grpc.WithChainStreamInterceptor(spy)))
	stream, err := client.Memory.ImportReflections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CloseAndRecv(); err != nil || carried.Err() == nil {
		t.Fatal(err, carried.Err())
	}
}

// Seen to fail when a call that asks a model has no more than the others, and when the context's own does not hold.
func TestACallHasADeadline(t *testing.T) {
	var left time.Duration
	spy := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
		ends, _ := ctx.Deadline()
		left = time.Until(ends).Round(10 * time.Second)
		return nil
	}
	// own: that of the agent's context.
	for _, one := range []struct {
		own, given         time.Duration
		others, asksAModel time.Duration
	}{
		{0, 0, 10 * time.Second, time.Minute},
		{0, 90 * time.Second, 90 * time.Second, 90 * time.Second},
		{30 * time.Second, 0, 30 * time.Second, 30 * time.Second},
	} {
		ctx, cancel := t.Context(), func() {}
		if one.own > 0 {
			ctx, cancel = context.WithTimeout(ctx, one.own)
		}
		defer cancel()
		client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"), WithDeadline(one.given),
			WithDialOptions(grpc.WithChainUnaryInterceptor(spy)))
		if _, err := client.Sidecar.GetServerInfo(ctx, nil); err != nil || left != one.others {
			t.Error(one, err, left)
		}
		if _, err := client.Critique.Critique(ctx, nil); err != nil || left != one.asksAModel {
			t.Error(one, err, left)
		}
	}
}

// Seen to fail, with a panic of the agent's, when the scope and the request_id are written into what is not there.
func TestARequestThatIsNilIsAnEmptyOne(t *testing.T) {
	sidecar := &scoped{}
	client := connected(t, serve(t, func(server *grpc.Server) {
		pb.RegisterSidecarServiceServer(server, sidecar)
	}), WithScope("tenant", "project"))
	if _, err := client.Sidecar.GetServerInfo(t.Context(), nil); err != nil || sidecar.asked.GetTenantId() != "tenant" {
		t.Error(err, sidecar.asked)
	}
}

// scoped keeps what it was asked.
type scoped struct {
	pb.UnimplementedSidecarServiceServer
	asked *pb.GetServerInfoRequest
}

func (s *scoped) GetServerInfo(_ context.Context, asked *pb.GetServerInfoRequest) (*pb.GetServerInfoResponse, error) {
	s.asked = asked
	return &pb.GetServerInfoResponse{}, nil
}

// until waits for it.
func until(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 20 s")
		}
	}
}
