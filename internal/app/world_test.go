package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// patience is how long a test waits for what is about to happen.
const patience = time.Minute

// running is a whole service but for the memory runtime, which is the test's.
type running struct {
	*client.Client
	t    *testing.T
	file ambry.RuntimeFile
	stop func()
}

// serveIn runs a service in a home directory, with the memory runtime at
// memoryURL, until the test ends or stop is called.
func serveIn(t *testing.T, dir, memoryURL string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, Options{
			Home: filepath.Join(dir, ".ambry"), UserHome: dir, Version: "test", Stdout: io.Discard, Stderr: t.Output(),
			Settings: map[string]string{"memory.url": memoryURL, "secret.store": "file"},
		})
	}()
	r := &running{t: t}
	r.stop = sync.OnceFunc(func() {
		if r.Client != nil {
			r.Close()
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	r.eventually("the service answers", func() bool {
		c, rt, err := client.Find(ctx, filepath.Join(dir, ".ambry"))
		if err == nil {
			r.Client, r.file = c, rt
		}
		return err == nil
	})
	return r
}

func (r *running) eventually(what string, f func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("it never happened that %s", what)
		}
	}
}

func (r *running) bootstrap() ambry.Bootstrap {
	r.t.Helper()
	b, err := r.Bootstrap(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// changes follows the settings.changed events of a service.
func (r *running) changes() <-chan ambry.SettingsChanged {
	all := make(chan ambry.SettingsChanged, 1000)
	opened := make(chan struct{})
	go func() {
		defer close(all)
		for e, err := range r.Events(r.t.Context(), "") {
			if err != nil {
				return
			}
			switch e.Type {
			case ambry.AppConnected{}.Topic():
				close(opened)
			case ambry.SettingsChanged{}.Topic():
				var c ambry.SettingsChanged
				if json.Unmarshal(e.Payload, &c) == nil {
					all <- c
				}
			}
		}
	}()
	<-opened
	return all
}

// next returns the next change.
func next(t *testing.T, changes <-chan ambry.SettingsChanged) ambry.SettingsChanged {
	t.Helper()
	select {
	case c := <-changes:
		return c
	case <-time.After(patience):
		t.Fatal("no change of the settings is told")
	}
	return ambry.SettingsChanged{}
}

// memoryElsewhere is a memory runtime at some address.
type memoryElsewhere struct {
	*httptest.Server
	connections atomic.Int32 // accepted so far
	open        atomic.Int32
	imports     atomic.Int32
}

// memoryAt serves a memory runtime on an address of this machine.
func memoryAt(t *testing.T, ip string) *memoryElsewhere {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	m := &memoryElsewhere{}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/health", func(w http.ResponseWriter, _ *http.Request) { answer(w, ambry.MemoryHealth{OK: true}) })
	mux.HandleFunc("POST /api/v1/memory/search", func(w http.ResponseWriter, _ *http.Request) { answer(w, ambry.Answer{}) })
	mux.HandleFunc("POST /api/v1/memory/import", func(w http.ResponseWriter, r *http.Request) {
		m.imports.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, ambry.Imported{Turns: 1, Added: 1})
	})
	m.Server = httptest.NewUnstartedServer(mux)
	m.Listener.Close()
	m.Listener = ln
	m.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			m.connections.Add(1)
			m.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			m.open.Add(-1)
		}
	}
	m.Start()
	t.Cleanup(m.Close)
	return m
}

// outsideAddress returns an address of this machine that is not loopback: to
// the dialer it is as far away as any other.
func outsideAddress(t *testing.T) string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback: nothing that could be called from outside")
	return ""
}

// say writes a history of Codex's into a home directory.
func say(t *testing.T, dir, text string) {
	t.Helper()
	file := filepath.Join(dir, ".codex", "sessions", "2026", "05", "01", "rollout-2026-05-01T10-00-00-5e551011-0000-4000-8000-000000000001.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(f, strings.ReplaceAll(`{"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":"5e551011-0000-4000-8000-000000000001","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/srv/tidewatch","originator":"codex_cli_rs","cli_version":"0.50.0"}}
{"timestamp":"2026-05-01T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"TEXT"}]}}
{"timestamp":"2026-05-01T10:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"TEXT, done"}]}}
`, "TEXT", text))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }

// each calls f with every file below a directory.
func each(t *testing.T, dir string, f func(path string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		f(path, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
