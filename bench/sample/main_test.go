package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const noon = "2026-11-27T12:00:00Z"

// write runs the command and returns the files by name.
func write(t *testing.T, dir string) map[string]string {
	t.Helper()
	if err := run([]string{"-out", dir, "-now", noon}, io.Discard); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTheSameTimeGivesTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	first, again, elsewhere := write(t, dir), write(t, dir), write(t, t.TempDir())
	if len(first) < 40 {
		t.Fatalf("got %d files, want one for each session", len(first))
	}
	if !maps.Equal(first, again) || !maps.Equal(first, elsewhere) {
		t.Error("two runs wrote different files")
	}
}

func TestEveryLineIsAnObjectInOrder(t *testing.T) {
	now, _ := time.Parse(time.RFC3339, noon)
	lines := 0
	for name, text := range write(t, t.TempDir()) {
		if !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		last := time.Time{}
		for at := bufio.NewScanner(bytes.NewBufferString(text)); at.Scan(); lines++ {
			var row struct{ Timestamp time.Time }
			if err := json.Unmarshal(at.Bytes(), &row); err != nil {
				t.Fatalf("%s: %v: %s", name, err, at.Text())
			}
			if row.Timestamp.IsZero() {
				continue
			}
			if row.Timestamp.Before(last) || row.Timestamp.After(now) {
				t.Errorf("%s: %v after %v, now is %v", name, row.Timestamp, last, now)
			}
			last = row.Timestamp
		}
	}
	if lines < 500 {
		t.Errorf("got %d lines, want a few hundred at least", lines)
	}
}

func TestWhatPeopleSearchForIsThere(t *testing.T) {
	files := write(t, t.TempDir())
	all := strings.Join(slices.Collect(maps.Values(files)), "")
	for _, want := range []string{
		"Why did the nightly backup fail?", "killed by the OOM killer", "超卖", "SKIP LOCKED", secret(),
		`"isSidechain":true`, `"agentId":`, "compact_boundary", `"is_error":true`, "apply_patch", "archived",
	} {
		if !strings.Contains(all, want) && !slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(name string) bool { return strings.Contains(name, want) }) {
			t.Errorf("%q is nowhere in the sample", want)
		}
	}
	if strings.Contains(all, "{secret}") || strings.Contains(all, "{day") || strings.Contains(all, "{date") {
		t.Error("a placeholder was left")
	}
}

func TestCallsAndResultsArePaired(t *testing.T) {
	calls := 0
	for name, text := range write(t, t.TempDir()) {
		for _, pair := range []struct{ call, result string }{
			{`"type":"tool_use"`, `"type":"tool_result"`},
			{`"type":"function_call"`, `"type":"function_call_output"`},
			{`"type":"custom_tool_call"`, `"type":"custom_tool_call_output"`},
		} {
			got, want := strings.Count(text, pair.result), strings.Count(text, pair.call)
			calls += want
			if got != want {
				t.Errorf("%s: %d of %s, %d of %s", name, want, pair.call, got, pair.result)
			}
		}
	}
	if calls < 100 {
		t.Errorf("got %d calls of tools, want a hundred at least", calls)
	}
}

func TestForeignDirectoriesAreNotEmptied(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-out", dir}, io.Discard); err == nil {
		t.Error("a directory with a foreign file was accepted")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestBadStoriesAreTold(t *testing.T) {
	const header = "=== claude 1d 10:00 main Title\n"
	cases := map[string]string{
		"a step before a session": "> hello\n",
		"an unknown agent":        "=== emacs 1d 10:00 main Title\n> a\n< b\n",
		"no days":                 "=== claude x 10:00 main Title\n> a\n< b\n",
		"no time":                 "=== claude 1d noon main Title\n> a\n< b\n",
		"no mark":                 header + "> a\nhello\n< b\n",
		"a bad exit code":         header + "> a\n$ ls\n! one\n< b\n",
		"no person":               header + "< b\n",
		"no answer":               header + "> a\n$ ls\n",
		"an empty sub-agent":      header + "> a\n& look\n< b\n",
		"a sub-agent of Codex":    strings.Replace(header, "claude", "codex", 1) + "> a\n& look\n  > a\n  < b\n< b\n",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(text, time.Now()); err == nil {
				t.Error("it was accepted")
			}
		})
	}
}
