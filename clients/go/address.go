package sidemirror

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// DefaultAddress is where a sidecar listens when nobody says otherwise.
const DefaultAddress = "127.0.0.1:50051"

const httpsPort = "443"

// TokenInTheClearError: the token would go to another machine over a connection that everybody on the way can read.
type TokenInTheClearError struct {
	// Address is where it would go.
	Address string
}

func (e *TokenInTheClearError) Error() string {
	return "sidemirror: the token of SIDEMIRROR_TOKEN_FILE does not go to " + e.Address + " without TLS: write https:// " +
		"before the address, or use WithSystemTLS, or name the authority's file in " +
		"SIDEMIRROR_CA_FILE"
}

// transport is where the sidecar is, as gRPC names it, and how it is reached. The error is a *TokenInTheClearError, or
// says which file could not be read.
func transport(o *options) (string, credentials.TransportCredentials, error) {
	if strings.HasPrefix(o.address, "unix:") {
		return o.address, insecure.NewCredentials(), nil
	}
	address, secure := strings.CutPrefix(o.address, "https://")
	address = strings.TrimRight(strings.TrimPrefix(address, "http://"), "/")
	if _, _, err := net.SplitHostPort(address); err != nil && secure {
		address = net.JoinHostPort(strings.Trim(address, "[]"), httpsPort)
	}
	target := "passthrough:///" + address
	if !secure && !o.systemTLS && o.caFile == "" {
		if o.tokenFile != "" && !isLoopback(address) {
			return "", nil, &TokenInTheClearError{address}
		}
		return target, insecure.NewCredentials(), nil
	}
	config, err := tlsConfig(o)
	if err != nil {
		return "", nil, err
	}
	return target, credentials.NewTLS(config), nil
}

// isLoopback: the address is this machine, by its own name or number.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

func tlsConfig(o *options) (*tls.Config, error) {
	// Without RootCAs the system's are taken.
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.caFile != "" {
		authorities, err := os.ReadFile(o.caFile)
		if err != nil {
			return nil, fmt.Errorf("sidemirror: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("sidemirror: %s holds no certificate", o.caFile)
		}
	}
	if o.certificateFile != "" {
		own, err := tls.LoadX509KeyPair(o.certificateFile, o.keyFile)
		if err != nil {
			return nil, fmt.Errorf("sidemirror: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}
