//go:build faults && linux

package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to look into the files when nobody has them open

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// ambryPath is the program, and carelessPath one that does not wait for the disk.
var ambryPath, carelessPath string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ambry-faults")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(dir)
	ambryPath, carelessPath = filepath.Join(dir, "ambry"), filepath.Join(dir, "careless")
	for path, flags := range map[string]string{
		ambryPath:    "",
		carelessPath: "-X ambry.dev/ambry/internal/memory/store.synchronous=OFF",
	} {
		build := exec.Command("go", "build", "-ldflags", flags, "-o", path, "ambry.dev/ambry/cmd/ambry")
		if out, err := build.CombinedOutput(); err != nil {
			log.Printf("build ambry: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// times is how often something is tried: quick, or long when the person asked
// for hours, or as often as they said.
func times(quick, long int) int {
	asked := os.Getenv("AMBRY_FAULTS")
	if asked == "long" {
		return long
	}
	if n, err := strconv.Atoi(asked); err == nil && n > 0 {
		return n
	}
	return quick
}

// needRoot skips tests of what only root can do.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount disks and make control groups")
	}
}

// needDisks skips tests that mount disks where root cannot: in most containers.
func needDisks(t *testing.T) {
	t.Helper()
	needRoot(t)
	if err := mountable(); err != nil {
		t.Skip("no disk can be mounted here: ", err)
	}
}

// mountable tries to mount a disk that is a file.
var mountable = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "ambry-faults-mount")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	disk := filepath.Join(dir, "disk")
	if err := os.WriteFile(disk, make([]byte, 1<<20), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", disk}, {"mount", "-o", "loop", disk, dir}, {"umount", dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", args[0], err, out)
		}
	}
	return nil
})

// needStrace skips tests that have calls of the runtime recorded, or fail.
func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which records calls and makes them fail, is not installed")
	}
}

// command runs a program of the system; that it fails ends the test.
func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// patience is how long anything is waited for that is about to happen.
const patience = 60 * time.Second

// service is a running ambry.
type service struct {
	*client.Client
	t    *testing.T
	cmd  *exec.Cmd
	home string // AMBRY_HOME
	said said
}

// said is what a service wrote, in a file: a pipe would be held open by whatever
// outlives it.
type said struct{ path string }

func (s said) String() string {
	data, _ := os.ReadFile(s.path)
	return string(data)
}

// start starts the service and waits until its memory answers.
func start(t *testing.T, binary, home string) *service {
	t.Helper()
	s := launch(t, binary, home)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.WaitMemory(ctx); err != nil {
		t.Fatalf("the memory does not start: %v\n%s", err, s.said)
	}
	return s
}

// launch starts the service and waits until that answers.
func launch(t *testing.T, binary, home string) *service {
	t.Helper()
	s := prepare(t, binary, home)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	until(t, "the service answers", func() bool {
		c, rt, err := client.Find(t.Context(), home)
		if err != nil || rt.PID != s.cmd.Process.Pid {
			return false
		}
		s.Client = c
		return true
	})
	return s
}

// prepare returns a service that is not started yet.
func prepare(t *testing.T, binary, home string) *service {
	t.Helper()
	s := &service{t: t, home: home, cmd: exec.Command(binary, "serve", "--home", home)}
	person := filepath.Join(t.TempDir(), "person")
	if err := os.MkdirAll(person, 0o700); err != nil {
		t.Fatal(err)
	}
	s.cmd.Env = []string{"HOME=" + person, "PATH=" + os.Getenv("PATH")}
	s.said = said{filepath.Join(filepath.Dir(person), "said")}
	errors, err := os.Create(s.said.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { errors.Close() })
	s.cmd.Stderr = errors
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return s
}

// until waits for something.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// signal sends a signal to both processes.
func (s *service) signal(sig syscall.Signal) { _ = syscall.Kill(-s.cmd.Process.Pid, sig) }

// kill ends both processes at once. It may be called again.
func (s *service) kill() {
	runtime := s.runtime()
	s.signal(syscall.SIGCONT)
	s.signal(syscall.SIGKILL)
	_ = s.cmd.Wait()
	if runtime != 0 { // it must not outlive the service
		_ = syscall.Kill(runtime, syscall.SIGCONT)
		until(s.t, "the runtime is gone", func() bool { return syscall.Kill(runtime, 0) != nil })
	}
	if s.Client != nil {
		s.Close()
	}
}

// stop ends the service as a person does.
func (s *service) stop() {
	s.t.Helper()
	_ = s.cmd.Process.Signal(os.Interrupt)
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(patience):
		s.t.Fatal("the service does not stop")
	}
	s.Close()
}

// runtime returns the process of the memory, 0 if there is none.
func (s *service) runtime() int {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
	for _, task := range tasks {
		data, _ := os.ReadFile(task)
		for _, field := range strings.Fields(string(data)) {
			pid, _ := strconv.Atoi(field)
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if strings.Contains(string(line), "\x00memory") {
				return pid
			}
		}
	}
	return 0
}

// killRuntime kills the process of the memory, if there is one just now.
func (s *service) killRuntime() {
	if pid := s.runtime(); pid != 0 { // 0 would be ourselves
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// usage is what the system knows of a process.
type usage struct {
	cpu     time.Duration
	rss     int64 // bytes that are its own
	files   int
	threads int64
}

func usageOf(pid int) (u usage) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, after, ok := strings.Cut(string(stat), ") "); ok {
		for _, f := range strings.Fields(after)[11:13] {
			n, _ := strconv.ParseInt(f, 10, 64)
			u.cpu += time.Duration(n) * 10 * time.Millisecond
		}
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "RssAnon:":
			u.rss = n << 10
		case "Threads:":
			u.threads = n
		}
	}
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	u.files = len(open)
	return u
}

// ledger is what was acknowledged.
type ledger struct {
	mu    sync.Mutex // guards notes
	notes map[string]string
	n     int
}

// write adds notes until it is told to stop, and remembers those that were
// acknowledged. It returns the last error.
func (l *ledger) write(ctx context.Context, s *service, name string) (last error) {
	for i := 0; ctx.Err() == nil; i++ {
		content := fmt.Sprintf("note %d of %s %s: %s", i, name, time.Now().Format(time.RFC3339Nano), strings.Repeat("the lock of canal nine needs new seals. ", 20))
		m, err := s.Add(ctx, ambry.Note{Content: content}, fmt.Sprintf("%s-%d-%d", name, s.cmd.Process.Pid, i))
		if err != nil {
			if ctx.Err() == nil {
				last = err
			}
			if errors.Is(err, client.ErrNotRunning) {
				return last
			}
			continue
		}
		l.mu.Lock()
		l.notes[m.ID] = content
		l.n++
		l.mu.Unlock()
	}
	return last
}

// seen returns what was acknowledged until now.
func (l *ledger) seen() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]string, len(l.notes))
	for id, content := range l.notes {
		out[id] = content
	}
	return out
}

// gauges adds n notes, which [found] looks for, and returns them by their ids.
func gauges(t *testing.T, s *service, n int) map[string]string {
	t.Helper()
	notes := map[string]string{}
	for i := range n {
		content := fmt.Sprintf("gauge g%dx of the tide station shows five metres", i)
		m, err := s.Add(t.Context(), ambry.Note{Content: content}, "")
		if err != nil {
			t.Fatal(err)
		}
		notes[m.ID] = content
	}
	return notes
}

// found waits until each of n gauges is found by its word.
func found(t *testing.T, s *service, n int) {
	t.Helper()
	for i := range n {
		word := fmt.Sprintf("g%dx", i)
		until(t, word+" is found", func() bool {
			a, err := s.Search(t.Context(), ambry.Query{Query: word})
			return err == nil && len(a.Hits) == 1
		})
	}
}

// missing returns how many of some notes a service does not have, or not as they
// were.
func missing(t *testing.T, s *service, notes map[string]string) (n int) {
	t.Helper()
	for id, content := range notes {
		d, err := s.Get(t.Context(), id)
		if err != nil && ambry.KindOf(err) != ambry.NotFound {
			t.Fatalf("%s: %v", id, err)
		}
		if err != nil || !strings.Contains(fmt.Sprintf("%+v", d), content[:40]) {
			n++
		}
	}
	return n
}

// sound looks into the files of a service that was stopped.
func sound(t *testing.T, home string) {
	t.Helper()
	for _, name := range []string{"memory.db", "app.db"} {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(home, name)+"?mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		var found string
		if err := db.QueryRow("PRAGMA integrity_check").Scan(&found); err != nil || found != "ok" {
			t.Errorf("%s: %s %v", name, found, err)
		}
		db.Close()
	}
}
