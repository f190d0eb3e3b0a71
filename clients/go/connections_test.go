package sidemirror

import (
	"context"
	"testing"
	"time"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
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
