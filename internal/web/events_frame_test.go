package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ambry.dev/ambry"
)

// one is a follower of one event.
type one struct{ event ambry.Event }

func (o *one) NextJSON(context.Context) (ambry.Event, []byte, error) {
	if o.event.ID == "" {
		return o.event, nil, io.EOF
	}
	e := o.event
	o.event = ambry.Event{}
	data, err := json.Marshal(e)
	return e, data, err
}

func (o *one) Position() string { return "e1-0" }

func (o *one) Close() {}

// sink is a ResponseWriter in memory that has deadlines.
type sink struct {
	bytes.Buffer
	header http.Header
}

func (s *sink) Header() http.Header              { return s.header }
func (s *sink) WriteHeader(int)                  {}
func (s *sink) Flush()                           {}
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// FuzzEventFraming: whatever an event says, it stays one frame, and its data
// comes back whole.
func FuzzEventFraming(f *testing.F) {
	for _, seed := range []string{"plain", "a\nevent: execute\ndata: x", "\r\n\r\ndata: {}", "\u2028\u2029", "\x00\x7f", "</script>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := ambry.MemoryStateChanged{State: ambry.HealthFailed, Reason: text}
		w := &sink{header: http.Header{}}
		h := Events(func(string) *one {
			return &one{ambry.Event{ID: "e1-1", Type: p.Topic(), Timestamp: time.Unix(0, 0).UTC(), Payload: p}}
		}, EventsConfig{})
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		h.ServeHTTP(w, r)
		parts := strings.Split(strings.TrimSuffix(w.String(), "\n\n"), "\n\n")
		if len(parts) != 3 {
			t.Fatalf("got %d frames, want 3: %q", len(parts), w)
		}
		lines := strings.Split(parts[2], "\n")
		if len(lines) != 3 || lines[0] != "id: e1-1" || lines[1] != "event: memory.state_changed" || strings.ContainsRune(parts[2], '\r') {
			t.Fatalf("got %q", parts[2])
		}
		var got struct{ Payload ambry.MemoryStateChanged }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(lines[2], "data: ")), &got); err != nil {
			t.Fatal(err)
		}
		if got.Payload.Reason != text && utf8.ValidString(text) {
			t.Fatalf("got %q, want %q", got.Payload.Reason, text)
		}
	})
}
