package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

func TestHookNeverFails(t *testing.T) {
	home := t.TempDir()
	for _, args := range [][]string{
		{"hook"},
		{"hook", "claude-code"},
		{"hook", "claude-code", "UserPromptSubmit"},
		{"hook", "claude-code", "UserPromptSubmit", "too", "many"},
		{"hook", "nobody", "Nothing"},
		{"hook", "--no-such-flag", "claude-code", "Stop"},
		{"hook", "--home"},
		{"hook", "--home=/no/such/home", "claude-code", "Stop"},
		{"hook", "--json", "codex", "Stop"},
		{"--home", home, "hook", "codex", "Stop"},
		{"--json", "hook", "codex", "--wrong"},
	} {
		for name, in := range map[string]io.Reader{"nothing": strings.NewReader(""), "noise": strings.NewReader("{{{")} {
			var out, errs bytes.Buffer
			code := run(t.Context(), args, func(string) string { return "" }, stdio{in, &out, &errs})
			if code != 0 || out.Len() > 0 || errs.Len() > 0 {
				t.Errorf("%v with %s: code %d, %q, %q", args, name, code, &out, &errs)
			}
		}
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"hook", "--help"}, func(string) string { return "" }, stdio{strings.NewReader(""), &out, &errs}); code != 0 || !strings.Contains(out.String(), "AGENT EVENT") {
		t.Errorf("help: code %d, %q", code, &out)
	}
	out.Reset()
	run(t.Context(), []string{"hook", "--explain", "--home", home, "codex", "Stop"}, func(string) string { return "" }, stdio{strings.NewReader("{}"), &out, &errs})
	if !strings.Contains(errs.String(), "no consent") {
		t.Errorf("explained was %q", &errs)
	}
}

// An agent waits for a process of a hook: it must not wait until all that Ambry
// can do is made ready. The program of these tests imports what ambry does.
func TestAHookIsAnsweredFirst(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets need package net on Windows, so the hook has to wait for it")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "hook", "--explain", "--home", t.TempDir(), "codex", "Stop")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("{}"), &out, &errs
	if err := cmd.Run(); err != nil || out.Len() > 0 || !strings.Contains(errs.String(), "no consent") {
		t.Fatalf("%v: %q, %s", err, &out, &errs)
	}
	if !strings.Contains(errs.String(), "init ambry.dev/ambry/internal/hook @") {
		t.Fatalf("it is not said what was made ready: %s", &errs)
	}
	for _, heavy := range []string{"net", "net/http", "crypto/tls", "modernc.org/libc", "github.com/danielgtaylor/huma/v2", "ambry.dev/ambry/internal/app", "ambry.dev/ambry/cmd/ambry"} {
		if strings.Contains(errs.String(), "init "+heavy+" @") {
			t.Errorf("a hook waits for %s", heavy)
		}
	}
}

// While the service runs it does what there is to do: then a hook waits for hardly
// anything of the program.
func TestAHookIsHandedToTheService(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets need package net on Windows, so the hook has to wait for it")
	}
	const answer = "{\"context\":\"at seven\"}\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	defer server.Close()
	home := t.TempDir()
	data, err := json.Marshal(ambry.RuntimeFile{Schema: ambry.RuntimeFileSchema, PID: os.Getpid(), BaseURL: server.URL, LocalToken: "the-token"})
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ambry.RuntimeFileName), data, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(home, "hooks"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "hook", "opencode", "chat.message")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "AMBRY_HOME="+home, "AMBRY_HOOKS=")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("{}"), &out, &errs
	if err := cmd.Run(); err != nil || out.String() != answer {
		t.Fatalf("%v: %q, %s", err, &out, &errs)
	}
	for _, heavy := range []string{"unicode", "reflect", "crypto/sha256", "encoding/gob", "encoding/json", "regexp", "ambry.dev/ambry/internal/hook"} {
		if strings.Contains(errs.String(), "init "+heavy+" @") {
			t.Errorf("a hook waits for %s", heavy)
		}
	}
}
