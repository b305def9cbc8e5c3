package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
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
