package sidemirror

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// modelDeadline is for calls that ask a language model, which the sidecar gives up to 30 seconds an attempt.
	modelDeadline = time.Minute
	// workDeadline is for streams that do one piece of work and end.
	workDeadline = 5 * time.Minute
)

var modelCalls = map[string]bool{"Reflect": true, "Critique": true, "EvaluateTrace": true, "GenerateReflection": true}

// endless streams go on for as long as there is something to say.
var endless = map[string]bool{"RunTurn": true, "WatchTurns": true, "WatchGoalReflections": true, "Watch": true}

// services are those whose unary methods are tried again.
var services = []protoreflect.FileDescriptor{
	pb.File_sidemirror_v1_thinking_proto,
	pb.File_sidemirror_v1_critique_proto,
	pb.File_sidemirror_v1_goal_reflection_proto,
	pb.File_sidemirror_v1_reflective_memory_proto,
	pb.File_sidemirror_v1_sidecar_proto,
}

// serviceConfig has retries for the unary methods: all are reads, or writes that a request_id makes safe to repeat.
func serviceConfig() string {
	var names []map[string]string
	for _, file := range services {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				if !method.IsStreamingClient() && !method.IsStreamingServer() {
					names = append(names, map[string]string{
						"service": string(service.FullName()), "method": string(method.Name()),
					})
				}
			}
		}
	}
	config, _ := json.Marshal(map[string]any{"methodConfig": []any{map[string]any{
		"name": names,
		"retryPolicy": map[string]any{
			"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
			"retryableStatusCodes": []string{"UNAVAILABLE"},
		},
	}}})
	return string(config)
}

// carried is what every call carries: a deadline, the token, the scope, and for writes a request_id.
type carried struct {
	*options
	// places is the room for calls on the connection.
	places chan struct{}
	// heard is called when the sidecar has answered.
	heard func()
}

// tokenError: the token's file gives none that can be sent.
type tokenError struct {
	path string
	why  error
}

func (e *tokenError) Error() string {
	return "sidemirror: the token's file " + e.path + " (SIDEMIRROR_TOKEN_FILE): " + e.why.Error()
}

func (e *tokenError) Unwrap() error { return e.why }

// GRPCStatus is what the sidecar would answer to a call without a token.
func (e *tokenError) GRPCStatus() *status.Status { return status.New(codes.Unauthenticated, e.Error()) }

func (c *carried) unary(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	given ...grpc.CallOption,
) error {
	ctx, err := c.authorized(ctx)
	if err != nil {
		return err
	}
	if _, has := ctx.Deadline(); !has {
		deadline := c.deadline
		if modelCalls[method[strings.LastIndex(method, "/")+1:]] {
			deadline = max(deadline, modelDeadline)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	defer func() { <-c.places }()
	err = invoke(ctx, method, c.filled(request), reply, conn, given...)
	if err == nil || ProblemOf(err).Reason != "" {
		c.heard()
	}
	return err
}

func (c *carried) stream(
	ctx context.Context, description *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	given ...grpc.CallOption,
) (grpc.ClientStream, error) {
	ctx, err := c.authorized(ctx)
	if err != nil {
		return nil, err
	}
	cancel := func() {}
	if _, has := ctx.Deadline(); !has && !endless[method[strings.LastIndex(method, "/")+1:]] {
		ctx, cancel = context.WithTimeout(ctx, workDeadline)
	}
	stream, err := open(ctx, description, conn, method, given...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &filledStream{stream, c, description.ServerStreams, cancel}, nil
}

// filledStream fills in the requests of a stream, and lets go of its deadline at the end: of one answer, or of several.
type filledStream struct {
	grpc.ClientStream
	carried *carried
	several bool
	cancel  context.CancelFunc
}

func (s *filledStream) SendMsg(request any) error {
	return s.ClientStream.SendMsg(s.carried.filled(request))
}

func (s *filledStream) RecvMsg(response any) error {
	err := s.ClientStream.RecvMsg(response)
	if err != nil || !s.several {
		s.cancel()
	}
	if err == nil {
		s.carried.heard()
	}
	return err
}

// errNotSendable does not quote the token.
var errNotSendable = errors.New("it holds what cannot be sent: a token is one line of printable ASCII")

// authorized reads the token for every call: whoever issues tokens replaces the file.
func (c *carried) authorized(ctx context.Context) (context.Context, error) {
	if c.tokenFile == "" {
		return ctx, nil
	}
	held, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return nil, &tokenError{c.tokenFile, err}
	}
	token := strings.TrimSpace(string(held))
	if strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, &tokenError{c.tokenFile, errNotSendable}
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), nil
}

// filled is the request with the client's scope and a request_id where it has none. The caller's own is left alone.
func (c *carried) filled(request any) any {
	message, is := request.(proto.Message)
	if !is {
		return request
	}
	missing := map[string]string{"tenant_id": c.tenantID, "project_id": c.projectID}
	if _, stream := request.(*pb.RunTurnRequest); !stream {
		missing["request_id"] = newID()
	}
	fields := message.ProtoReflect().Descriptor().Fields()
	var copied protoreflect.Message
	for name, value := range missing {
		field := fields.ByName(protoreflect.Name(name))
		if value == "" || field == nil || message.ProtoReflect().Has(field) {
			continue
		}
		if copied == nil {
			// Also of a request that is nil.
			copied = message.ProtoReflect().New()
			proto.Merge(copied.Interface(), message)
		}
		copied.Set(field, protoreflect.ValueOfString(value))
	}
	if copied == nil {
		return request
	}
	return copied.Interface()
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
