//go:build unix

package door

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	hooks "ambry.dev/ambry/internal/hook"
)

// world is a home with a service that answers as a test wants.
type world struct {
	*testing.T
	home string
	file ambry.RuntimeFile

	mu    sync.Mutex
	asked []string
}

func newWorld(t *testing.T, answer http.HandlerFunc) *world {
	w := &world{T: t, home: t.TempDir()}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		said, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.asked = append(w.asked, fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.URL.Query().Has("at"), " ", r.Header.Get("Content-Type"), " ", r.Header.Get(ambry.LocalTokenHeader), " ", string(said)))
		w.mu.Unlock()
		answer(rw, r)
	}))
	t.Cleanup(server.Close)
	w.file = ambry.RuntimeFile{Schema: ambry.RuntimeFileSchema, PID: os.Getpid(), StartedAt: time.Unix(1, 5), BaseURL: server.URL, LocalToken: "the-token"}
	w.write(w.file)
	if err := os.Mkdir(filepath.Join(w.home, home.HooksDir), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) write(rt ambry.RuntimeFile) {
	w.Helper()
	data, err := json.MarshalIndent(rt, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(w.home, ambry.RuntimeFileName), data, 0o600)
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wasAsked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// knock has the door answer a hook.
func (w *world) knock(said string) (out string, answered bool, left Left) {
	w.Helper()
	h, ok := of([]string{"ambry", "hook", "claude-code", "UserPromptSubmit"}, w.getenv)
	if !ok {
		w.Fatal("it is no hook")
	}
	h.patience = time.Hour // one that is slow must not be another test
	return h.knock(strings.NewReader(said))
}

func (w *world) getenv(name string) string {
	if name == home.Variable {
		return w.home
	}
	return ""
}

// wantsLeft checks that all is left to do, with all that the agent says.
func (w *world) wantsLeft(what, said string) {
	w.Helper()
	out, answered, left := w.knock(said)
	if out != "" || answered || left.Slow {
		w.Errorf("%s: %q, answered %v, slow %v", what, out, answered, left.Slow)
		return
	}
	if data, err := io.ReadAll(left.In); err != nil || string(data) != said {
		w.Errorf("%s: %v, %d bytes are left of %d", what, err, len(data), len(said))
	}
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

const prompt = `{"session_id":"s1","prompt":"when does the harbour open?"}`

func TestTheServiceAnswers(t *testing.T) {
	long := `{"context":"` + strings.Repeat(`at seven.\n`, 5000) + "\"}\n" // more than one that has its length
	w := newWorld(t, says(200, long))
	if out, answered, _ := w.knock(prompt); out != long || !answered {
		t.Errorf("%d bytes of %d, answered %v", len(out), len(long), answered)
	}
	if got, want := w.wasAsked(), []string{"POST /api/hooks/claude-code/UserPromptSubmit true application/json the-token " + prompt}; !slices.Equal(got, want) {
		t.Errorf("asked was %q, want %q", got, want)
	}
	w = newWorld(t, says(204, ""))
	if out, answered, _ := w.knock(prompt); out != "" || !answered {
		t.Errorf("nothing to say: %q, answered %v", out, answered)
	}
}

func TestWhatIsNoAnswerLeavesAll(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"of another version": says(404, `{"error":{"code":"not_found"}}`),
		"refused":            says(401, "{}\n"),
		"starting":           says(503, "{}\n"),
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusTemporaryRedirect)
		},
		"a page":     says(200, "<html>\n"),
		"two":        says(200, "{}\n{}\n"),
		"a list":     says(200, "[]\n"),
		"empty":      says(200, ""),
		"no end":     says(200, `{"context":"x"}`),
		"too much":   says(200, "{"+strings.Repeat(" ", maxAnswer)+"}\n"),
		"nothing":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"text first": says(200, "x{}\n"),
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"context":"<recalled_history`))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		w := newWorld(t, answer)
		w.wantsLeft(name, prompt)
		if len(w.wasAsked()) != 1 {
			t.Errorf("%s: asked was %q", name, w.wasAsked())
		}
	}
}

func TestTheDoorIsShut(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + ln.Addr().String()
	ln.Close()
	for name, change := range map[string]func(*world){
		"another machine": func(w *world) { w.file.BaseURL = "http://192.0.2.1:80" },
		"a name":          func(w *world) { w.file.BaseURL = "http://localhost:80" },
		"a longer name":   func(w *world) { w.file.BaseURL = "http://127.0.0.1:80@evil.example:80" },
		"no port":         func(w *world) { w.file.BaseURL = "http://127.0.0.1:0" },
		"a large port":    func(w *world) { w.file.BaseURL = "http://127.0.0.1:65536" },
		"TLS":             func(w *world) { w.file.BaseURL = strings.Replace(w.file.BaseURL, "http:", "https:", 1) },
		"a header":        func(w *world) { w.file.LocalToken = "x\r\nHost: evil.example" },
		"no token":        func(w *world) { w.file.LocalToken = "" },
		"gone":            func(w *world) { w.file.BaseURL = gone },
		"died":            func(w *world) { w.file.PID = 1 << 30 },
		"no process":      func(w *world) { w.file.PID = 0 },
		"of later":        func(w *world) { w.file.Schema++ },
		"no consent": func(w *world) {
			if err := os.Remove(filepath.Join(w.home, home.HooksDir)); err != nil {
				w.Fatal(err)
			}
		},
		"failed before": func(w *world) {
			if err := os.WriteFile(filepath.Join(w.home, home.HooksDir, breakerName), nil, 0o600); err != nil {
				w.Fatal(err)
			}
		},
	} {
		w := newWorld(t, says(204, ""))
		change(w)
		w.write(w.file)
		w.wantsLeft(name, prompt)
		if len(w.wasAsked()) > 0 {
			t.Errorf("%s: asked was %q", name, w.wasAsked())
		}
	}
	w := newWorld(t, says(204, ""))
	for name, said := range map[string]string{"nothing is said": "", "too much is said": strings.Repeat("x", maxInput+1)} {
		w.wantsLeft(name, said)
	}
	if len(w.wasAsked()) > 0 {
		t.Errorf("asked was %q", w.wasAsked())
	}
}

func TestOnlyPlainCallsAreForTheDoor(t *testing.T) {
	none := func(string) string { return "" }
	for args, want := range map[string]bool{
		"ambry hook codex Stop":                true,
		"ambry hook opencode chat.message":     true,
		"ambry hook hermes pre_llm_call":       true,
		"ambry hook codex":                     false,
		"ambry hook codex Stop more":           false,
		"ambry hook --explain codex Stop":      false,
		"ambry hook codex --help":              false,
		"ambry hook ../codex Stop":             false,
		"ambry hook codex Stop\r\nHost:evil":   false,
		"ambry hook codex ..":                  false,
		"ambry search codex Stop":              false,
		"ambry --home=/tmp hook codex Stop x":  false,
		"ambry hook codex ä":                   false,
		"ambry hook codex ?agent=x&event=Stop": false,
	} {
		if _, ok := of(strings.Split(args, " "), none); ok != want {
			t.Errorf("%q: %v", args, ok)
		}
	}
	off := func(name string) string {
		if name == hooks.Variable {
			return "off"
		}
		return ""
	}
	if _, ok := of([]string{"ambry", "hook", "codex", "Stop"}, off); ok {
		t.Error("hooks are switched off")
	}
}

// One who is silent is waited for once: what is left then is done without it.
func TestASilentServiceIsSlow(t *testing.T) {
	held := make(chan struct{})
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { <-held })
	defer close(held)
	h, _ := of([]string{"ambry", "hook", "codex", "Stop"}, w.getenv)
	s, ok := h.find()
	if !ok {
		t.Fatal("the service is not found")
	}
	c, err := Dial(s.port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	h.patience = time.Millisecond
	if out, answered, slow := h.ask(c, s, []byte(prompt), time.Now()); out != "" || answered || !slow {
		t.Errorf("%q, answered %v, slow %v", out, answered, slow)
	}
}

func TestAServiceMaySayThatItIsSlow(t *testing.T) {
	w := newWorld(t, says(504, `{"error":{"code":"memory_timeout"}}`))
	before := time.Now()
	if out, answered, left := w.knock(prompt); out != "" || answered || !left.Slow || left.At.Before(before) {
		t.Errorf("%q, answered %v, slow %v, at %v", out, answered, left.Slow, left.At)
	}
}

func TestAnAgentThatNeverEndsIsLeft(t *testing.T) {
	from, to := io.Pipe()
	in := listen(from)
	if data, ok := in.said(time.Now()); ok {
		t.Errorf("got %q", data)
	}
	go func() {
		_, _ = to.Write([]byte(prompt))
		to.Close()
	}()
	if data, err := io.ReadAll(in); err != nil || string(data) != prompt {
		t.Errorf("%v, %q", err, data)
	}
}

// The door imports nothing of ours, so it repeats what it has to know.
func TestTheDoorKnowsTheHouse(t *testing.T) {
	for got, want := range map[string]string{
		homeVariable: home.Variable, offVariable: hooks.Variable, hooksDir: home.HooksDir, runtimeName: ambry.RuntimeFileName,
		tokenHeader: ambry.LocalTokenHeader, schema: fmt.Sprint(ambry.RuntimeFileSchema), breakerName: hooks.BreakerFile,
	} {
		if got != want {
			t.Errorf("%s is %s", got, want)
		}
	}
	dir, err := home.Default(func(string) string { return "" }, func() (string, error) { return "/home/ada", nil })
	if err != nil || filepath.Base(dir) != homeName {
		t.Errorf("%v, our files are in %s", err, dir)
	}
}

func FuzzParse(f *testing.F) {
	data, err := json.MarshalIndent(ambry.RuntimeFile{Schema: ambry.RuntimeFileSchema, PID: 7, BaseURL: "http://127.0.0.1:80", LocalToken: "x"}, "", "  ")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add(`{"schema":1,"pid":7,"baseUrl":"http://127.0.0.1:80","localToken":"a\"b"}`)
	f.Add(`{"schema":1,"pid":"7`)
	f.Fuzz(func(t *testing.T, data string) {
		s, ok := parse(data)
		if ok && (s.pid <= 0 || s.port <= 0 || s.port > 65535 || s.token == "" || strings.ContainsAny(s.token, " \r\n\"")) {
			t.Fatalf("%q is %+v", data, s)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"context\":\"x\"}\n")
	f.Add("HTTP/1.1 204 No Content\r\n\r\n")
	f.Add("HTTP/1.1 20")
	f.Add("SSH-2.0-x\r\n\r\n{}")
	f.Fuzz(func(t *testing.T, data string) {
		out, ok, _ := answer(data)
		if ok && (!strings.HasPrefix(data, "HTTP/1.") || !strings.HasSuffix(data, out) || out != "" && (out[0] != '{' || strings.Count(out, "\n") != 1)) {
			t.Fatalf("%q is answered with %q", data, out)
		}
	})
}
