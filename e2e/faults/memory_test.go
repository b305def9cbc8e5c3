//go:build faults && linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry"
)

// inLittleMemory returns a program that runs ambry in a control group which may
// have so many bytes, with all of its children, and no swap beside them.
func inLittleMemory(t *testing.T, bytes int) (wrapper, group string) {
	t.Helper()
	limit := "memory.max"
	group = fmt.Sprintf("/sys/fs/cgroup/ambry-faults-%d", os.Getpid())
	if _, err := os.Stat("/sys/fs/cgroup/memory/memory.limit_in_bytes"); err == nil { // version 1
		limit, group = "memory.limit_in_bytes", fmt.Sprintf("/sys/fs/cgroup/memory/ambry-faults-%d", os.Getpid())
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skip("control groups cannot be made here: ", err)
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	if err := os.WriteFile(filepath.Join(group, limit), []byte(strconv.Itoa(bytes)), 0o644); err != nil {
		t.Skip("the memory of a control group cannot be limited here: ", err)
	}
	wrapper = filepath.Join(t.TempDir(), "little")
	script := "#!/bin/sh\necho $$ > " + group + "/cgroup.procs\nexec " + ambryPath + " \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return wrapper, group
}

// TestLittleMemory gives service and runtime 256 MiB together, files and all, and has them
// read a history with lines of 30 MB while forty ask at once and take notes. It
// may refuse for a while, even lose its runtime; nothing acknowledged is lost, and it answers again.
func TestLittleMemory(t *testing.T) {
	needRoot(t)
	wrapper, group := inLittleMemory(t, 256<<20)
	home := filepath.Join(t.TempDir(), "ambry")
	s := start(t, wrapper, home)
	allowed := ambry.PermissionScan
	if _, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{ScanPermission: &allowed}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.person(), ".codex", "sessions", "2026", "05", "01")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for n := range 6 {
		id := fmt.Sprintf("5e551011-0000-4000-8000-%012d", n)
		text := `{"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":"` + id + `","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/srv/canal","originator":"codex_cli_rs","cli_version":"0.40.0"}}` + "\n"
		for turn := range 4 {
			long := strings.Repeat("the gauges of the canal show what they show. ", 30<<20/45)
			text += fmt.Sprintf(`{"timestamp":"2026-05-01T10:0%d:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"reading %dx%dx %s"}]}}`+"\n", turn, n, turn, long)
		}
		if err := os.WriteFile(filepath.Join(dir, "rollout-2026-05-01T10-00-00-"+id+".jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Scan(t.Context(), ambry.ScanRequest{Mode: ambry.Full}); err != nil {
		t.Fatal(err)
	}
	l := &ledger{notes: map[string]string{}}
	refused := map[ambry.Kind]int{} // guarded by l.mu
	var work sync.WaitGroup
	for w := range 40 {
		work.Go(func() {
			for i := range times(25, 250) {
				content := fmt.Sprintf("note %d of %d in little memory: %s", i, w, strings.Repeat("the lock holds. ", 100))
				m, err := s.Add(t.Context(), ambry.Note{Content: content}, fmt.Sprintf("little-%d-%d", w, i))
				l.mu.Lock()
				if err == nil {
					l.notes[m.ID] = content
				} else {
					refused[ambry.KindOf(err)]++
				}
				l.mu.Unlock()
				_, _ = s.Search(t.Context(), ambry.Query{Query: fmt.Sprintf("gauges of the canal lock %d", i)})
			}
		})
	}
	work.Wait()
	until(t, "it answers again", func() bool {
		_, err := s.Search(t.Context(), ambry.Query{Query: "lock"})
		return err == nil
	})
	scanned(t, s)
	if n := missing(t, s, l.notes); n > 0 || len(l.notes) == 0 {
		t.Errorf("%d of %d notes are lost", n, len(l.notes))
	}
	b, err := s.Bootstrap(t.Context())
	if err != nil || b.Health.Memory != ambry.HealthOK {
		t.Errorf("%+v, %v", b.Health, err)
	}
	control, _ := os.ReadFile(filepath.Join(group, "memory.oom_control"))
	if control == nil {
		control, _ = os.ReadFile(filepath.Join(group, "memory.events"))
	}
	peak, _ := os.ReadFile(filepath.Join(group, "memory.max_usage_in_bytes"))
	t.Logf("%d notes, refused %v, %d starts of the runtime, peak %s, %s; service %+v, runtime %+v", len(l.notes), refused, b.Health.MemoryStarts,
		strings.TrimSpace(string(peak)), strings.Join(strings.Fields(string(control)), " "), usageOf(s.cmd.Process.Pid), usageOf(s.runtime()))
	s.stop()
	sound(t, home)
}
