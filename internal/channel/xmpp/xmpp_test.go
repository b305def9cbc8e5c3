package xmpp

import (
	"log/slog"
	"maps"
	"net"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

func access(t testing.TB, values map[string]string) channel.Access {
	return channel.Access{Values: values, Dial: new(net.Dialer).DialContext, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

func TestValuesThatCannotBeRight(t *testing.T) {
	good := map[string]string{"address": "ambry@example.org", "password": "x", "security": "starttls", "rooms": "team@rooms.example.org, ops@rooms.example.org"}
	for _, tt := range []struct{ key, value string }{
		{"address", ""},
		{"address", "example.org"},
		{"address", "ambry@example.org/home"},
		{"address", "a b@example.org"},
		{"password", ""},
		{"security", ""},
		{"security", "ssl"},
		{"server", "xmpp://example.org"},
		{"server", "example.org:0"},
		{"rooms", "team"},
		{"rooms", "team@rooms.example.org/nick"},
	} {
		values := maps.Clone(good)
		values[tt.key] = tt.value
		_, err := Provider().New(access(t, values))
		e, ok := err.(*ambry.Error)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != tt.key {
			t.Errorf("%s = %q: %v", tt.key, tt.value, err)
		}
	}
	l, err := newLink(access(t, good))
	if err != nil || l.(*link).address != "example.org:5222" || len(l.(*link).rooms) != 2 || l.(*link).nick != "ambry" {
		t.Errorf("%+v, %v", l, err)
	}
}
