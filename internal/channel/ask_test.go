package channel_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

func TestAskNamesTheHostAlone(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	secret := "s3" + "cret-path"
	_, err := channel.Access{HTTP: http.DefaultClient}.Ask(t.Context(), http.MethodPost, server.URL+"/"+secret+"?token="+secret, nil, 1)
	if ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Fatalf("got %v", err)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), secret) {
			t.Errorf("%q tells a secret", e)
		}
	}
}

func TestAskReadsBothWaysInJSON(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			w.WriteHeader(http.StatusTeapot)
		}
		if r.URL.Path == "/big" {
			w.Write(make([]byte, 5<<20))
		}
		w.Write([]byte("1"))
	}))
	defer server.Close()
	a := channel.Access{HTTP: server.Client()}
	got, err := a.Ask(t.Context(), http.MethodPost, server.URL, http.Header{"X-Key": {"k"}}, map[string]int{"a": 1})
	if err != nil || got.Status != http.StatusOK || string(got.Body) != "1" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := a.Ask(t.Context(), http.MethodGet, server.URL+"/big", nil, nil); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("got %v for an answer without end", err)
	}
}

func TestRetryAfterReadsSecondsAndDates(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "x": 0, "-3": 0, "NaN": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond,
		"Sat, 28 Nov 2026 12:01:00 GMT": time.Minute, "Sat, 28 Nov 2026 11:01:00 GMT": 0,
	} {
		if got := channel.RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("RetryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}

func TestSaysIsOneShortLineWithoutSecrets(t *testing.T) {
	if got, want := channel.Says(" a\n\x1b[31mkey\x00 ", "key"), "a [31m***"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := channel.Says(strings.Repeat("记", 500)); len([]rune(got)) != 200 {
		t.Errorf("got %d characters", len([]rune(got)))
	}
}

func TestALineThatWasCutSendsNothing(t *testing.T) {
	var line channel.Line
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- line.Send(t.Context(), func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	<-began
	line.Cut()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("what was being sent ended with %v", err)
	}
	err := line.Send(t.Context(), func(context.Context) error { t.Error("it was sent"); return nil })
	if ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("got %v", err)
	}
	line.Cut() // twice changes nothing
}
