package channel_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

func TestAddressIsAHostAndPerhapsAPort(t *testing.T) {
	for text, want := range map[string]string{
		"irc.example.org":       "irc.example.org:6697",
		" irc.example.org:7000": "irc.example.org:7000",
		"192.0.2.7":             "192.0.2.7:6697",
		"2001:db8::7":           "[2001:db8::7]:6697",
		"[2001:db8::7]:7000":    "[2001:db8::7]:7000",
		"bücher.example":        "bücher.example:6697",
		"":                      "",
		":6697":                 "",
		"irc.example.org:0":     "",
		"irc.example.org:x":     "",
		"irc://irc.example.org": "",
		"irc.example.org/x":     "",
		"two words":             "",
		"me@irc.example.org":    "",
		"irc.example.org\r\nX":  "",
	} {
		if _, got, err := channel.Address(text, "6697"); got != want || (err != nil) != (want == "") {
			t.Errorf("Address(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

// far is a connection that says it leads far away.
type far struct{ net.Conn }

func (far) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 6667} }

func TestNothingIsSaidInTheClearOutsideTheOwnNetwork(t *testing.T) {
	near, other := net.Pipe()
	defer other.Close()
	a := channel.Access{Dial: func(context.Context, string, string) (net.Conn, error) { return far{near}, nil }}
	if _, err := a.Connect(t.Context(), "irc.example.org:6667", channel.NoTLS); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("connected: %v", err)
	}
	if _, err := near.Write([]byte("x")); err == nil {
		t.Error("the connection is still open")
	}
	for address, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "192.168.3.4:1": true, "[::ffff:10.0.0.1]:1": true, "[fd00::7]:1": true, "100.64.0.9:1": true,
		"192.0.2.7:1": false, "[2001:db8::7]:1": false, "172.32.0.1:1": false,
	} {
		tcp, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := channel.OwnNetwork(tcp); got != want {
			t.Errorf("OwnNetwork(%s) = %v", address, got)
		}
	}
	if channel.OwnNetwork(nil) || channel.OwnNetwork(&net.UnixAddr{Name: "x"}) {
		t.Error("what is no IP address is of the own network")
	}
}

func TestInvalidNamesItsField(t *testing.T) {
	e, ok := errors.AsType[*ambry.Error](channel.Invalid("server", "must name a host"))
	if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != "server" {
		t.Errorf("%+v", e)
	}
}

func TestScramIsFollowedWhenItIsWhole(t *testing.T) {
	for text, want := range map[string]bool{
		"r=abc,s=c2FsdA==,i=4096":       true,
		"r=abc,s=c2FsdA==,i=10000":      true,
		"":                              false,
		"r":                             false,
		"r=abc":                         false,
		"r=abc,s=c2FsdA==,i=2000000000": false,
		"r=abc,s=c2FsdA==,i=0":          false,
		"r=abc,s=c2FsdA==,i=4096,":      false,
		"r=abc,s=,i=4096":               false,
	} {
		if err := channel.CheckScram([]byte(text)); (err == nil) != want {
			t.Errorf("CheckScram(%q) = %v", text, err)
		}
	}
}
