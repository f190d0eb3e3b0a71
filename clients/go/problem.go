package sidemirror

import (
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Problem is what the sidecar says about an error beyond its status code (google.rpc).
type Problem struct {
	// Reason is a name of ErrorReason without its prefix; empty for errors that do not come from the sidecar.
	Reason string
	// Metadata belongs to the reason.
	Metadata map[string]string
	// Fields says what is wrong with the request, by field.
	Fields map[string]string
	// RetryAfter is when to come again; 0 when the sidecar does not say.
	RetryAfter time.Duration
}

// isRefusedStream: HTTP/2 has refused the call, which the sidecar has then not begun: the connection is full for now. gRPC
// says so in the error's text only.
func isRefusedStream(err error) bool {
	return status.Code(err) == codes.Unavailable && strings.Contains(status.Convert(err).Message(), "REFUSED_STREAM")
}

// isUnable: a call that is UNAVAILABLE was answered: the sidecar's store or model is away, and it says so itself. One that
// ends says so too, and is as good as away.
func isUnable(err error) bool {
	reason := ProblemOf(err).Reason
	return status.Code(err) == codes.Unavailable && reason != "" && reason != "DRAINING"
}

// isGone: a connection cannot be made, or has broken.
func isGone(err error) bool {
	return status.Code(err) == codes.Unavailable && !isRefusedStream(err) && !isUnable(err)
}

// isAnswer: a probe was answered, by an error of the sidecar's own too. One that knows no such call is there as well.
func isAnswer(err error) bool {
	switch status.Code(err) {
	case codes.OK, codes.PermissionDenied, codes.Unimplemented:
		return true
	case codes.Unavailable, codes.Unauthenticated:
		return false
	}
	return ProblemOf(err).Reason != ""
}

// ProblemOf returns what came with the error of a call; empty fields where nothing did.
func ProblemOf(err error) Problem {
	problem := Problem{Fields: map[string]string{}}
	for _, detail := range status.Convert(err).Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			problem.Reason, problem.Metadata = detail.Reason, detail.Metadata
		case *errdetails.BadRequest:
			for _, violation := range detail.FieldViolations {
				problem.Fields[violation.Field] = violation.Description
			}
		case *errdetails.RetryInfo:
			problem.RetryAfter = detail.RetryDelay.AsDuration()
		}
	}
	return problem
}
