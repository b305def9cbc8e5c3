package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// maxEvent bounds one event. The service sends far smaller ones.
const maxEvent = 4 << 20

// Event is an event as it came, its payload not yet decoded.
type Event struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
}

// Events yields what happens from now on, or after the event with id last if
// that is not "". It ends with an error when the connection does, with
// [ErrNotRunning] when the service went away; the id of the last event is where
// to go on.
func (c *Client) Events(ctx context.Context, last string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		query := url.Values{"token": {c.token}}
		if last != "" {
			query.Set("lastEventId", last)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/events?"+query.Encode(), nil)
		if err != nil {
			yield(Event{}, errors.New("follow events: the address is not one"))
			return
		}
		resp, err := c.send(req)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer resp.Body.Close()
		for e, err := range events(resp.Body) {
			if err != nil {
				err = broken(ctx, "follow events", err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// events reads an event stream as section 9.2 of the HTML standard says: lines
// of "field: value", an empty line after each event, the data lines of an event
// joined. Of the fields only data matters here, it repeats the others. The end
// of the stream is an error.
func events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		var data []byte
		for lines.Scan() {
			line := lines.Bytes()
			if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			}
			if len(data) > maxEvent {
				yield(Event{}, fmt.Errorf("read an event: longer than %d bytes", maxEvent))
				return
			}
			if len(line) > 0 || len(data) == 0 {
				continue
			}
			var e Event
			if err := json.Unmarshal(data, &e); err != nil {
				yield(Event{}, fmt.Errorf("read an event: %w", err))
				return
			}
			if !yield(e, nil) {
				return
			}
			data = data[:0]
		}
		if err := lines.Err(); err != nil {
			yield(Event{}, fmt.Errorf("read an event: %w", err))
			return
		}
		yield(Event{}, io.EOF)
	}
}
