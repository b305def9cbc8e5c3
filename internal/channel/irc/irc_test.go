package irc

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

func access(t *testing.T, values map[string]string) channel.Access {
	return channel.Access{Values: values, Dial: new(net.Dialer).DialContext, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

func TestValuesThatCannotBeRight(t *testing.T) {
	good := map[string]string{"server": "irc.example.org", "security": "tls", "nick": "ambry", "channels": "#team, #ops key"}
	for _, tt := range []struct{ key, value string }{
		{"server", ""},
		{"server", "irc://irc.example.org"},
		{"server", "a b"},
		{"security", ""},
		{"security", "starttls"},
		{"nick", ""},
		{"nick", "two words"},
		{"nick", "9lives"},
		{"nick", "a\r\nQUIT"},
		{"nick", "名"},
		{"account", "a\r\nb"},
		{"password", "a\nb"},
		{"serverPassword", strings.Repeat("x", 500)},
		{"channels", "team"},
		{"channels", "#team key more"},
		{"channels", "#a:b"},
		{"channels", "#team\a"},
	} {
		values := map[string]string{}
		for k, v := range good {
			values[k] = v
		}
		values[tt.key] = tt.value
		_, err := Provider().New(access(t, values))
		e, ok := err.(*ambry.Error)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != tt.key {
			t.Errorf("%s = %q: %v", tt.key, tt.value, err)
		}
	}
	l, err := newLink(access(t, good), noPace)
	if err != nil || l.address != "irc.example.org:6697" || len(l.rooms) != 2 || l.rooms[1] != (room{"#ops", "key"}) {
		t.Errorf("%+v, %v", l, err)
	}
}
