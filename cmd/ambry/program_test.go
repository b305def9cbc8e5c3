package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestNumbersAreReadable(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := count(n); got != want {
			t.Errorf("count %d: got %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1_949_999: "1.9 MB", 999_960: "1.0 MB", 7_300_000_000: "7.3 GB", 1 << 62: "4611.7 PB"} {
		if got := size(n); got != want {
			t.Errorf("size %d: got %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", 61 * time.Second: "1 min ago", 3 * time.Hour: "3 h ago", 49 * time.Hour: "2 days ago",
	} {
		if got := ago(day.Add(-d), day); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestTilde(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	for path, want := range map[string]string{
		dir: "~", filepath.Join(dir, "x"): "~" + string(filepath.Separator) + "x", dir + "x": dir + "x", "": "",
	} {
		if got := tilde(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}

// each calls f with every command of the tree, also the hidden ones.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, f)
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	commands := 0
	each((&program{}).root(), func(cmd *cobra.Command) {
		commands++
		path := cmd.CommandPath()
		if cmd.Short == "" || cmd.Long == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: wants a short text without a full stop, and a long one", path)
		}
		if cmd.Example == "" && !cmd.Hidden {
			t.Errorf("%s: wants an example", path)
		}
		for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
			if len(line) > 90 {
				t.Errorf("%s: a line of %d characters", path, len(line))
			}
		}
		if cmd.Runnable() && cmd.Args == nil {
			t.Errorf("%s: does not say which arguments it takes", path)
		}
	})
	if commands < 10 {
		t.Errorf("only %d commands were seen", commands)
	}
}

func TestCalledWrongly(t *testing.T) {
	for _, args := range [][]string{{"serach"}, {"--nope"}, {"status", "now"}, {"serve", "--set", "x"}, {"mcp", "x"}, {"version", "x"}} {
		got := ambryIn(t, t.TempDir(), args...)
		if got.code != exitUsage || !strings.Contains(got.err, `hint: "ambry --help"`) || got.out != "" {
			t.Errorf("%q: got %+v", args, got)
		}
	}
	ambryIn(t, t.TempDir(), "serach").check(t, 2, "search")
}

func TestHelpAndVersion(t *testing.T) {
	ambryWith(t.Context(), t, "").check(t, 0, "Usage:", "Exit codes:", "AMBRY_HOME")
	ambryWith(t.Context(), t, "", "help", "scan").check(t, 0, "--allow", "Examples:")
	ambryWith(t.Context(), t, "", "--version").check(t, 0, "ambry version dev")
	ambryWith(t.Context(), t, "", "version").check(t, 0, "ambry dev (go")
	ambryWith(t.Context(), t, "", "version", "--json").check(t, 0, `"version": "dev"`)
	ambryWith(t.Context(), t, "", "completion", "bash").check(t, 0, "__ambry")
	ambryWith(t.Context(), t, "", "__complete", "scan", "--mode", "").check(t, 0, "initial_subset")
}

func TestAHomeThatOthersWriteInIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	ambryIn(t, dir, "search", "x").check(t, 1, "chmod 700")
}
