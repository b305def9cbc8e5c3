package ntfy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// maxLine is how long a line or an answer of the server may be. It lets nobody
// write more than some kilobytes.
const maxLine = 256 << 10

// refill is when a server takes one request more, unless it is set up otherwise.
// It does not say so itself; what may stand before it does.
const refill = 5 * time.Second

// ask sends a request and returns the answer if it is a good one. The caller
// closes its body.
func (l *link) ask(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, l.server.String()+path, body)
	if err != nil {
		return nil, ambry.UpstreamFailed.Errorf("the address of the ntfy server cannot be called")
	}
	if l.token != "" {
		r.Header.Set("Authorization", "Bearer "+l.token)
	}
	answer, err := l.http.Do(r)
	if err != nil {
		return nil, l.unreachable(err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, ambry.Unauthorized.Errorf("%s lets us not use the topic; look at topic and access token", l.server.Host)
	case http.StatusTooManyRequests:
		wait := channel.RetryAfter(answer.Header, time.Now())
		if wait == 0 {
			wait = refill
		}
		return nil, channel.Later(l.server.Host, wait)
	}
	return nil, ambry.UpstreamFailed.Errorf("%s answers with status %d", l.server.Host, answer.StatusCode)
}

// unreachable is an error of the connection, without the address, which holds
// the topic.
func (l *link) unreachable(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return ambry.UpstreamFailed.Errorf("%s cannot be reached: %w", l.server.Host, err)
}

// event is a line of what the server tells a subscriber, and what it answers to
// something that is published.
type event struct {
	ID      string   `json:"id"`
	Time    int64    `json:"time"`
	Event   string   `json:"event"`
	Message string   `json:"message"`
	Tags    []string `json:"tags"`

	Attachment *struct {
		Name string `json:"name"`
	} `json:"attachment"`
}

// at is when it was, or now if the server does not say.
func (e event) at() time.Time {
	if e.Time <= 0 {
		return time.Now()
	}
	return time.Unix(e.Time, 0)
}

// readEvent reads a line.
func readEvent(line []byte) (event, error) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return event{}, ambry.UpstreamFailed.Errorf("the ntfy server tells what cannot be understood")
	}
	return e, nil
}

func decode(r io.Reader, v any) error { return json.NewDecoder(io.LimitReader(r, maxLine)).Decode(v) }

// published is what is sent to the server. It takes a text for nothing else.
type published struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Tags     []string `json:"tags"`
	Markdown bool     `json:"markdown"`
}
