package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"ambry.dev/ambry/client"
)

// ready waits until the service and its memory answer, and sets $URL, and the
// process ids $SERVICE and (on Linux) $MEMORY.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: ready")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var c *client.Client
	err := poll(ctx, func() bool {
		found, rt, err := client.Find(ctx, ts.Getenv("AMBRY"))
		if err != nil {
			return false
		}
		c = found
		ts.Setenv("URL", rt.BaseURL)
		ts.Setenv("SERVICE", strconv.Itoa(rt.PID))
		return true
	})
	if err != nil {
		ts.Fatalf("no service: %v", err)
	}
	defer c.Close()
	ts.Check(c.WaitMemory(ctx))
	pid, err := strconv.Atoi(ts.Getenv("SERVICE"))
	ts.Check(err)
	ts.Setenv("MEMORY", strconv.Itoa(child(pid, "memory")))
}

// until runs a command again and again until it succeeds and says what the
// pattern matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until pattern command [args...]")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	err = poll(ctx, func() bool {
		out.Reset()
		errs.Reset()
		cmd := command(ts, args[1], args[2:]...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		return cmd.Run() == nil && pattern.Match(out.Bytes())
	})
	_, _ = out.WriteTo(ts.Stdout())
	_, _ = errs.WriteTo(ts.Stderr())
	if err != nil {
		ts.Fatalf("it never said %q", args[0])
	}
}

// command is a program in the environment of the script.
func command(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = ts.Getenv("WORK")
	for _, v := range []string{"PATH", "WORK", "HOME", "USERPROFILE", "AMBRY_HOME", "TMPDIR", "TMP", "SYSTEMROOT", "CLAUDE_CODE_SESSION_ID"} {
		if value := ts.Getenv(v); value != "" {
			cmd.Env = append(cmd.Env, v+"="+value)
		}
	}
	return cmd
}

// capture sets a variable to the first group of a pattern in what was said last.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture VARIABLE pattern")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) < 2 {
		ts.Fatalf("%q is not in what was said", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// signal sends a signal to a process.
func signal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || signals[args[0]] == nil {
		ts.Fatalf("usage: signal TERM|INT|HUP|KILL pid")
	}
	pid, err := strconv.Atoi(args[1])
	if err != nil || pid <= 1 {
		ts.Fatalf("%q is no process", args[1])
	}
	ts.Check(sendSignal(pid, signals[args[0]]))
}

// gone waits until a process has ended.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] gone pid")
	}
	pid, err := strconv.Atoi(args[0])
	ts.Check(err)
	if neg {
		if dead(pid) {
			ts.Fatalf("process %d has ended", pid)
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ts.Check(waitGone(ctx, pid))
}

func waitGone(ctx context.Context, pid int) error {
	if err := poll(ctx, func() bool { return dead(pid) }); err != nil {
		return fmt.Errorf("process %d goes on: %w", pid, err)
	}
	return nil
}

// countServices waits until so many services of the script are running.
func countServices(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: services number")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if poll(ctx, func() bool { return services(ts.Getenv("WORK")) == want }) != nil {
		ts.Fatalf("%d services are running, want %d", services(ts.Getenv("WORK")), want)
	}
}

// shape checks that the JSON that was said last has at least the members of a
// file, with their types, a line each: ".hits[].id string". An empty list has
// the line ".hits[]" alone.
func shape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shape file")
	}
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	found := map[string]bool{}
	outline("", doc, found)
	for want := range strings.Lines(ts.ReadFile(args[0])) {
		if want = strings.TrimSpace(want); !found[want] {
			ts.Fatalf("%s is missing; there are\n%s", want, strings.Join(slices.Sorted(maps.Keys(found)), "\n"))
		}
	}
}

func outline(path string, v any, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			outline(path+"."+name, member, found)
		}
	case []any:
		found[path+"[]"] = true
		for _, member := range v {
			outline(path+"[]", member, found)
		}
	case nil:
		found[path+" null"] = true
	case float64:
		found[path+" number"] = true
	default:
		found[fmt.Sprintf("%s %T", path, v)] = true
	}
}

// absent fails if a text stands anywhere in the files of a directory, in their
// names or in any of their bytes.
func absent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] absent text directory")
	}
	files, hits := 0, []string{}
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(args[0])) || strings.Contains(path, args[0]) {
			hits = append(hits, path)
		}
		return err
	}))
	switch {
	case files == 0:
		ts.Fatalf("there are no files in %s", args[1])
	case neg && len(hits) == 0:
		ts.Fatalf("it is in none of %d files", files)
	case !neg && len(hits) > 0:
		ts.Fatalf("it is in %q", hits)
	}
}
