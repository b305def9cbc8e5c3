package channeltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry/internal/channel"
)

// table is a world with a link in it.
type table struct {
	*testing.T
	World

	provider channel.Provider
	values   map[string]string
	deaf     bool // nothing can be called
	host     *host
	log      *lines
	sockets  *sockets
	http     *http.Client

	restarts bool // a link that ends with an error is run again
	stopRun  context.CancelFunc
	result   chan error
}

func lay(t *testing.T, p channel.Provider, w World) *table {
	b := &table{T: t, World: w, provider: p, values: w.Values, log: &lines{}}
	b.host = &host{connected: make(chan channel.Identity, 64), received: make(chan received, 256)}
	b.sockets = &sockets{open: map[net.Conn]bool{}}
	transport := &http.Transport{DialContext: b.dial}
	b.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(func() {
		b.stop()
		transport.CloseIdleConnections()
	})
	return b
}

var errDeaf = errors.New("the network is not there")

// dial is the only way out.
func (b *table) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if b.deaf {
		return nil, errDeaf
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return b.sockets.watch(c), nil
}

// link makes a link with the values of now, which calls nobody.
func (b *table) link() channel.Link {
	b.Helper()
	values := map[string]string{}
	for _, f := range b.provider.Fields {
		if values[f.Key] = f.Default; b.values[f.Key] != "" {
			values[f.Key] = b.values[f.Key]
		}
		if f.Required && values[f.Key] == "" {
			b.Errorf("the world does not tell the field %q", f.Key)
		}
	}
	for key := range b.values {
		if _, ok := values[key]; !ok {
			b.Errorf("there is no field %q", key)
		}
	}
	newLink := b.provider.New
	if b.New != nil {
		newLink = b.New
	}
	before := b.sockets.count()
	l, err := newLink(channel.Access{
		Values: maps.Clone(values), HTTP: b.http, Dial: b.dial,
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		b.Fatal(b.clean(err))
	}
	if n := b.sockets.count(); n != before {
		b.Errorf("to make the link, %d were called", n-before)
	}
	return checked{l, b}
}

// checked is a link whose errors are looked through.
type checked struct {
	channel.Link
	b *table
}

func (c checked) Check(ctx context.Context) (channel.Identity, error) {
	who, err := c.Link.Check(ctx)
	return who, c.b.clean(err)
}

func (c checked) Run(ctx context.Context, h channel.Host) error {
	return c.b.clean(c.Link.Run(ctx, h))
}

// clean fails the test when an error shows what is secret.
func (b *table) clean(err error) error {
	if err != nil {
		b.secrets("an error", err.Error())
	}
	return err
}

// secrets fails the test when a text shows what is secret.
func (b *table) secrets(what, text string) {
	for _, f := range b.provider.Fields {
		for _, values := range []map[string]string{b.Values, b.Wrong} {
			if v := values[f.Key]; f.Kind == "secret" && v != "" && strings.Contains(text, v) {
				b.Errorf("%s shows the field %q", what, f.Key)
			}
		}
	}
}

// start begins to run a link, without waiting until it is connected.
func (b *table) start() {
	ctx, cancel := context.WithCancel(b.Context())
	l, result := b.link(), make(chan error, 1)
	b.stopRun, b.result = cancel, result
	go func() { result <- l.Run(ctx, b.host) }()
}

// run begins to run a link, and returns when people can write.
func (b *table) run() {
	b.Helper()
	b.start()
	select {
	case who := <-b.host.connected:
		if who.ID == "" || who.Name == "" {
			b.Errorf("connected as %+v", who)
		}
	case err := <-b.result:
		b.result = nil
		b.Fatalf("Run ends with %v", err)
	case <-time.After(patience):
		b.Fatal("it does not connect")
	}
}

// ended waits for the end of Run, and returns its error.
func (b *table) ended() error {
	b.Helper()
	defer b.stopRun()
	select {
	case err := <-b.result:
		b.result = nil
		return err
	case <-time.After(patience):
		b.Fatal("Run does not end")
		return nil
	}
}

// stop ends Run, if it goes on, as its caller does.
func (b *table) stop() {
	b.Helper()
	if b.result == nil {
		return
	}
	b.stopRun()
	if err := b.ended(); err != nil {
		b.Errorf("ended from outside, Run returns %v", err)
	}
}

// back waits until the link is connected again after it was cut, by itself or by
// running it again.
func (b *table) back() {
	b.Helper()
	select {
	case <-b.host.connected:
	case err := <-b.result:
		b.result = nil
		if err == nil {
			b.Error("cut off, Run ends without an error")
		}
		b.run()
	case <-time.After(patience):
		b.Fatal("that it was cut off is not noticed")
	}
}

// clear ends the link, and sees that nothing of it is left.
func (b *table) clear() {
	b.stop()
	b.http.CloseIdleConnections()
	for _, c := range []struct {
		what  string
		count func() int
	}{
		{"connections", b.sockets.left},
		{"goroutines", b.goroutines},
	} {
		if n := settled(c.count); n != 0 {
			b.Errorf("after the end there are %d %s", n, c.what)
		}
	}
	logged := b.log.String()
	b.secrets("the log", logged)
	for _, word := range []string{"gate", "Ann", "Ben", "nummer", "everyone"} {
		if strings.Contains(logged, word) {
			b.Errorf("the log shows what people write: %s", logged)
		}
	}
}

// settled returns a count when it is 0, or when it has had the time to be.
func settled(count func() int) int {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if count() == 0 {
			return 0
		}
	}
	return count()
}

// goroutines counts those of the link and of its libraries.
func (b *table) goroutines() int {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if b.ours(stack) {
			n++
		}
	}
	return n
}

func (b *table) ours(stack string) bool {
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		function := strings.TrimPrefix(lines[i], "created by ")
		if strings.Contains(function, "/internal/channel/channeltest.") || strings.Contains(lines[i+1], "_test.go:") {
			return false
		}
	}
	for i := 1; i+1 < len(lines); i += 2 {
		function := strings.TrimPrefix(lines[i], "created by ")
		if strings.HasPrefix(function, "ambry.dev/ambry/internal/channel/") {
			return true
		}
		for _, library := range b.Libraries {
			if strings.HasPrefix(function, library) {
				return true
			}
		}
	}
	return false
}

// receive returns the next message that is passed on.
func (b *table) receive() received {
	b.Helper()
	for end := time.After(patience); ; {
		select {
		case m := <-b.host.received:
			return m
		case <-b.host.connected: // it may begin anew at any time
		case err := <-b.result:
			if b.result = nil; !b.restarts || err == nil {
				b.Fatalf("Run ends with %v", err)
			}
			b.run()
		case <-end:
			b.Fatal("nothing is received")
		}
	}
}

func (b *table) answer(m received, text string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	if err := b.clean(m.send(ctx, text)); err != nil {
		b.Fatalf("answering: %v", err)
	}
}

// hears fails the test unless the next thing that is heard is a text in a place.
func (b *table) hears(in, text string) {
	b.Helper()
	s, ok := b.Hear(patience)
	if !ok || s != (Sent{In: in, Text: text}) {
		b.Fatalf("heard is %+v, %v; want %q in %q", s, ok, text, in)
	}
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

	mu       sync.Mutex
	refusing bool
	cursor   string
	hasty    chan error // if not nil, what is received is answered at once, and here is how
	early    bool       // one was, before it was taken
}

var _ channel.Host = (*host)(nil)

func (h *host) Connected(who channel.Identity) { h.connected <- who }

var errBusy = errors.New("the host takes nothing")

func (h *host) Receive(_ context.Context, m channel.Message, send channel.Send) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refusing {
		return errBusy
	}
	if h.hasty != nil {
		sent := h.hasty
		go func() { sent <- send(context.Background(), "at once") }()
		time.Sleep(hasteWait)
		h.early = h.early || len(sent) > 0
	}
	h.received <- received{m, send}
	return nil
}

// hasteWait is enough to answer where nothing keeps a link from it.
const hasteWait = 200 * time.Millisecond

// hurry has what is received answered at once, and returns how that went.
func (h *host) hurry() <-chan error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hasty = make(chan error, 100)
	return h.hasty
}

func (h *host) hurried() (early bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.early
}

func (h *host) refuse(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusing = on
}

func (h *host) Cursor() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cursor
}

func (h *host) Keep(_ context.Context, cursor string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cursor = cursor
	return nil
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

var _ io.Writer = (*lines)(nil)

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// sockets are the connections that were made.
type sockets struct {
	mu   sync.Mutex
	made int
	open map[net.Conn]bool
}

func (s *sockets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

func (s *sockets) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func (s *sockets) watch(c net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	s.open[c] = true
	return &socket{c, s}
}

type socket struct {
	net.Conn
	all *sockets
}

func (s *socket) Close() error {
	s.all.mu.Lock()
	delete(s.all.open, s.Conn)
	s.all.mu.Unlock()
	return s.Conn.Close()
}
