//go:build agents

package agents

import (
	"bytes"
	"context"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry/client"
	"ambry.dev/ambry/e2e/stubmodel"
)

var program string // the built ambry

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ambry-agents")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "ambry")
	build := exec.Command("go", "build", "-o", program, "ambry.dev/ambry/cmd/ambry")
	if out, err := build.CombinedOutput(); err != nil {
		log.Printf("build ambry: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience is how long an agent may take. Most take a second or two when the
// machine is idle, OpenClaw half a minute.
const patience = 6 * time.Minute

// world is the home directory of a person who uses several agents.
type world struct {
	t       *testing.T
	home    string
	project string
	model   *stubmodel.Model
	url     string // of the model
	memory  *client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir(), model: &stubmodel.Model{}}
	server := httptest.NewServer(w.model)
	t.Cleanup(server.Close)
	w.url = server.URL
	w.project = filepath.Join(w.home, "shop")
	w.write("shop/README.md", "# A shop\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.email=a@example.com", "-c", "user.name=A", "commit", "-qm", "begin"}} {
		w.must(w.command("git", args...))
	}
	serve := w.commandWithin(context.WithoutCancel(t.Context()), program, "serve")
	serve.Stderr = t.Output()
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		_ = serve.Wait() // it was interrupted
	})
	w.until("the service answers", func() bool {
		c, _, err := client.Find(t.Context(), filepath.Join(w.home, ".ambry"))
		w.memory = c
		return err == nil
	})
	t.Cleanup(w.memory.Close)
	if err := w.memory.WaitMemory(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// command is a program in the person's project, for as long as an agent may take.
func (w *world) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	return w.commandWithin(ctx, name, args...)
}

func (w *world) commandWithin(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = w.project
	cmd.Env = []string{
		"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "TMPDIR=" + w.t.TempDir(), "LANG=C.UTF-8",
		"NO_COLOR=1", "CI=1", "DO_NOT_TRACK=1", "DISABLE_TELEMETRY=1",
	}
	return cmd
}

// must runs a command that has to succeed, and returns what it said.
func (w *world) must(cmd *exec.Cmd) string {
	w.t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%s", filepath.Base(cmd.Path), strings.Join(cmd.Args[1:], " "), err, tail(out.String()))
	}
	return out.String()
}

func tail(s string) string {
	if len(s) > 4000 {
		s = s[len(s)-4000:]
	}
	return s
}

func (w *world) write(path, text string) {
	w.t.Helper()
	path = filepath.Join(w.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// until waits for something that is about to happen.
func (w *world) until(what string, f func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	for !f() {
		select {
		case <-ctx.Done():
			w.t.Fatalf("it never happened that %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// files are the contents of all files below the directories of an agent.
func (w *world) files(dirs ...string) map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		_ = filepath.WalkDir(filepath.Join(w.home, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // there is none
			}
			data, err := os.ReadFile(path)
			all[strings.TrimPrefix(path, w.home)] = string(data)
			return err
		})
	}
	return all
}
