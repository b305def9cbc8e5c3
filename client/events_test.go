package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

func stream(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	tests := []struct {
		name, body string
		want       []string
	}{
		{"nothing", "", nil},
		{"one", "retry: 2000\n\nid: e-1\nevent: a\ndata: {\"id\":\"e-1\",\"type\":\"a\"}\n\n", []string{"e-1 a"}},
		{"two", "data: {\"id\":\"1\",\"type\":\"a\"}\n\ndata: {\"id\":\"2\",\"type\":\"b\"}\n\n", []string{"1 a", "2 b"}},
		{"without a space, with CR LF", "data:{\"id\":\"1\",\"type\":\"a\"}\r\n\r\n", []string{"1 a"}},
		{"over several lines", "data: {\"id\":\"1\",\ndata: \"type\":\"a\"}\n\n", []string{"1 a"}},
		{"comments and other fields", ": hello\nfield: x\ndata: {\"id\":\"1\",\"type\":\"a\"}\n: bye\n\n", []string{"1 a"}},
		{"a long line", "data: {\"id\":\"1\",\"type\":\"" + long + "\"}\n\n", []string{"1 " + long}},
		{"a torn one at the end is none", "data: {\"id\":\"1\",\"type\":\"a\"}\n\ndata: {\"id\":\"2\"}\n", []string{"1 a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, stream(tt.body))
			var got []string
			var last error
			for e, err := range c.Events(t.Context(), "") {
				if last = err; err == nil {
					got = append(got, e.ID+" "+e.Type)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if !errors.Is(last, client.ErrNotRunning) {
				t.Errorf("ended with %v", last)
			}
		})
	}
}

func TestEventsAskOnlyWithTheQuery(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if got, want := r.URL.RawQuery, "lastEventId=e-7&token="+token; got != want {
			t.Errorf("got query %q, want %q", got, want)
		}
		if r.Header.Get(ambry.LocalTokenHeader) != "" {
			t.Error("the stream takes no token header")
		}
	})
	for range c.Events(t.Context(), "e-7") {
	}
}

func TestEventsEnd(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"code":"rate_limited","message":"enough"}}`)
		})
		for _, err := range c.Events(t.Context(), "") {
			if ambry.KindOf(err) != ambry.RateLimited {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("noise", func(t *testing.T) {
		c := serve(t, stream("data: no\n\n"))
		for _, err := range c.Events(t.Context(), "") {
			if err == nil || errors.Is(err, client.ErrNotRunning) {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("stopped by the caller", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(w, "data: {\"id\":\"%d\",\"type\":\"a\"}\n\n", i); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				if i == 3 {
					<-r.Context().Done()
					return
				}
			}
		})
		events := 0
		for _, err := range c.Events(ctx, "") {
			if events++; events == 3 {
				cancel()
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		if events < 3 {
			t.Errorf("got %d events", events)
		}
	})
	t.Run("the token stays out of errors", func(t *testing.T) {
		c, err := client.New("http://127.0.0.1:1", token)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Events(t.Context(), "") {
			if err == nil || strings.Contains(err.Error(), token) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func FuzzEvents(f *testing.F) {
	f.Add("data: {\"id\":\"1\",\"type\":\"a\"}\n\n")
	f.Add("data:\n\ndata: {}\n\n:\n\nid: 1")
	f.Fuzz(func(t *testing.T, body string) {
		ended := false
		for e, err := range client.ReadEvents(strings.NewReader(body)) {
			if ended {
				t.Fatal("it goes on after an error")
			}
			if ended = err != nil; ended && e.Type != "" {
				t.Errorf("an error came with %+v", e)
			}
		}
		if !ended {
			t.Error("it ended without an error")
		}
	})
}
