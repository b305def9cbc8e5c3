package channel_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

func TestALibraryReadsNoAnswerWithoutEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, 5<<20))
	}))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := channel.Access{HTTP: server.Client()}.Library().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); err == nil {
		t.Errorf("%d bytes are read", n)
	}
}

func TestALibraryIsToldTheHostAlone(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	secret := "bot7:" + "secret"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/"+secret+"/getMe", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := channel.Access{HTTP: server.Client()}.Library().Do(r)
	if err == nil {
		answer.Body.Close()
		t.Fatal("nobody answered")
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), secret) || ambry.KindOf(err) != ambry.UpstreamFailed {
			t.Errorf("it says %v", e)
		}
	}
}

func TestPatienceWaitsAsLongAsIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name  string
		waits []time.Duration // what the service says, one try each; then it takes it
		tries int
		took  time.Duration
		ok    bool
	}{
		{"at once", nil, 1, 0, true},
		{"once", []time.Duration{3 * time.Second}, 2, 3 * time.Second, true},
		{"less than a second", []time.Duration{time.Millisecond}, 2, time.Second, true},
		{"too long", []time.Duration{time.Hour}, 1, 0, false},
		{"without end", []time.Duration{time.Second, time.Second, time.Second, time.Second, time.Second}, 4, 3 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, began := 0, time.Now()
				err := channel.Patiently(t.Context(), func(context.Context) error {
					if n++; n <= len(c.waits) {
						return channel.Later("it", c.waits[n-1])
					}
					return nil
				})
				if (err == nil) != c.ok || n != c.tries || time.Since(began) != c.took {
					t.Errorf("after %d tries and %v it is %v", n, time.Since(began), err)
				}
			})
		})
	}
}
