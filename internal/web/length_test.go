package web_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/web"
)

// TestAnAnswerTellsItsLength asks for one that is longer than what net/http counts
// by itself, of a service and of one behind it.
func TestAnAnswerTellsItsLength(t *testing.T) {
	type long struct{ Text string }
	text := strings.Repeat("a long answer ", 1000)
	behind := start(t, web.Get("/api/v1/memory/long", "Long", func(context.Context, *struct{}) (*web.JSON[long], error) {
		return web.Reply(long{text}), nil
	}))
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		res := behind.do(r.Method, r.URL.Path, "")
		for name, values := range res.header {
			w.Header()[name] = values
		}
		_, _ = w.Write([]byte(res.body))
	})
	for name, on := range map[string]*server{"itself": behind, "behind a proxy": s} {
		res := on.do(http.MethodGet, "/api/v1/memory/long", "")
		if got := res.header.Get("Content-Length"); res.status != http.StatusOK || got != strconv.Itoa(len(res.body)) || len(res.body) < len(text) {
			t.Errorf("%s: status %d, Content-Length %q, %d bytes", name, res.status, got, len(res.body))
		}
	}
}
