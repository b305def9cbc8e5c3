//go:build faults && linux

package faults

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// TestTornWrites takes the power away from a disk that is worse than that of
// TestPowerCut: of what was written to the memory's files and not waited for,
// any part may be there, sector by sector and in any order. The calls of the
// runtime are recorded once; then the files are made as they may look after each
// of many moments. All that was acknowledged before must be there. A program that
// does not wait for the disk must lose something, or the test sees nothing.
func TestTornWrites(t *testing.T) {
	needStrace(t)
	random := rand.New(rand.NewPCG(6, 6))
	r := record(t, ambryPath)
	rounds, lost, checked := times(30, 500), 0, 0
	for i := range rounds {
		l, n := r.cut(t, 1+random.IntN(len(r.calls)), random)
		lost, checked = lost+l, checked+n
		if l > 0 {
			t.Errorf("round %d: %d of %d acknowledged notes are lost", i, l, n)
		}
	}
	t.Logf("%d cuts among %d calls: %d notes looked for, %d lost", rounds, len(r.calls), checked, lost)
	careless := record(t, carelessPath)
	lost = 0
	for i := range 3 {
		l, _ := careless.cut(t, len(careless.calls)-i, random)
		lost += l
	}
	if lost == 0 {
		t.Error("of what was not waited for nothing is lost: this test sees nothing")
	}
}

// recording is what a runtime did to the files of its memory.
type recording struct {
	base  string // the home as it was before, with all that was on the disk
	from  time.Time
	after string // as it was in the end
	calls []diskCall
	notes []acknowledged
}

// diskCall is a call of the system that ended well.
type diskCall struct {
	at   time.Time
	what string // pwrite64, ftruncate or fsync
	file string
	data []byte
	off  int64
}

type acknowledged struct {
	id, content string
	at          time.Time
}

// record has a service write notes until its log was moved into the main file,
// and some more.
func record(t *testing.T, binary string) *recording {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "ambry")
	s := start(t, binary, home)
	if _, err := s.Add(t.Context(), ambry.Note{Content: "before anything is recorded"}, ""); err != nil {
		t.Fatal(err)
	}
	r := &recording{base: filepath.Join(dir, "base"), after: filepath.Join(dir, "after")}
	runtime := s.runtime()
	trace := filepath.Join(dir, "trace")
	tracer := exec.Command("strace", "-f", "-y", "-ttt", "-xx", "-s", "1000000", "-o", trace,
		"-e", "trace=pwrite64,ftruncate,fsync,fdatasync", "-e", "signal=none", "-p", strconv.Itoa(runtime))
	said, err := tracer.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || !strings.Contains(line, "attached") {
		t.Fatalf("strace says %q, %v", line, err)
	}
	_ = syscall.Kill(runtime, syscall.SIGSTOP)
	until(t, "the runtime stands still", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", runtime))
		_, state, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(state, "T") || strings.HasPrefix(state, "t")
	})
	copyHome(t, home, r.base)
	r.from = time.Now()
	_ = syscall.Kill(runtime, syscall.SIGCONT)
	moved := func() time.Time {
		info, err := os.Stat(filepath.Join(home, "memory.db"))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	began := moved()
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var mu sync.Mutex // guards r.notes
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				content := fmt.Sprintf("note %d of writer %d about the tide %s", i, w, strings.Repeat("and its gauges ", 100))
				m, err := s.Add(ctx, ambry.Note{Content: content}, "")
				at := time.Now()
				if err != nil {
					return
				}
				mu.Lock()
				r.notes = append(r.notes, acknowledged{m.ID, content, at})
				mu.Unlock()
			}
		})
	}
	until(t, "the log is moved into the main file", func() bool { return moved().After(began) })
	time.Sleep(500 * time.Millisecond) // some more
	stop()
	writers.Wait()
	_ = tracer.Process.Signal(os.Interrupt)
	_ = tracer.Wait() // it ends by the signal
	s.kill()
	copyHome(t, home, r.after)
	r.read(t, trace)
	if len(r.calls) < 100 || len(r.notes) < 100 {
		t.Fatalf("only %d calls and %d notes: that shows nothing", len(r.calls), len(r.notes))
	}
	return r
}

func copyHome(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, 0o700); err != nil {
		t.Fatal(err)
	}
}

// Lines of strace. A call that another thread interrupts stands in two.
var (
	callLine    = regexp.MustCompile(`^(\d+) +(\d+)\.(\d+) (pwrite64|ftruncate|fsync|fdatasync)\(\d+<((?:\\x[0-9a-f]{2})+)>(?:, "((?:\\x[0-9a-f]{2})*)")?(?:, (\d+))?(?:, (\d+))?(.*)$`)
	resumedLine = regexp.MustCompile(`^(\d+) +(\d+)\.(\d+) <\.\.\. \w+ resumed>.*= (\d+)$`)
)

// read reads what strace wrote.
func (r *recording) read(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	open := map[string]diskCall{} // by thread
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := resumedLine.FindStringSubmatch(line); m != nil {
			if c, ok := open[m[1]]; ok {
				delete(open, m[1])
				c.at = stampOf(m[2], m[3])
				r.add(c)
			}
			continue
		}
		m := callLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		c := diskCall{at: stampOf(m[2], m[3]), what: m[4], file: filepath.Base(string(unhex(m[5]))), data: unhex(m[6])}
		switch c.what {
		case "fdatasync":
			c.what = "fsync"
		case "ftruncate":
			c.off, _ = strconv.ParseInt(m[7], 10, 64)
		case "pwrite64":
			c.off, _ = strconv.ParseInt(m[8], 10, 64)
			if n, _ := strconv.Atoi(m[7]); n != len(c.data) {
				t.Fatalf("a write of %d bytes has %d", n, len(c.data))
			}
		}
		if strings.Contains(m[9], "unfinished") {
			open[m[1]] = c
			continue
		}
		if !strings.Contains(m[9], "= -1") {
			r.add(c)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func (r *recording) add(c diskCall) {
	if c.at.Before(r.from) {
		return // it is in the base
	}
	if c.file == "memory.db" || c.file == "memory.db-wal" {
		r.calls = append(r.calls, c)
	}
}

func stampOf(seconds, micros string) time.Time {
	s, _ := strconv.ParseInt(seconds, 10, 64)
	u, _ := strconv.ParseInt(micros, 10, 64)
	return time.UnixMicro(s*1e6 + u)
}

func unhex(s string) []byte {
	data, _ := hex.DecodeString(strings.ReplaceAll(s, `\x`, "")) // the expression saw to it
	return data
}

// cut makes the files as they may be after so many calls, and counts what is lost
// of what was acknowledged by then.
func (r *recording) cut(t *testing.T, n int, random *rand.Rand) (lost, looked int) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "ambry")
	// The index is made of the memory: it may be older or younger, or gone.
	copyHome(t, []string{r.base, r.after}[random.IntN(2)], home)
	if random.IntN(3) == 0 {
		_ = os.RemoveAll(filepath.Join(home, "memory.index"))
	}
	_ = os.Remove(filepath.Join(home, "memory.db-shm"))
	for _, name := range []string{"memory.db", "memory.db-wal"} {
		disk, err := os.ReadFile(filepath.Join(r.base, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		var floating []diskCall // was not waited for
		for _, c := range r.calls[:n] {
			switch {
			case c.file != name:
			case c.what == "fsync":
				for _, f := range floating {
					disk = f.on(disk, nil)
				}
				floating = nil
			default:
				floating = append(floating, c)
			}
		}
		for _, f := range floating {
			disk = f.on(disk, random)
		}
		if err := os.WriteFile(filepath.Join(home, name), disk, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	notes := map[string]string{}
	for _, a := range r.notes {
		if a.at.Before(r.calls[n-1].at) {
			notes[a.id] = a.content
		}
	}
	s, ok := tryLaunch(t, home)
	if !ok {
		return len(notes) + 1, len(notes)
	}
	defer s.kill()
	var health ambry.Health
	until(t, "the memory answers or says why not", func() bool {
		b, err := s.Bootstrap(t.Context())
		health = b.Health
		return err == nil && (health.Memory == ambry.HealthOK || health.MemoryReason != "")
	})
	if health.Memory != ambry.HealthOK {
		t.Logf("after call %d: %s", n, health.MemoryReason)
		return len(notes) + 1, len(notes)
	}
	return missing(t, s, notes), len(notes)
}

// sectorBytes is what a disk writes whole or not at all.
const sectorBytes = 512

// on does a call to a file: whole, or what chance lets through of it.
func (c diskCall) on(disk []byte, random *rand.Rand) []byte {
	luck := 0
	if random != nil {
		luck = random.IntN(3)
	}
	switch {
	case luck == 1: // nothing of it
		return disk
	case c.what == "ftruncate":
		if grow := int(c.off) - len(disk); grow > 0 {
			return append(disk, make([]byte, grow)...)
		}
		return disk[:c.off]
	}
	end := int(c.off) + len(c.data)
	if grow := end - len(disk); grow > 0 {
		disk = append(disk, make([]byte, grow)...)
	}
	for at := int(c.off); at < end; {
		next := min((at/sectorBytes+1)*sectorBytes, end)
		if luck == 0 || random.IntN(2) == 0 {
			copy(disk[at:next], c.data[at-int(c.off):next-int(c.off)])
		}
		at = next
	}
	return disk
}
