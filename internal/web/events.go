package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"ambry.dev/ambry"
)

// Follower is one reader's place in a sequence of events; package event has one.
type Follower interface {
	// NextJSON waits for the next event, and returns it with its JSON, which is
	// one line. An event that is there already is returned even if ctx has ended.
	// The bytes are shared by all readers.
	NextJSON(ctx context.Context) (ambry.Event, []byte, error)
	// Position is the id of the last event returned, or of the one before the
	// first. It has the form epoch-sequence.
	Position() string
	Close()
}

// EventsConfig has the limits of an event stream. A zero means the number given
// with each field.
type EventsConfig struct {
	MaxStreams   func() int    // at a time, asked at each new one; 32
	Heartbeat    time.Duration // between two signs of life; 15 s
	WriteTimeout time.Duration // after which a reader who takes nothing is cut; 5 s
}

// Events streams what follow returns as server-sent events, each the JSON of an
// [ambry.Event]. follow gets the id after which the reader wants to continue,
// from the header Last-Event-ID or the query lastEventId; empty for a new one.
//
// A reader is told when to come back (retry), then app.connected, then what it
// missed, then what happens. The ids of app.connected and app.heartbeat are
// those of the last event before them, so that a reader who comes back with any
// id it saw misses nothing.
func Events[F Follower](follow func(lastEventID string) F, cfg EventsConfig) http.Handler {
	if cfg.MaxStreams == nil {
		cfg.MaxStreams = func() int { return 32 }
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 15 * time.Second
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 5 * time.Second
	}
	var open atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer open.Add(-1)
		if open.Add(1) > int64(cfg.MaxStreams()) {
			WriteError(w, r, &ambry.Error{Kind: ambry.RateLimited, Message: "too many event streams are open; close one", RetryAfter: 5})
			return
		}
		last := r.Header.Get("Last-Event-ID")
		if last == "" {
			last = r.URL.Query().Get("lastEventId")
		}
		f := follow(last)
		defer f.Close()
		s := &stream{w: w, control: http.NewResponseController(w), cfg: cfg, events: f}
		s.run(r.Context())
	})
}

// stream writes the events of one follower to one reader.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	cfg     EventsConfig
	events  Follower
	buf     bytes.Buffer
}

// batchSize is how many bytes of events that wait are sent in one write.
const batchSize = 16 << 10

// run returns when the reader is gone, too slow, or the events have ended.
func (s *stream) run(ctx context.Context) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.buf.WriteString("retry: 2000\n\n")
	now := time.Now()
	epoch, _ := cutLast(s.events.Position(), '-')
	err := s.tell(now, ambry.AppConnected{ConnectedAt: now.UTC(), Epoch: epoch})
	for beat := now.Add(s.cfg.Heartbeat); err == nil && s.send() == nil; {
		wait, stop := context.WithDeadline(ctx, beat)
		err = s.collect(wait)
		stop()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			now := time.Now()
			beat = now.Add(s.cfg.Heartbeat)
			err = s.tell(now, ambry.AppHeartbeat{SentAt: now.UTC()})
		}
	}
}

// collect waits for an event, and takes those behind it that are there already.
func (s *stream) collect(ctx context.Context) error {
	e, data, err := s.events.NextJSON(ctx)
	for err == nil {
		s.frame(e.ID, e.Type, data)
		if s.buf.Len() >= batchSize {
			break
		}
		e, data, err = s.events.NextJSON(ended)
	}
	if s.buf.Len() > 0 {
		return nil // an error that lasts comes again
	}
	return err
}

// ended is a context that has: waiting with it means only looking.
var ended = func() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}()

// tell adds an event of this stream alone.
func (s *stream) tell(at time.Time, payload ambry.Payload) error {
	e := ambry.Event{ID: s.events.Position(), Type: payload.Topic(), Timestamp: at.UTC(), Payload: payload}
	data, err := json.Marshal(e)
	s.frame(e.ID, e.Type, data)
	return err
}

func (s *stream) frame(id, topic string, data []byte) {
	s.buf.WriteString("id: ")
	s.buf.WriteString(id)
	s.buf.WriteString("\nevent: ")
	s.buf.WriteString(topic)
	s.buf.WriteString("\ndata: ")
	s.buf.Write(data)
	s.buf.WriteString("\n\n")
}

// send writes what was collected.
func (s *stream) send() error {
	defer s.buf.Reset()
	if err := s.control.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout)); err != nil {
		return err
	}
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	return s.control.Flush()
}

func cutLast(s string, sep byte) (before, after string) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+1:]
}
