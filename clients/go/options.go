package sidemirror

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"google.golang.org/grpc"
)

// Option says how to connect. What no option says is read from the environment. An empty path is no file, also where the
// environment names one.
type Option func(*options)

type options struct {
	address, tokenFile, caFile, certificateFile, keyFile string
	tenantID, projectID                                  string
	tls                                                  bool
	deadline                                             time.Duration
	onAway, onRefused                                    func(error)
	dial                                                 []grpc.DialOption
}

func optionsOf(given []Option) *options {
	o := &options{
		address:         os.Getenv("SIDEMIRROR_ADDRESS"),
		tokenFile:       os.Getenv("SIDEMIRROR_TOKEN_FILE"),
		caFile:          os.Getenv("SIDEMIRROR_CA_FILE"),
		certificateFile: os.Getenv("SIDEMIRROR_CLIENT_CERTIFICATE_FILE"),
		keyFile:         os.Getenv("SIDEMIRROR_CLIENT_KEY_FILE"),
		deadline:        10 * time.Second,
	}
	o.onAway = func(why error) {
		slog.Warn("the sidecar is away, the agent goes on without it", "address", o.address, "why", why)
	}
	o.onRefused = func(why error) {
		slog.Warn("the sidecar does not let the agent in", "address", o.address, "why", why)
	}
	for _, option := range given {
		option(o)
	}
	if o.address == "" {
		o.address = DefaultAddress
	}
	return o
}

// WithAddress is host:port, https://host:port or unix:/path; else SIDEMIRROR_ADDRESS, else [DefaultAddress]. With
// https:// the connection is TLS, with the authorities of the system, and the port may be left out.
func WithAddress(address string) Option {
	return func(o *options) { o.address = cmp.Or(address, o.address) }
}

// WithTokenFile names the file that holds the token; else SIDEMIRROR_TOKEN_FILE. It is read again for each call.
func WithTokenFile(path string) Option { return func(o *options) { o.tokenFile = path } }

// WithTLS makes the connection TLS, as https:// does: with the authorities of the system, as crypto/x509 finds them,
// unless [WithCAFile] names others.
func WithTLS() Option { return func(o *options) { o.tls = true } }

// WithCAFile names the file of the authorities whose certificates are taken, in PEM; else SIDEMIRROR_CA_FILE. With it the
// connection is TLS, and no other authority is trusted.
func WithCAFile(path string) Option { return func(o *options) { o.caFile = path } }

// WithClientCertificate names the client's own certificate and key, in PEM; else SIDEMIRROR_CLIENT_CERTIFICATE_FILE and
// SIDEMIRROR_CLIENT_KEY_FILE.
func WithClientCertificate(certificateFile, keyFile string) Option {
	return func(o *options) { o.certificateFile, o.keyFile = certificateFile, keyFile }
}

// WithScope fills in the tenant and the project of requests that name none.
func WithScope(tenantID, projectID string) Option {
	return func(o *options) { o.tenantID, o.projectID = tenantID, projectID }
}

// WithDeadline is for unary calls whose context has none; 10 seconds when nobody says otherwise, also with 0, and at least
// 60 for calls that ask a model.
func WithDeadline(deadline time.Duration) Option {
	return func(o *options) { o.deadline = cmp.Or(deadline, o.deadline) }
}

// WithOnAway is called with the reason when the sidecar goes away, and again only after it was back for 5 seconds; on a
// goroutine of its own. Else, also with nil, a warning is logged with log/slog.
func WithOnAway(told func(error)) Option {
	return func(o *options) {
		if told != nil {
			o.onAway = told
		}
	}
}

// WithOnRefused is called with what to set when the sidecar refuses the token, or there is none; on a goroutine of its own.
// Else, also with nil, a warning is logged with log/slog.
func WithOnRefused(told func(error)) Option {
	return func(o *options) {
		if told != nil {
			o.onRefused = told
		}
	}
}

// WithDialOptions adds to how connections are made, for instance a stats handler of OpenTelemetry.
func WithDialOptions(dial ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, dial...) }
}
