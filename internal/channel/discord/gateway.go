package discord

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// What a frame is about.
const (
	opEvent     = 0
	opBeat      = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opEcho      = 11
)

// intents are the kinds of event that are wanted: messages on servers and to us
// alone. What is written to us alone, and where we are mentioned, may be read
// without the privileged intent for all contents; the rest is not wanted.
const intents = 1<<9 | 1<<12

// frame is what goes over a connection, in both directions.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
}

// kept is how far a session was read. Discord keeps one for some minutes after
// its connection ends, and delivers what has come since.
type kept struct {
	Session string `json:"session"`
	Address string `json:"address"`
	Seq     int64  `json:"seq"`
}

// Run holds a connection until ctx ends.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	var line channel.Line
	defer line.Cut()
	if err := l.run(ctx, h, &line); ctx.Err() == nil {
		return err
	}
	return nil
}

// What ends a connection that is opened again: the same session goes on, or is
// no more.
var (
	errRefresh = ambry.UpstreamFailed.Errorf("Discord has ended the connection")
	errAnew    = ambry.UpstreamFailed.Errorf("Discord has ended the session")
)

func (l *link) run(ctx context.Context, h channel.Host, line *channel.Line) error {
	me, err := l.Check(ctx)
	if err != nil {
		return err
	}
	r := &reader{link: l, me: me, host: h, line: line}
	if json.Unmarshal([]byte(h.Cursor()), &r.kept) != nil || !l.secure(r.kept.Address) {
		r.kept = kept{} // nothing was kept, or by another version
	}
	for {
		began, resumed := time.Now(), r.kept.Session != ""
		err := r.session(ctx)
		switch {
		case errors.Is(err, errAnew) && resumed:
			// What was kept is known no more. Discord wants a pause of one to five seconds.
			if err := channel.Pause(ctx, l.pause+rand.N(4*l.pause+1)); err != nil {
				return err
			}
		case errors.Is(err, errRefresh), errors.Is(err, errAnew):
			if time.Since(began) < l.settled {
				return err
			}
		default:
			return err
		}
	}
}

// secure reports whether nobody can listen to a connection to an address.
func (l *link) secure(address string) bool {
	return strings.HasPrefix(address, "wss://") || strings.HasPrefix(l.base, "http://") && strings.HasPrefix(address, "ws://")
}

// reader passes on what is said over a connection.
type reader struct {
	*link
	me   channel.Identity
	host channel.Host
	line *channel.Line
	kept kept
}

// open opens a connection: where the session wants to go on, else where sessions
// begin, which can go on there too.
func (r *reader) open(ctx context.Context) (*channel.Socket, error) {
	if r.kept.Session != "" {
		if socket, err := r.dial(ctx, r.kept.Address); err == nil {
			return socket, nil
		}
	}
	var gateway struct {
		URL   string `json:"url"`
		Limit *struct {
			Remaining int   `json:"remaining"`
			Reset     int64 `json:"reset_after"` // in milliseconds
		} `json:"session_start_limit"`
	}
	if err := r.ask(ctx, http.MethodGet, "/gateway/bot", nil, &gateway); err != nil {
		return nil, err
	}
	if l := gateway.Limit; r.kept.Session == "" && l != nil && l.Remaining <= 0 {
		// Discord takes the token of a bot back that begins too many sessions in a day.
		return nil, channel.Later("Discord", time.Duration(min(l.Reset, 1<<40))*time.Millisecond)
	}
	return r.dial(ctx, gateway.URL)
}

func (r *reader) dial(ctx context.Context, address string) (*channel.Socket, error) {
	if !r.secure(address) {
		return nil, errNotDiscord
	}
	socket, err := r.access.QuietSocket(ctx, strings.TrimRight(address, "/")+"/?v=10&encoding=json")
	if refused, ok := errors.AsType[*channel.Refused](err); ok {
		return nil, ambry.UpstreamFailed.Errorf("Discord does not open a connection (HTTP %d)", refused.Status)
	}
	return socket, err
}

// maxWait is how long the first frames may take.
const maxWait = 20 * time.Second

// session opens a connection, and reads it to its end.
func (r *reader) session(ctx context.Context) error {
	socket, err := r.open(ctx)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	h := &heart{wire: r.wire, socket: socket, echo: make(chan struct{}, 1)}
	h.seq.Store(r.kept.Seq)
	defer h.wait.Wait()
	defer socket.Close()
	defer stop()
	if err := r.greet(ctx, h); err != nil {
		return r.ended(ctx, err)
	}
	greeted := false
	for {
		f, err := next(ctx, socket, greeted)
		if err != nil {
			return r.ended(ctx, err)
		}
		switch f.Op {
		case opEvent:
			if err := r.line.Taking(func() error { return r.event(ctx, f) }); err != nil {
				return err
			}
			h.seq.Store(r.kept.Seq)
			greeted = greeted || f.Type == "READY" || f.Type == "RESUMED"
		case opBeat:
			if err := h.beatNow(ctx); err != nil {
				return r.ended(ctx, err)
			}
		case opEcho:
			h.heard()
		case opReconnect:
			return errRefresh
		case opInvalid:
			if resumable := string(f.Data) == "true"; resumable {
				return errRefresh
			}
			return r.forget(ctx)
		}
	}
}

// greet reads the first frame, starts the heart, and says who we are.
func (r *reader) greet(ctx context.Context, h *heart) error {
	f, err := next(ctx, h.socket, false)
	if err != nil {
		return err
	}
	var hello struct {
		Interval int64 `json:"heartbeat_interval"` // in milliseconds
	}
	if f.Op != opHello || json.Unmarshal(f.Data, &hello) != nil || hello.Interval <= 0 || hello.Interval > 1e6 {
		return errNotDiscord
	}
	h.wait.Go(func() { h.live(ctx, max(r.beat, time.Duration(hello.Interval)*time.Millisecond)) })
	if r.kept.Session != "" {
		return write(ctx, h.socket, opResume, map[string]any{"token": r.token, "session_id": r.kept.Session, "seq": r.kept.Seq})
	}
	return write(ctx, h.socket, opIdentify, map[string]any{
		"token": r.token, "intents": intents,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "ambry", "device": "ambry"},
	})
}

// forget takes note that there is no session any more.
func (r *reader) forget(ctx context.Context) error {
	r.kept = kept{}
	if err := r.host.Keep(ctx, ""); err != nil {
		return err
	}
	return errAnew
}

// ended is what the end of a connection means.
func (r *reader) ended(ctx context.Context, err error) error {
	switch code := channel.CloseCode(err); code {
	case 4004:
		return errToken
	case 4013, 4014:
		return ambry.Unauthorized.Errorf("Discord does not let the bot read messages; look at its intents in the developer portal, and connect again")
	case 4010, 4011, 4012:
		return ambry.UpstreamFailed.Errorf("Discord does not take how it is asked (%d)", code)
	case 4003, 4005, 4007, 4009: // the session is not one any more
		return r.forget(ctx)
	case 4008:
		return channel.Later("Discord", time.Minute)
	case 1000, 1001, 4000, 4001, 4002:
		return errRefresh
	}
	return err
}

// next returns the next frame that can be read. The first ones have to come soon.
func next(ctx context.Context, socket *channel.Socket, greeted bool) (frame, error) {
	if !greeted {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, maxWait)
		defer cancel()
	}
	for {
		data, _, err := socket.Read(ctx)
		if err != nil {
			return frame{}, err
		}
		var f frame
		if json.Unmarshal(data, &f) == nil {
			return f, nil
		}
	}
}

func write(ctx context.Context, socket *channel.Socket, op int, data any) error {
	out, err := json.Marshal(map[string]any{"op": op, "d": data})
	if err != nil {
		return err
	}
	return socket.Write(ctx, out, true)
}

// heart says now and then that we are there, and closes the connection when that
// is not answered.
type heart struct {
	wire
	socket *channel.Socket
	seq    atomic.Int64
	echo   chan struct{}
	wait   sync.WaitGroup
}

func (h *heart) live(ctx context.Context, interval time.Duration) {
	// The first comes at any time, so that not all bots beat at once after a fault.
	wait := rand.N(interval)
	for channel.Pause(ctx, wait) == nil {
		select {
		case <-h.echo: // of a beat that was asked for
		default:
		}
		if h.beatNow(ctx) != nil || !h.answered(ctx) {
			h.socket.Close()
			return
		}
		wait = interval
	}
}

func (h *heart) beatNow(ctx context.Context) error {
	var seq any // null before the first event
	if n := h.seq.Load(); n > 0 {
		seq = n
	}
	return write(ctx, h.socket, opBeat, seq)
}

func (h *heart) answered(ctx context.Context) bool {
	late := time.NewTimer(h.wire.echo)
	defer late.Stop()
	select {
	case <-h.echo:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

func (h *heart) heard() {
	select {
	case h.echo <- struct{}{}:
	default:
	}
}
