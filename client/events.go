package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Event is an event as it came, its payload not yet decoded.
type Event struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
}

// Events yields what happens from now on, or after the event with id last if
// that is not "". It ends with an error when the connection does; the id of the
// last event is where to go on.
func (c *Client) Events(ctx context.Context, last string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		query := url.Values{"token": {c.Token}}
		if last != "" {
			query.Set("lastEventId", last)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.BaseURL+"/api/events?"+query.Encode(), nil)
		if err != nil {
			yield(Event{}, err)
			return
		}
		hc := c.HTTP
		if hc == nil {
			hc = http.DefaultClient
		}
		resp, err := hc.Do(req)
		if err != nil {
			yield(Event{}, fmt.Errorf("follow events: %w", withoutURL(err)))
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			yield(Event{}, problem(resp))
			return
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok {
				continue
			}
			var e Event
			if err := json.Unmarshal(data, &e); err != nil {
				yield(Event{}, fmt.Errorf("decode an event: %w", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		err = lines.Err()
		if err == nil {
			err = ErrNotRunning
		}
		yield(Event{}, err)
	}
}

// withoutURL takes the address, which holds the token, out of an error.
func withoutURL(err error) error {
	if ue, ok := err.(*url.Error); ok {
		return ue.Err
	}
	return err
}
