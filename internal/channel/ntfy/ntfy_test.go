package ntfy_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
	"ambry.dev/ambry/internal/channel/ntfy"
	"ambry.dev/ambry/internal/channel/ntfy/ntfytest"
)

func TestProvider(t *testing.T) {
	channeltest.Run(t, ntfy.Provider(), world)
}

func world(t *testing.T) channeltest.World {
	s := ntfytest.New()
	t.Cleanup(s.Close)
	values := map[string]string{"server": s.URL + "/", "topic": ntfytest.Topic, "token": ntfytest.Token}
	wrong := maps.Clone(values)
	wrong["token"] = strings.Replace(ntfytest.Token, "a", "b", 1)
	return channeltest.World{
		Values: values, Wrong: wrong,
		Say: func(l channeltest.Line) { s.Say(l.Text) },
		Hear: func(within time.Duration) (channeltest.Sent, bool) {
			select {
			case m := <-s.Sent:
				heard := channeltest.Sent{In: channeltest.Ann, Text: m.Message}
				if m.Markdown || m.Click != "" || m.Attach != "" {
					heard.Live = "markdown"
				}
				return heard, true
			case <-time.After(within):
				return channeltest.Sent{}, false
			}
		},
		Cut: s.Cut, Again: s.Again,
		NoGroups: true, Anonymous: true, Remembers: true,
	}
}

func TestEachMistakeIsNamed(t *testing.T) {
	for key, value := range map[string]string{
		"server": "ftp://example.org", "topic": "a/b", "token": "two words",
	} {
		values := map[string]string{"server": "https://ntfy.sh", "topic": "abc", "token": ""}
		if _, err := ntfy.Provider().New(channel.Access{Values: values}); err != nil {
			t.Fatal(err)
		}
		values[key] = value
		_, err := ntfy.Provider().New(channel.Access{Values: values})
		e, ok := err.(*ambry.Error)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != key {
			t.Errorf("%s %q answers %#v", key, value, err)
		}
	}
}

// wire is a server that is told what to answer.
type wire func(r *http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

func linkTo(t testing.TB, w wire) channel.Link {
	l, err := ntfy.Provider().New(channel.Access{
		Values: map[string]string{"server": "http://ntfy.example", "topic": ntfytest.Topic, "token": ntfytest.Token},
		HTTP:   &http.Client{Transport: w},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// host keeps what it is given.
type host struct {
	cursor   string
	messages []channel.Message
	send     channel.Send
}

func (*host) Connected(channel.Identity) {}

func (h *host) Receive(_ context.Context, m channel.Message, send channel.Send) error {
	h.messages, h.send = append(h.messages, m), send
	return nil
}

func (h *host) Cursor() string { return h.cursor }

func (h *host) Keep(_ context.Context, cursor string) error {
	h.cursor = cursor
	return nil
}

func answer(status int, body io.Reader, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body)}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// A server that says nothing any more, though nothing was closed, is left.
func TestASilentServerIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := linkTo(t, func(r *http.Request) (*http.Response, error) {
			body, w := io.Pipe()
			context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
			go func() { _, _ = io.WriteString(w, `{"event":"open","time":1800000000}`+"\n") }()
			return answer(http.StatusOK, body), nil
		})
		h := &host{}
		if err := l.Run(t.Context(), h); ambry.KindOf(err) != ambry.UpstreamFailed {
			t.Errorf("got %v", err)
		}
		if h.cursor != "1800000000" {
			t.Errorf("the cursor is %q", h.cursor)
		}
	})
}

// replier runs a link to a server that says hello, until the test ends, and
// returns how that is answered.
func replier(t *testing.T, post func(*http.Request) (*http.Response, error)) channel.Send {
	l := linkTo(t, func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost {
			return post(r)
		}
		body, w := io.Pipe()
		context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
		go func() { _, _ = io.WriteString(w, `{"event":"message","id":"a","message":"hello"}`+"\n") }()
		return answer(http.StatusOK, body), nil
	})
	h := &host{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return h.send
}

// What is sent while the server wants fewer calls is sent later, whether it says
// when, as something before it may, or not, as it does itself.
func TestASlowServerIsWaitedFor(t *testing.T) {
	for _, says := range []string{"40", ""} {
		synctest.Test(t, func(t *testing.T) {
			posts := 0
			send := replier(t, func(*http.Request) (*http.Response, error) {
				if posts++; posts == 1 {
					return answer(http.StatusTooManyRequests, strings.NewReader(""), "Retry-After", says), nil
				}
				return answer(http.StatusOK, strings.NewReader("{}")), nil
			})
			if err := send(t.Context(), "an answer"); err != nil || posts != 2 {
				t.Errorf("told %q, after %d calls: %v", says, posts, err)
			}
		})
	}
}

// A server whose quota for the day is used up is not asked for ever.
func TestAServerThatWantsNothingMoreIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		posts := 0
		send := replier(t, func(*http.Request) (*http.Response, error) {
			posts++
			return answer(http.StatusTooManyRequests, strings.NewReader("")), nil
		})
		if err := send(t.Context(), "an answer"); ambry.KindOf(err) != ambry.UpstreamFailed || posts > 10 {
			t.Errorf("after %d calls: %v", posts, err)
		}
	})
}

// What is answered after the end does not reach the server.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	l := linkTo(t, func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost {
			t.Errorf("asked for %s", r.URL.Path)
		}
		return answer(http.StatusOK, strings.NewReader(`{"event":"message","id":"a","message":"hello"}`+"\n")), nil
	})
	h := &host{}
	if err := l.Run(t.Context(), h); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("cut off, Run ends with %v", err)
	}
	if err := h.send(t.Context(), "too late"); err == nil {
		t.Error("an answer after the end is sent, it is said")
	}
}

// The server takes no more than twice the bytes that a message may have, as JSON.
func TestWhateverIsAnsweredFits(t *testing.T) {
	for _, text := range []string{"<", "&", `"`, `\`, "a\n", "\u2028", "😀"} {
		synctest.Test(t, func(t *testing.T) {
			heard := 0
			send := replier(t, func(r *http.Request) (*http.Response, error) {
				raw, err := io.ReadAll(r.Body)
				if err != nil || len(raw) > 2*4096 {
					t.Errorf("%q becomes %d bytes, %v", text, len(raw), err)
				}
				var m ntfytest.Published
				if err := json.Unmarshal(raw, &m); err != nil {
					t.Error(err)
				}
				heard += strings.Count(m.Message, strings.TrimSpace(text))
				return answer(http.StatusOK, strings.NewReader("{}")), nil
			})
			if err := send(t.Context(), strings.Repeat(text, 5000)); err != nil {
				t.Error(err)
			}
			if strings.TrimSpace(text) != "" && heard != 5000 {
				t.Errorf("%q is heard %d times", text, heard)
			}
		})
	}
}

// Whatever a server tells, nothing is passed on that has no id or no text, or is
// our own.
func FuzzStream(f *testing.F) {
	f.Add(`{"id":"a","event":"message","message":"hello","time":1}`)
	f.Add(`{"event":"open"}` + "\n" + `{"event":"message","id":"b","message":" ","tags":["ambry"]}` + "\n\n")
	f.Add(`{"id":"c","event":"message","message":"x","attachment":{"name":"x.png"}}` + "\nnull\n[]")
	f.Fuzz(func(t *testing.T, stream string) {
		l := linkTo(t, func(*http.Request) (*http.Response, error) {
			return answer(http.StatusOK, strings.NewReader(stream)), nil
		})
		h := &host{}
		if err := l.Run(t.Context(), h); err == nil {
			t.Error("a stream that ends is no error")
		}
		for _, m := range h.messages {
			if m.ID == "" || strings.TrimSpace(m.Text) == "" || m.At.IsZero() {
				t.Errorf("passed on is %+v", m)
			}
		}
	})
}
