package email

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"sync"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

func access(t testing.TB, values map[string]string) channel.Access {
	return channel.Access{Values: values, Dial: new(net.Dialer).DialContext, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

// received is a message, and how it is answered.
type received struct {
	channel.Message
	send channel.Send
}

// host is what a link passes things on to.
type host struct {
	connected chan channel.Identity
	received  chan received
	mu        sync.Mutex
	kept      string
}

var _ channel.Host = (*host)(nil)

func (h *host) Connected(who channel.Identity) { h.connected <- who }

func (h *host) Receive(_ context.Context, m channel.Message, send channel.Send) error {
	h.received <- received{m, send}
	return nil
}

func (h *host) cursor() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kept
}

func (h *host) Cursor() string { return h.cursor() }

func (h *host) Keep(_ context.Context, cursor string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = cursor
	return nil
}

// run runs a link until stop is called, which returns its error.
func run(t *testing.T, l channel.Link, cursor string) (h *host, stop func() error) {
	h = &host{connected: make(chan channel.Identity, 10), received: make(chan received, 100), kept: cursor}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := l.Run(ctx, h)
		if err != nil {
			t.Log(err, errors.Unwrap(err))
		}
		ended <- err
	}()
	return h, func() error { cancel(); return <-ended }
}

func good() map[string]string {
	return map[string]string{
		"address": "Ambry@example.org", "password": "x", "imap": "imap.example.org", "imapSecurity": "tls", "smtp": "smtp.example.org", "smtpSecurity": "starttls",
		"folder": "INBOX", "trust": "mx.example.org",
	}
}

func TestValuesThatCannotBeRight(t *testing.T) {
	for _, tt := range []struct{ key, value string }{
		{"address", ""},
		{"address", "ambry"},
		{"address", "Ambry <ambry@example.org>"},
		{"address", `"a b"@example.org`},
		{"address", "a@[127.0.0.1]"},
		{"password", ""},
		{"password", "a\r\nb"},
		{"imap", ""},
		{"imap", "imaps://example.org"},
		{"imapSecurity", ""},
		{"smtp", ""},
		{"smtpSecurity", "ssl"},
		{"folder", ""},
		{"folder", "a\r\nb"},
		{"trust", "two words"},
		{"word", "short"},
		{"word", "with spaces in it"},
	} {
		values := good()
		values[tt.key] = tt.value
		_, err := Provider().New(access(t, values))
		e, ok := err.(*ambry.Error)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != tt.key {
			t.Errorf("%s = %q: %v", tt.key, tt.value, err)
		}
	}
	got, err := newLink(access(t, good()))
	if l, ok := got.(*link); err != nil || !ok || l.own != "ambry@example.org" || l.user != "Ambry@example.org" || l.imap.address != "imap.example.org:993" || l.smtp.address != "smtp.example.org:587" {
		t.Errorf("%+v, %v", got, err)
	}
}

// From can be forged: without something that proves it, a mailbox is not read.
func TestWithoutProofNothingIsConnected(t *testing.T) {
	values := maps.Clone(good())
	values["trust"] = ""
	if _, err := newLink(access(t, values)); ambry.KindOf(err) != ambry.InvalidArgument {
		t.Error(err)
	}
	values["word"] = "sesame1sesame"
	if _, err := newLink(access(t, values)); err != nil {
		t.Error(err)
	}
}
