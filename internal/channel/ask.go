package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ambry.dev/ambry"
)

const (
	maxAnswer = 4 << 20 // of what a service answers
	maxAsk    = 30 * time.Second
	maxSays   = 200 // characters of what a service says about an error
)

// Asked is what a service answers.
type Asked struct {
	Status int
	Header http.Header
	Body   []byte
}

// Ask sends in as JSON, nothing if it is nil, and reads the answer whole. An
// answer is none the worse for its status. What fails is
// [ambry.UpstreamFailed] and names the host alone: the rest of an address may
// be secret.
func (a Access) Ask(ctx context.Context, method, address string, header http.Header, in any) (Asked, error) {
	ctx, cancel := context.WithTimeout(ctx, maxAsk)
	defer cancel()
	var body io.Reader = http.NoBody
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return Asked{}, err
		}
		body = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return Asked{}, ambry.UpstreamFailed.Errorf("an address of the service is no address")
	}
	for key, values := range header {
		r.Header[key] = values
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	answer, err := a.HTTP.Do(r)
	if err != nil {
		return Asked{}, Unreachable(r.URL.Host, err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return Asked{}, Unreachable(r.URL.Host, err)
	}
	if len(data) > maxAnswer {
		return Asked{}, ambry.UpstreamFailed.Errorf("%s answers more than is read", r.URL.Host)
	}
	return Asked{answer.StatusCode, answer.Header, data}, nil
}

// Unreachable is the error of a host that could not be asked, or did not answer
// to the end. Its cause is without the address.
func Unreachable(host string, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ambry.UpstreamFailed.Wrap(err, host+" takes too long to answer")
	}
	return ambry.UpstreamFailed.Wrap(err, host+" cannot be reached")
}

// RetryAfter returns what a service asks to wait, 0 if it does not say so.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, math.MaxInt32) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Pause waits, or returns why ctx has ended.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Says makes one short line of what a service says about an error, without the
// secrets.
func Says(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxSays {
		runes = append(runes[:maxSays-1], '…')
	}
	return string(runes)
}
