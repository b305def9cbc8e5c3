package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/gateway"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/secret"
	"ambry.dev/ambry/internal/state"
)

// right is what the service takes. It is put together, so that nothing takes
// this file for a leak.
const right = "tok-" + "0123456789abcdef"

// service is where people write. Its links do as it says.
type service struct {
	mu    sync.Mutex
	runs  int
	tries []time.Time
	fail  error // of each Run
	host  channel.Host
	cut   chan error
	up    chan struct{} // one for each time that it is connected
	here  int           // links that run
	most  int
	heard chan sent
}

type sent struct{ chat, text string }

func (s *service) provider(id string) channel.Provider {
	return channel.Provider{
		ID: id, Name: "Service", Capabilities: []string{channel.Direct},
		Fields: []ambry.ChannelField{
			{Key: "server", Label: "Server", Kind: "url", Default: "https://chat.example"},
			{Key: "name", Label: "Name", Kind: "text"},
			{Key: "token", Label: "Token", Kind: "secret", Required: true},
		},
		New: func(a channel.Access) (channel.Link, error) {
			if a.Values["name"] == "impossible" {
				return nil, channel.Invalid("name", "cannot be")
			}
			return &link{s, a}, nil
		},
	}
}

type link struct {
	of *service
	channel.Access
}

func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	if l.Values["server"] == "https://elsewhere.example" {
		if _, err := l.Dial(ctx, "tcp", "elsewhere.example:443"); err != nil {
			return channel.Identity{}, ambry.UpstreamFailed.Errorf("it cannot be reached") // what was in the way is lost
		}
	}
	if l.Values["token"] != right {
		return channel.Identity{}, ambry.Unauthorized.Errorf("the service does not take %s", l.Values["token"])
	}
	return channel.Identity{ID: "bot-1", Name: "memory bot"}, nil
}

func (l *link) Run(ctx context.Context, h channel.Host) error {
	s := l.of
	s.mu.Lock()
	s.runs++
	s.tries = append(s.tries, time.Now())
	fail := s.fail
	cut := make(chan error, 1)
	s.host, s.cut = h, cut
	s.here++
	s.most = max(s.most, s.here)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.here--
	}()
	if fail != nil {
		if fail == errBroken {
			panic(fail)
		}
		return fail
	}
	if l.Values["server"] == "https://elsewhere.example" {
		if _, err := l.Dial(ctx, "tcp", "elsewhere.example:443"); err != nil {
			return ambry.UpstreamFailed.Errorf("it cannot be reached")
		}
	}
	h.Connected(channel.Identity{ID: "bot-1", Name: "memory bot"})
	s.up <- struct{}{}
	select {
	case err := <-cut:
		return err
	case <-ctx.Done():
		return nil
	}
}

var errBroken = errors.New("broken")

func (s *service) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut <- err
}

func (s *service) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs
}

// say delivers a message; its chat is that of the sender unless it says so.
func (s *service) say(t *testing.T, m channel.Message) {
	t.Helper()
	s.mu.Lock()
	h := s.host
	s.mu.Unlock()
	if m.Chat == "" {
		m.Chat = m.Sender
	}
	chat := m.Chat
	err := h.Receive(context.Background(), m, func(_ context.Context, text string) error {
		s.heard <- sent{chat, text}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// world is a gateway with what stands behind it.
type world struct {
	*gateway.Gateway
	t       *testing.T
	service *service
	home    home.Home
	db      *state.DB
	secrets *secret.Store
	stop    func()

	patience time.Duration // how long is waited for what is about to happen

	mu     sync.Mutex
	local  bool // local-only mode
	told   []ambry.ChannelChanged
	asked  []string
	answer func(ctx context.Context, q gateway.Question) gateway.Answer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	h, err := home.Open(filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, patience: 20 * time.Second, home: h, service: &service{up: make(chan struct{}, 1000), heard: make(chan sent, 1000)}}
	w.answer = func(_ context.Context, q gateway.Question) gateway.Answer {
		return gateway.Answer{Text: "re: " + q.Text}
	}
	if w.db, err = state.Open(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if w.secrets, err = secret.Open(secret.Config{Home: h, KeyDir: filepath.Join(dir, "keys"), Log: slog.New(slog.DiscardHandler), Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	w.start()
	t.Cleanup(func() {
		w.stop()
		w.db.Close()
	})
	return w
}

// start makes a gateway of what is stored, and runs it.
func (w *world) start() {
	w.t.Helper()
	var err error
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.local {
			return nil, fmt.Errorf("call %s: %w", address, gateway.ErrLocalOnly)
		}
		return nil, nil
	}
	w.Gateway, err = gateway.New(w.t.Context(), gateway.Config{
		Providers: []channel.Provider{w.service.provider("one"), w.service.provider("two"), {ID: "none", Name: "None", Unsupported: "it cannot be"}},
		Setup:     w.db.Channels, Cursors: w.db.ChannelCursors, Secrets: w.secrets,
		HTTP: &http.Client{Transport: http.NewFileTransport(http.Dir(w.home.Dir()))}, Dial: dial,
		Answer: func(ctx context.Context, q gateway.Question) gateway.Answer {
			w.mu.Lock()
			w.asked = append(w.asked, q.Text)
			answer := w.answer
			w.mu.Unlock()
			return answer(ctx, q)
		},
		Bus: w, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	g := w.Gateway
	go func() { ended <- g.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) Publish(p ambry.Payload) ambry.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := p.(ambry.ChannelChanged); ok {
		w.told = append(w.told, c)
	}
	return ambry.Event{}
}

// connect connects the first channel, and waits until people can write.
func (w *world) connect() ambry.ChannelOpened {
	w.t.Helper()
	o, err := w.Connect(w.t.Context(), "one", map[string]string{"token": right})
	if err != nil {
		w.t.Fatal(err)
	}
	w.up()
	return o
}

func (w *world) up() {
	w.t.Helper()
	select {
	case <-w.service.up:
	case <-time.After(w.patience):
		w.t.Fatal("it does not connect")
	}
}

// connection returns how the first channel is.
func (w *world) connection() ambry.ChannelConnection {
	w.t.Helper()
	all, err := w.Connections(w.t.Context())
	if err != nil || len(all.Connections) != 1 {
		w.t.Fatalf("connected are %+v, %v", all, err)
	}
	return all.Connections[0]
}

// hears fails the test unless the next thing that is said is a text.
func (w *world) hears(chat, text string) {
	w.t.Helper()
	select {
	case got := <-w.service.heard:
		if got != (sent{chat, text}) {
			w.t.Errorf("heard is %+v, want %q in %s", got, text, chat)
		}
	case <-time.After(w.patience):
		w.t.Errorf("nothing is heard, want %q", text)
	}
}

// silent fails the test if something was said.
func (w *world) silent() {
	w.t.Helper()
	select {
	case got := <-w.service.heard:
		w.t.Errorf("heard is %+v", got)
	default:
	}
}

var number int

// message is a new message of somebody.
func message(sender, text string) channel.Message {
	number++
	return channel.Message{ID: fmt.Sprint("m", number), Sender: sender, Text: text, At: time.Now()}
}
