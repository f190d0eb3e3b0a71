package sidemirror

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// DefaultAddress is where a sidecar listens when nobody says otherwise.
const DefaultAddress = "127.0.0.1:50051"

const httpsPort = "443"

var hostAndPort = regexp.MustCompile(`^(?:\[[\w:.%]+\]|[^\s:/\[\]@?#\\]+):([0-9]{1,5})$`)

// TokenInTheClearError says that the token would go to another machine over a connection that everybody on the way can
// read.
type TokenInTheClearError struct {
	// Address is where it would go.
	Address string
}

func (e *TokenInTheClearError) Error() string {
	return "sidemirror: the token of SIDEMIRROR_TOKEN_FILE does not go to " + e.Address + " without TLS: write https:// " +
		"before the address, or use WithTLS, or name the authority's file in SIDEMIRROR_CA_FILE"
}

// AddressError says that no sidecar can be at the address.
type AddressError struct {
	// Address is what was given.
	Address string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("sidemirror: the address %q of Sidemirror (SIDEMIRROR_ADDRESS, or WithAddress): host:port, such as "+
		"%s, https://host, https://host:port or unix:/path is expected", e.Address, DefaultAddress)
}

// transport is where the sidecar is, as gRPC names it, and how it is reached. The error is a *TokenInTheClearError or an
// *AddressError, or says which file could not be read, or that a certificate has no TLS.
func transport(o *options) (string, credentials.TransportCredentials, error) {
	if path, unix := strings.CutPrefix(o.address, "unix:"); unix {
		if strings.Trim(path, "/") == "" {
			return "", nil, &AddressError{o.address}
		}
		return o.address, insecure.NewCredentials(), nil
	}
	address, secure := strings.CutPrefix(o.address, "https://")
	secure = secure || o.tls || o.caFile != ""
	address = strings.TrimRight(strings.TrimPrefix(address, "http://"), "/")
	if secure && (!strings.Contains(address, ":") || strings.HasSuffix(address, "]")) {
		address += ":" + httpsPort
	}
	if !isPlace(address) {
		return "", nil, &AddressError{o.address}
	}
	target := "passthrough:///" + address
	if !secure {
		if o.tokenFile != "" && !isLoopback(address) {
			return "", nil, &TokenInTheClearError{address}
		}
		if o.certificateFile+o.keyFile != "" && !isLoopback(address) {
			return "", nil, fmt.Errorf("sidemirror: the certificate of SIDEMIRROR_CLIENT_CERTIFICATE_FILE does nothing at %s "+
				"without TLS: write https:// before the address, or use WithTLS, or name the authority's file in "+
				"SIDEMIRROR_CA_FILE", address)
		}
		return target, insecure.NewCredentials(), nil
	}
	config, err := tlsConfig(o)
	if err != nil {
		return "", nil, err
	}
	return target, credentials.NewTLS(config), nil
}

// isPlace: it is host:port, with a port that there can be, and IPv6 in brackets.
func isPlace(address string) bool {
	found := hostAndPort.FindStringSubmatch(address)
	if found == nil {
		return false
	}
	port, err := strconv.ParseUint(found[1], 10, 16)
	return err == nil && port > 0
}

// isLoopback: the host of host:port is this machine, by its own name or number.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback())
}

func tlsConfig(o *options) (*tls.Config, error) {
	// Without RootCAs the system's are taken.
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.caFile != "" {
		authorities, err := os.ReadFile(o.caFile)
		if err != nil {
			return nil, fmt.Errorf("sidemirror: the file of SIDEMIRROR_CA_FILE, or WithCAFile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("sidemirror: %s (SIDEMIRROR_CA_FILE, or WithCAFile) holds no certificate", o.caFile)
		}
	}
	if o.certificateFile != "" || o.keyFile != "" {
		own, err := tls.LoadX509KeyPair(o.certificateFile, o.keyFile)
		if err != nil {
			return nil, fmt.Errorf("sidemirror: the files of SIDEMIRROR_CLIENT_CERTIFICATE_FILE and SIDEMIRROR_CLIENT_KEY_FILE, "+
				"or WithClientCertificate: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}
