package channel

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// The ways to protect a connection, as people choose them in a field.
const (
	TLS      = "tls"      // from the first byte
	StartTLS = "starttls" // begun in the clear, and ended there unless TLS comes
	NoTLS    = "none"     // to machines of the own network alone
)

// connectWait is how long it may take until a connection is there.
const connectWait = 20 * time.Second

// Invalid is the error of a value that cannot be right.
func Invalid(key, message string) error {
	return &ambry.Error{Kind: ambry.InvalidArgument, Message: key + " " + message, Details: []ambry.Field{{Field: key, Message: message}}}
}

// Address returns host and port that people write as one: a name or an IP
// address, and perhaps a port. Its errors are for [Invalid].
func Address(text, port string) (host, address string, err error) {
	text = strings.TrimSpace(text)
	host = text
	if _, err := netip.ParseAddr(text); err != nil { // one of IPv6 has colons
		if h, p, err := net.SplitHostPort(text); err == nil {
			host, port = h, p
		}
	}
	n, err := strconv.Atoi(port)
	_, notIP := netip.ParseAddr(host)
	switch {
	case host == "":
		return "", "", errors.New("must name a host")
	case strings.Contains(text, "/"), notIP != nil && !named(host):
		return "", "", errors.New("must be a host, and perhaps a port, such as chat.example.org:6697")
	case err != nil || n < 1 || n > 65535:
		return "", "", errors.New("must have a port of 1 to 65535")
	}
	return host, net.JoinHostPort(host, strconv.Itoa(n)), nil
}

// named reports whether a host is written as the names of hosts are.
func named(host string) bool {
	return len(host) <= 253 && !strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`"#%/:;<>?@[\]^{|},()'`+"`", r)
	})
}

// TLSTo is how a host is spoken to by TLS.
func (a Access) TLSTo(host string) *tls.Config {
	return &tls.Config{ServerName: host, RootCAs: a.Roots, MinVersion: tls.VersionTLS12}
}

// Connect calls a service that does not speak HTTP, in one of the ways of
// protection; what [StartTLS] needs is left to the caller. Its errors are for
// people.
func (a Access) Connect(ctx context.Context, address, security string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	conn, err := a.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, ambry.UpstreamFailed.Wrap(err, host+" cannot be reached")
	}
	switch {
	case security == TLS:
		return a.Secure(ctx, conn, host)
	case security == NoTLS && !OwnNetwork(conn.RemoteAddr()):
		conn.Close()
		return nil, ambry.UpstreamFailed.Errorf("%s is not on your own network; it is spoken to by TLS only", host)
	}
	return conn, nil
}

// Secure begins TLS with a host on a connection, which is closed when that fails.
// Its errors are for people.
func (a Access) Secure(ctx context.Context, conn net.Conn, host string, protocols ...string) (net.Conn, error) {
	config := a.TLSTo(host)
	config.NextProtos = protocols
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, Insecure(host, err)
	}
	return secure, nil
}

// Insecure is the error of TLS with a host that cannot be begun.
func Insecure(host string, err error) error {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return ambry.UpstreamFailed.Wrap(err, "nobody that this machine trusts vouches for the certificate of "+host)
	}
	return ambry.UpstreamFailed.Wrap(err, host+" does not speak TLS there")
}

// own are networks of this machine and those around it: loopback, private, and
// what carriers and virtual private networks give out.
var own = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fc00::/7"),
}

// OwnNetwork reports whether an address is of this machine or its own network,
// where passwords may go unprotected.
func OwnNetwork(address net.Addr) bool {
	if address == nil {
		return false
	}
	at, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return false
	}
	ip := at.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(own, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// pbkdfLimit is how many rounds of SCRAM a server may ask for. Ten thousand are
// usual; this many take a second.
const pbkdfLimit = 1_000_000

// CheckScram looks at what a server says first in SCRAM before a library reads
// it: that it is whole, and asks for no more rounds than can be done.
func CheckScram(challenge []byte) error {
	seen := map[string]string{}
	for part := range strings.SplitSeq(string(challenge), ",") {
		key, value, ok := strings.Cut(part, "=")
		if len(key) != 1 || !ok || value == "" {
			return errors.New("the server's part of SCRAM is malformed")
		}
		seen[key] = value
	}
	if n, err := strconv.Atoi(seen["i"]); err != nil || n < 1 || n > pbkdfLimit || seen["r"] == "" || seen["s"] == "" {
		return errors.New("the server's part of SCRAM is not one to follow")
	}
	return nil
}
