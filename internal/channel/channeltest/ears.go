package channeltest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry/internal/channel"
)

// Ears is a host for the cases that a provider has beside the suite: it runs a
// link, and has what is passed on.
type Ears struct {
	Link  channel.Link
	Ready chan channel.Identity
	Heard chan Heard
	End   chan error // what Run has returned

	t    *testing.T
	stop context.CancelFunc

	mu     sync.Mutex
	refuse error
	cursor string
}

// Heard is a message that was passed on, and how it is answered.
type Heard struct {
	channel.Message
	Send channel.Send
}

var _ channel.Host = (*Ears)(nil)

// Open makes a link, which may call whom it wants. It is not run yet.
func Open(t *testing.T, newLink func(channel.Access) (channel.Link, error), values map[string]string) *Ears {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	link, err := newLink(channel.Access{
		Values: values, Log: slog.New(slog.DiscardHandler), Dial: (&net.Dialer{}).DialContext,
		HTTP: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return Listen(t, link)
}

// Listen is for a link that was made already. It is not run yet.
func Listen(t *testing.T, link channel.Link) *Ears {
	return &Ears{
		Link: link, t: t,
		Ready: make(chan channel.Identity, 64), Heard: make(chan Heard, 256), End: make(chan error, 1),
	}
}

// Run begins to run the link; it is to have ended before it is run again.
func (e *Ears) Run() {
	ctx, stop := context.WithCancel(e.t.Context())
	e.stop = stop
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.End <- e.Link.Run(ctx, e)
	}()
	e.t.Cleanup(func() {
		stop()
		Next(e.t, done)
	})
}

// Stop ends Run from outside, and fails the test unless it returns nil.
func (e *Ears) Stop() {
	e.t.Helper()
	e.stop()
	if err := Next(e.t, e.End); err != nil {
		e.t.Errorf("ended from outside, Run returns %v", err)
	}
}

// Refuse makes the host take nothing, or again everything if err is nil.
func (e *Ears) Refuse(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refuse = err
}

// Connected is of [channel.Host].
func (e *Ears) Connected(who channel.Identity) { e.Ready <- who }

// Receive is of [channel.Host].
func (e *Ears) Receive(_ context.Context, m channel.Message, send channel.Send) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse != nil {
		return e.refuse
	}
	e.Heard <- Heard{m, send}
	return nil
}

// Cursor is of [channel.Host].
func (e *Ears) Cursor() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cursor
}

// Keep is of [channel.Host].
func (e *Ears) Keep(_ context.Context, cursor string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cursor = cursor
	return nil
}

// Next returns what comes next, and fails the test when nothing does.
func Next[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("it does not come")
		panic("not reached")
	}
}
