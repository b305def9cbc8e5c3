//go:build unix

package skill_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/state"
)

// childVariable makes the test program a child that writes or disturbs: what it
// does, in words.
const childVariable = "AMBRY_SKILL_TEST_CHILD"

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(childVariable))
	switch {
	case len(words) == 0:
		os.Exit(m.Run())
	case words[0] == "disturb":
		disturb(words[1], words[2])
	default:
		child(words[0], words[1], words[2], words[3])
	}
}

func startChild(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join(words, " "))
	cmd.Stderr = os.Stderr
	return cmd
}

type nobody struct{}

func (nobody) Publish(ambry.Payload) ambry.Event { return ambry.Event{} }

// child installs or removes both parts. When it asks for the time for the n-th
// time, which it does before every file and every record, it is no more.
func child(what, id, dir, at string) {
	n, _ := strconv.Atoi(at)
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	}
	h, err := home.Open(filepath.Join(dir, ".ambry"))
	fail(err)
	db, err := state.Open(context.Background(), h)
	fail(err)
	s := newSkills(new(testing.B), dir, db, nobody{})
	now := s.Now
	s.Now = func() time.Time {
		if n--; n == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return now()
	}
	if what == "install" {
		for _, part := range parts {
			_, err = s.Install(context.Background(), id, part, false)
			fail(err)
		}
		os.Exit(0)
	}
	for _, part := range slices.Backward(parts) {
		_, err = s.Remove(context.Background(), id, part, false)
		fail(err)
	}
	os.Exit(0)
}

// states are how a home is with nothing, with the skill, and with both.
type states struct {
	files  [3]map[string]string
	status [3]ambry.SourceStatus
}

func (s states) of(files map[string]string) int {
	for i, f := range s.files {
		if cmp.Equal(f, files) {
			return i
		}
	}
	return -1
}

// learn takes the states of a home, and leaves it as it is.
func (w *world) learn(id string) (s states) {
	w.t.Helper()
	for i := range 3 {
		if i > 0 {
			w.install(id, parts[i-1])
		}
		s.files[i], s.status[i] = w.files(), w.status(id)
	}
	return s
}

// Wherever it was killed, after the next start all of a part is written or
// nothing of it, and everything can still be taken out.
func TestKilledInTheMiddle(t *testing.T) {
	point := 0
	for dir, id := range homes(t) {
		for _, what := range []string{"install", "remove"} {
			point++
			at := point%9 + 1
			t.Run(filepath.Base(dir)+"/"+what, func(t *testing.T) {
				t.Parallel()
				killed(t, dir, id, what, at)
			})
		}
	}
}

// At each of the points, in one home of many files.
func TestKilledAtEachPoint(t *testing.T) {
	for _, what := range []string{"install", "remove"} {
		for point := 1; point < 30; point++ {
			done := false
			t.Run(fmt.Sprint(what, point), func(t *testing.T) {
				done = killed(t, "testdata/homes/claude_code--plain", "claude_code", what, point)
			})
			if done {
				break
			}
		}
	}
}

// killed reports whether the child came to its end before it was killed.
func killed(t *testing.T, dir, id, what string, point int) bool {
	w := homeWorld(t, dir)
	known := w.learn(id)
	if what == "install" {
		w.remove(id, ambry.Plugin)
		w.remove(id, ambry.SkillText)
	}
	w.db.Close()
	err := startChild(t, what, id, w.dir, strconv.Itoa(point)).Run()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatal(err)
	}
	w.check(w.files()) // also before the next start everything can be parsed
	w.open()
	i := known.of(w.files())
	if i < 0 {
		t.Fatalf("after a kill at %d something is half done:\n%s", point, cmp.Diff(known.files[0], w.files()))
	}
	if got := w.status(id); got != known.status[i] {
		t.Errorf("the status is %s, the files are those of %s", got, known.status[i])
	}
	for _, part := range parts {
		w.remove(id, part)
	}
	if diff := cmp.Diff(known.files[0], w.files()); diff != "" {
		t.Errorf("after removal:\n%s", diff)
	}
	return err == nil
}

// Killed at any moment, such as between the two names of one file.
func TestKilledAtAnyMoment(t *testing.T) {
	const dir, id = "testdata/homes/opencode--jsonc", "opencode"
	for n := range 12 {
		w := homeWorld(t, dir)
		known := w.learn(id)
		for _, part := range parts {
			w.remove(id, part)
		}
		w.db.Close()
		cmd := startChild(t, "install", id, w.dir, "0")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(n*5) * time.Millisecond) // whatever it has done by then is right
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		w.check(w.files())
		w.open()
		if known.of(w.files()) < 0 {
			t.Errorf("something is half done:\n%s", cmp.Diff(known.files[0], w.files()))
		}
	}
}

// disturb writes a number into a file over and over, as programs do that keep
// their state in it, until its standard input ends. It fails when what it wrote
// before is not there any more.
func disturb(file, how string) {
	const before, after = `"startups": `, ",\n"
	stop := make(chan struct{})
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		close(stop)
	}()
	for n := 1; ; n++ {
		select {
		case <-stop:
			fmt.Println(n)
			os.Exit(0)
		default:
		}
		data, err := os.ReadFile(file)
		text := string(data)
		from := strings.Index(text, before)
		to := from + strings.Index(text[max(from, 0):], after)
		if err != nil || from < 0 || n > 1 && text[from+len(before):to] != strconv.Itoa(n-1) {
			fmt.Fprintf(os.Stderr, "write %d was lost: %v\n%s\n", n-1, err, text)
			os.Exit(1)
		}
		text = text[:from+len(before)] + strconv.Itoa(n) + text[to:]
		if how == "rename" {
			if err = os.WriteFile(file+".tmp", []byte(text), 0o600); err == nil {
				err = os.Rename(file+".tmp", file)
			}
		} else {
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Another program writes the same file all the time. None of its writes is lost,
// however it writes.
func TestConcurrentWritersLoseNothing(t *testing.T) {
	for _, how := range []string{"rename", "in place"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, map[string]string{".claude.json": "{\n  \"startups\": 0,\n  \"mcpServers\": {}\n}\n", ".claude/x": ""})
			other := startChild(t, "disturb", filepath.Join(w.dir, ".claude.json"), strings.Fields(how)[0])
			stdin, err := other.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			busy := 0
			for range 15 {
				if _, err := w.Install(t.Context(), "claude_code", ambry.Plugin, false); err != nil {
					busy++
				}
				if _, err := w.Remove(t.Context(), "claude_code", ambry.Plugin, false); err != nil {
					busy++
				}
			}
			stdin.Close()
			if err := other.Wait(); err != nil {
				t.Errorf("the other program: %v", err)
			}
			t.Logf("%d of 30 gave up since the file was busy", busy)
			w.check(map[string]string{".claude.json": ""})
			w.remove("claude_code", ambry.Plugin)
			if got := w.get(".claude.json"); strings.Contains(got, "ambry") {
				t.Errorf("ours is still there:\n%s", got)
			}
		})
	}
}
