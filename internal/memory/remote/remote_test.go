package remote_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/host"
	"ambry.dev/ambry/internal/memory/remote"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
	"ambry.dev/ambry/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "test"

// wall puts a memory behind HTTP and returns the way to it, and its address.
func wall(t testing.TB, m host.Memory) (*remote.Client, string) {
	t.Helper()
	ln, err := web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop := serve(t, ln, m)
	t.Cleanup(stop)
	base := "http://" + ln.Addr().String()
	return client(t, base, token), base
}

func serve(t testing.TB, ln net.Listener, m host.Memory) (stop func()) {
	t.Helper()
	handler, _ := web.New(web.Config{Token: web.Token{Header: "Authorization", Scheme: "Bearer", Secret: token}}, host.Routes(m))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- (&web.Server{Handler: handler}).Serve(ctx, ln) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func client(t testing.TB, base, token string) *remote.Client {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c := remote.New(func() (*url.URL, string, error) { return u, token, nil }, new(net.Dialer).DialContext)
	t.Cleanup(c.Close)
	return c
}

// real is the memory that Ambry has.
func real(t testing.TB) *engine.Engine {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine.New(engine.Config{Store: st})
}

// talk is a session with a turn for each text.
func talk(session string, texts ...string) redact.Conversation {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123e6, time.UTC)
	code := 1
	c := ambry.Conversation{Session: ambry.Session{Agent: "codex", ID: session, Cwd: "/home/ana/infra", StartedAt: at}}
	for i, text := range texts {
		c.Turns = append(c.Turns, ambry.Turn{
			ID: fmt.Sprint(session, "-", i), At: at, Source: ambry.Source{Path: "/home/ana/" + session + ".jsonl", Line: i + 1, End: 9},
			Messages: []ambry.Message{{
				Role: ambry.User, Text: text, At: at, Tokens: ambry.Tokens{Input: 3},
				Calls: []ambry.ToolCall{{Name: "shell", Input: "go test", Output: "<ok> & \u2028 done", Done: true, ExitCode: &code}},
			}},
		})
	}
	return redact.Clean(c)
}

// TestTheWallChangesNothing asks the same on both sides of it.
func TestTheWallChangesNothing(t *testing.T) {
	ctx := t.Context()
	here := real(t)
	there, _ := wall(t, here)
	if n, err := there.Import(ctx, []redact.Conversation{talk("one", "why is the parser slow?", "fix the flaky test"), talk("two", "日本語のテスト")}); err != nil ||
		n.Conversations != 2 || n.Added != 3 || n.Messages != 3 {
		t.Fatalf("imported %+v, %v", n, err)
	}
	note, err := there.Add(ctx, redact.CleanNote(ambry.Note{Content: "Prefers small commits", Tags: []string{"style"}, Source: "me"}), "k")
	check(t, err)
	if again, err := here.Add(ctx, redact.CleanNote(ambry.Note{Content: "Prefers small commits", Tags: []string{"style"}, Source: "me"}), "k"); err != nil || again.ID != note.ID {
		t.Errorf("the key did not arrive: %v", err)
	}
	title := "Style"
	_, err = there.Patch(ctx, note.ID, ambry.Patch{Title: &title}, "")
	check(t, err)

	same(t, "search", there.Search, here.Search, ambry.Query{Query: "parser", Agents: []string{"codex"}, Verbose: true})
	same(t, "get", there.Get, here.Get, note.ID)
	same(t, "source", there.Source, here.Source, note.ID)
	same(t, "items", there.Items, here.Items, ambry.ItemsQuery{Layer: ambry.L1, Exclude: []string{"a", "b c&d"}, Page: 1})
	same(t, "items of a text", there.Items, here.Items, ambry.ItemsQuery{Text: "日本語 & co"})
	same(t, "second page", there.Items, here.Items, ambry.ItemsQuery{Status: ambry.Activated, Page: 2})
	same(t, "sessions", there.Sessions, here.Sessions, ambry.SessionsQuery{Agent: "codex", Project: "/home/ana/infra"})
	transcript := func(m interface {
		Transcript(context.Context, string, int) (ambry.Transcript, error)
	},
	) func(context.Context, int) (ambry.Transcript, error) {
		return func(ctx context.Context, page int) (ambry.Transcript, error) { return m.Transcript(ctx, "one", page) }
	}
	same(t, "transcript", transcript(there), transcript(here), 1)
	nothing := func(f func(context.Context) (ambry.Overview, error)) func(context.Context, int) (ambry.Overview, error) {
		return func(ctx context.Context, _ int) (ambry.Overview, error) { return f(ctx) }
	}
	same(t, "tasks", there.Tasks, here.Tasks, ambry.TasksQuery{Text: "parser & co", Page: 1})
	same(t, "processing", there.Processing, here.Processing, []string{note.ID, "a b"})
	related := func(m memory.Insight) func(context.Context, string) (ambry.Related, error) {
		return func(ctx context.Context, id string) (ambry.Related, error) { return m.Related(ctx, id, 5) }
	}
	same(t, "related", related(there), related(here), note.ID)
	same(t, "logs", there.Logs, here.Logs, ambry.LogsQuery{Tools: []string{"memory_add", "memory_search"}, Exclude: []string{"a", "b c&d"}, Limit: 3, Offset: 1})
	feedback := func(m memory.Journal) func(context.Context, ambry.Feedback) (ambry.FeedbackTaken, error) {
		return func(ctx context.Context, f ambry.Feedback) (ambry.FeedbackTaken, error) {
			return m.Feedback(ctx, note.ID, f, "")
		}
	}
	same(t, "feedback", feedback(there), feedback(here), ambry.Feedback{SearchID: "recall_1", Verdict: ambry.VerdictHelpful, Note: "it \x00 <helped>"})
	same(t, "overview", nothing(there.Overview), nothing(here.Overview), 0)

	f, err := there.Forget(ctx, note.ID, "")
	if err != nil || f.ID != note.ID {
		t.Errorf("forgot %+v, %v", f, err)
	}
	if h, err := there.Status(ctx); err != nil || !h.OK || h.Sessions != 2 {
		t.Errorf("status %+v, %v", h, err)
	}
}

// same checks that two functions give the same, but for the times and names that
// each answer has of its own.
func same[I, O any](t *testing.T, what string, there, here func(context.Context, I) (O, error), in I) {
	t.Helper()
	got, err := there(t.Context(), in)
	check(t, err)
	want, err := here(t.Context(), in)
	check(t, err)
	own := cmp.FilterPath(func(p cmp.Path) bool {
		switch p.Last().String() {
		case ".ServerTime", ".TookMs", ".SearchID", ".StorageBytes":
			return true
		}
		return false
	}, cmp.Ignore())
	if diff := cmp.Diff(want, got, own, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-here +there):\n%s", what, diff)
	}
}

// failing is a memory that fails.
type failing struct {
	host.Memory
	err error
}

func (f failing) Get(context.Context, string) (ambry.Detail, error) { return ambry.Detail{}, f.err }

func (f failing) Import(context.Context, []redact.Conversation) (ambry.Imported, error) {
	return ambry.Imported{}, f.err
}

func TestErrorsKeepTheirKind(t *testing.T) {
	for _, kind := range []ambry.Kind{
		ambry.InvalidArgument, ambry.Forbidden, ambry.NotFound, ambry.Conflict, ambry.Gone, ambry.PayloadTooLarge,
		ambry.RateLimited, ambry.MemoryUnavailable, ambry.MemoryTimeout, ambry.StorageFull, ambry.Internal,
	} {
		t.Run(string(kind), func(t *testing.T) {
			want := &ambry.Error{
				Kind: kind, Message: "what is wrong", RetryAfter: 7,
				Details: []ambry.Field{{Field: "a", Message: "b"}}, Extra: map[string]any{"jobId": "j"},
			}
			there, _ := wall(t, failing{err: want})
			_, err := there.Get(t.Context(), "x")
			got, ok := errors.AsType[*ambry.Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if kind == ambry.Internal {
				got.Message = want.Message // what is inside stays inside
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(ambry.Error{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnreachableIsNeverNothingFound(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, closed.Close())
	tests := []struct {
		name string
		base func(t *testing.T) string
		want ambry.Kind
	}{
		{"nobody listens", func(*testing.T) string { return "http://" + closed.Addr().String() }, ambry.MemoryUnavailable},
		{"it hangs up", raw(""), ambry.MemoryUnavailable},
		{"half an answer", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"hits\":[]"), ambry.MemoryUnavailable},
		{"not HTTP", raw("SSH-2.0-OpenSSH_9.6\r\n"), ambry.MemoryUnavailable},
		{"a page", raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<html"), ambry.UpstreamFailed},
		{"an empty answer", raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), ambry.UpstreamFailed},
		{"no content", raw("HTTP/1.1 204 No Content\r\n\r\n"), ambry.UpstreamFailed},
		{"a redirect", raw("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"), ambry.UpstreamFailed},
		{"a failure of another kind", raw("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"), ambry.UpstreamFailed},
		{"an unknown code", raw("HTTP/1.1 400 Bad\r\nContent-Type: application/problem+json\r\nContent-Length: 27\r\n\r\n{\"error\":{\"code\":\"absurd\"}}"), ambry.UpstreamFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			there := client(t, tt.base(t), token)
			if a, err := there.Search(t.Context(), ambry.Query{Query: "x"}); ambry.KindOf(err) != tt.want {
				t.Errorf("search: got %+v, %v; want %s", a, err, tt.want)
			}
			if n, err := there.Import(t.Context(), []redact.Conversation{talk("s", "x")}); ambry.KindOf(err) != tt.want {
				t.Errorf("import: got %+v, %v; want %s", n, err, tt.want)
			}
		})
	}
}

// raw starts a listener that gives every request the same bytes.
func raw(answer string) func(*testing.T) string {
	return func(t *testing.T) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					_, _ = conn.Write([]byte(answer))
				}
				_ = conn.Close()
			}
		}()
		t.Cleanup(func() {
			_ = ln.Close()
			<-done
		})
		return "http://" + ln.Addr().String()
	}
}

func TestWrongTokenIsOurFault(t *testing.T) {
	_, base := wall(t, failing{})
	if _, err := client(t, base, "wrong").Status(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("got %v, want %s", err, ambry.UpstreamFailed)
	}
}

func TestTargetThatIsNotThere(t *testing.T) {
	want := ambry.MemoryUnavailable.Errorf("it is starting")
	there := remote.New(func() (*url.URL, string, error) { return nil, "", want }, new(net.Dialer).DialContext)
	if _, err := there.Status(t.Context()); err != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

// slow is a memory that never answers.
type slow struct {
	host.Memory
	asked chan struct{}
}

func (s slow) Search(ctx context.Context, _ ambry.Query) (ambry.Answer, error) {
	s.asked <- struct{}{}
	<-ctx.Done()
	s.asked <- struct{}{}
	return ambry.Answer{}, ctx.Err()
}

// due is a context whose time is over when a test says so.
type due struct {
	context.Context
	over chan struct{}
}

func (d due) Done() <-chan struct{} { return d.over }

func (d due) Err() error {
	select {
	case <-d.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestSlowMemory(t *testing.T) {
	m := slow{asked: make(chan struct{}, 2)}
	there, _ := wall(t, m)

	short := due{t.Context(), make(chan struct{})}
	go func() {
		<-m.asked
		close(short.over)
	}()
	_, err := there.Search(short, ambry.Query{Query: "x"})
	if ambry.KindOf(err) != ambry.MemoryTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %s", err, ambry.MemoryTimeout)
	}
	<-m.asked // it ends with the caller

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-m.asked
		cancel()
	}()
	if _, err := there.Search(ctx, ambry.Query{Query: "x"}); !errors.Is(err, context.Canceled) || ambry.KindOf(err) != ambry.Internal {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	<-m.asked
}

func TestRestartedMemoryIsAskedAnew(t *testing.T) {
	m := real(t)
	ln, err := web.Listen(t.Context())
	check(t, err)
	address := ln.Addr().String()
	there := client(t, "http://"+address, token)
	stop := serve(t, ln, m)
	for range 5 {
		_, err := there.Search(t.Context(), ambry.Query{Query: "x"})
		check(t, err)
		stop()
		ln, err = net.Listen("tcp4", address)
		check(t, err)
		stop = serve(t, ln, m)
		_, err = there.Import(t.Context(), []redact.Conversation{talk("s", "x")}) // over a connection that is closed
		check(t, err)
	}
	stop()
}

func TestClientsShareConnections(t *testing.T) {
	first, base := wall(t, real(t))
	u, err := url.Parse(base)
	check(t, err)
	_, err = first.Status(t.Context())
	check(t, err)
	calls := 0
	second := first.At(func() (*url.URL, string, error) { calls++; return u, token, nil })
	if _, err := second.Status(t.Context()); err != nil || calls != 1 {
		t.Errorf("asked %d times: %v", calls, err)
	}
}

func TestInvalidTextCrosses(t *testing.T) {
	here := real(t)
	there, _ := wall(t, here)
	n, err := there.Import(t.Context(), []redact.Conversation{talk("s", "broken \xff\xfe text \x00 with everything\u2028")})
	if err != nil || n.Added != 1 {
		t.Fatalf("imported %+v, %v", n, err)
	}
	a, err := here.Search(t.Context(), ambry.Query{Query: "broken text"})
	if err != nil || len(a.Hits) != 1 {
		t.Errorf("found %+v, %v", a.Hits, err)
	}
}

func TestUnencodableConversationIsNotAnOutage(t *testing.T) {
	there, _ := wall(t, real(t))
	c := talk("s", "x").Conversation()
	c.Session.StartedAt = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := there.Import(t.Context(), []redact.Conversation{redact.Clean(c)})
	if err == nil || ambry.KindOf(err) != ambry.Internal {
		t.Errorf("got %v, want an internal error", err)
	}
}

func TestRedactionsOfBothSidesCount(t *testing.T) {
	secret := "sk-" + "ant-" + "api03-" + strings.Repeat("Zq9x", 20) + "AA"
	there, _ := wall(t, real(t))
	n, err := there.Import(t.Context(), []redact.Conversation{talk("s", "my key is "+secret)})
	if err != nil || n.Redactions != 1 {
		t.Errorf("imported %+v, %v; want 1 redaction", n, err)
	}
}

func TestRefusalOfALongImportArrives(t *testing.T) {
	full := ambry.StorageFull.Errorf("the disk is full")
	there, _ := wall(t, failing{err: full})
	var cs []redact.Conversation
	for i := range 12 {
		cs = append(cs, talk(fmt.Sprint("s", i), strings.Repeat("text ", 200_000)))
	}
	if _, err := there.Import(t.Context(), cs); ambry.KindOf(err) != ambry.StorageFull {
		t.Errorf("got %v, want %s", err, ambry.StorageFull)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
