//go:build faults && linux

package faults

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// TestDamage changes bytes of what is on the disk while nothing runs. The program
// has to start, and to say what is the matter if it cannot go on; it may not
// start its runtime over and over, nor tell of a turn what was not said in it.
func TestDamage(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	s := start(t, ambryPath, whole)
	turns := map[string]string{}
	const sessions = 30
	for n := range sessions {
		id := fmt.Sprintf("5e551011-0000-4000-8000-%012d", n)
		said := fmt.Sprintf("gauge g%dx of the tide station shows %d centimetres", n, 100+n)
		line := fmt.Sprintf(`{"session":{"id":%q,"agent":"codex"},"turns":[{"id":"t%d","at":"2026-05-01T10:00:00Z","messages":[{"id":"m","role":"user","text":%q}]}]}`, id, n, said)
		if _, err := s.Import(t.Context(), strings.NewReader(line)); err != nil {
			t.Fatal(err)
		}
		a, err := s.Search(t.Context(), ambry.Query{Query: fmt.Sprintf("g%dx", n)})
		if err != nil || len(a.Hits) == 0 {
			t.Fatalf("%v, %v", a.Hits, err)
		}
		turns[a.Hits[0].ID] = said
	}
	ledger := &ledger{notes: map[string]string{}}
	for i := range 50 {
		content := fmt.Sprintf("note %d about the tide station %s", i, strings.Repeat("and its gauges ", 30))
		if m, err := s.Add(t.Context(), ambry.Note{Content: content}, ""); err == nil {
			ledger.notes[m.ID] = content
		}
	}
	s.stop()
	files := filesBelow(t, whole)
	var mu sync.Mutex // guards ends
	ends := map[string]int{}
	rounds := times(60, 2000)
	t.Run("rounds", func(t *testing.T) {
		const parts = 2 // most of a round is waiting
		for part := range parts {
			t.Run(strconv.Itoa(part), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(9, uint64(part)))
				for i := part; i < rounds; i += parts {
					home := filepath.Join(t.TempDir(), "ambry")
					if err := os.CopyFS(home, os.DirFS(whole)); err != nil {
						t.Fatal(err)
					}
					_ = os.Chmod(home, 0o700)
					name := files[random.IntN(len(files))]
					what := fmt.Sprintf("round %d: %s of %s", i, damage(t, filepath.Join(home, name), random), name)
					t.Log(what)
					end := attempt(t, home, what, turns, ledger.notes)
					mu.Lock()
					ends[end]++
					mu.Unlock()
					_ = os.RemoveAll(home)
				}
			})
		}
	})
	t.Logf("%d rounds: %v", rounds, ends)
}

// filesBelow returns what is kept, by name.
func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if info, _ := e.Info(); info.Size() > 0 && !strings.HasPrefix(rel, "logs") {
			names = append(names, rel)
		}
		return err
	})
	if err != nil || !slices.Contains(names, "memory.db") || !slices.Contains(names, "app.db") {
		t.Fatalf("the files are %v, %v", names, err)
	}
	return names
}

// damage changes a file and says how.
func damage(t *testing.T, path string, random *rand.Rand) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	how := "a changed byte"
	at := random.IntN(len(data))
	switch random.IntN(4) {
	case 0:
		how, data = "a lost end", data[:at]
	case 1:
		how = "a sector of zeros"
		clear(data[at/512*512 : min(at/512*512+512, len(data))])
	default:
		data[at] ^= byte(1 + random.IntN(255))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return how
}

// attempt starts a service on a damaged home and says how that ended.
func attempt(t *testing.T, home, what string, turns, notes map[string]string) string {
	t.Helper()
	s, ok := tryLaunch(t, home)
	if !ok {
		if s.said.String() == "" {
			t.Errorf("%s: it does not start, and does not say why", what)
		}
		return "refused with a reason"
	}
	defer s.kill()
	var health ambry.Health
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b, err := s.Bootstrap(t.Context())
		if err != nil {
			t.Errorf("%s: bootstrap: %v", what, err)
			return "broken"
		}
		if health = b.Health; health.Memory == ambry.HealthOK || health.MemoryReason != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: the memory neither answers nor says why: %+v", what, health)
			return "broken"
		}
	}
	if health.MemoryStarts > 10 {
		t.Errorf("%s: %d starts of the runtime", what, health.MemoryStarts)
	}
	if health.Memory != ambry.HealthOK {
		return "memory " + string(health.Memory) + ", with a reason"
	}
	return told(t, s, what, turns, notes)
}

// told asks for all that was said and noted, by id and by words. Whatever cannot
// be told has to be told of: that there is no such memory is as wrong as other
// words are.
func told(t *testing.T, s *service, what string, turns, notes map[string]string) string {
	t.Helper()
	end := "well"
	check := func(how, id, want string, answer any, err error) {
		said, _ := json.Marshal(answer)
		switch {
		case ambry.KindOf(err) == ambry.MemoryUnavailable:
			end = "well but for what it says is damaged"
		case err != nil:
			t.Errorf("%s: %s of %s: %s: %v\n%s", what, how, id, ambry.KindOf(err), err, s.lastError())
		case !strings.Contains(string(said), want):
			t.Errorf("%s: %s of %s: not %q but %.500s", what, how, id, want, said)
		}
	}
	for id, said := range turns {
		p, err := s.Source(t.Context(), id)
		check("the source", id, said, p, err)
		a, err := s.Search(t.Context(), ambry.Query{Query: strings.Fields(said)[1]})
		check("a search", id, id, a, err)
	}
	for id, content := range notes {
		d, err := s.Get(t.Context(), id)
		check("the note", id, content, d, err)
	}
	return end
}

// lastError is what the log of the runtime last said that went wrong.
func (s *service) lastError() (line string) {
	data, _ := os.ReadFile(filepath.Join(s.home, "logs", "memory.log"))
	for l := range strings.Lines(string(data)) {
		if strings.Contains(l, `"level":"ERROR"`) {
			line = l
		}
	}
	return line
}

// tryLaunch is launch for a service that may not start.
func tryLaunch(t *testing.T, home string) (*service, bool) {
	t.Helper()
	s := prepare(t, ambryPath, home)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(ended) }()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-ended:
			return s, false
		default:
		}
		if c, rt, err := client.Find(t.Context(), home); err == nil && rt.PID == s.cmd.Process.Pid {
			s.Client = c
			return s, true
		}
	}
	t.Fatal("the service neither starts nor ends")
	return nil, false
}

// TestDamagedDirectories has the disk not tell what is in a directory. None of them holds
// what cannot be made anew or done without for a while.
func TestDamagedDirectories(t *testing.T) {
	needDisks(t)
	for _, name := range []string{"memory.index", "backups", "exports", "logs", "hooks"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			disk, mounted := newDisk(t, filepath.Join(dir, "disk"), 64), filepath.Join(dir, "mounted")
			home := filepath.Join(mount(t, disk, mounted), "ambry")
			s := start(t, ambryPath, home)
			notes := gauges(t, s, 5)
			s.stop()
			if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil { // hooks may have none yet
				t.Fatal(err)
			}
			command(t, "umount", mounted)
			command(t, "debugfs", "-w", "-R", "zap_block -f /ambry/"+name+" -p 0x5a 0", disk)
			mount(t, disk, mounted)
			if _, err := os.ReadDir(filepath.Join(home, name)); err == nil {
				t.Fatal("the directory can be read: this test sees nothing")
			}
			again := start(t, ambryPath, home)
			if n := missing(t, again, notes); n > 0 {
				t.Errorf("%d notes are lost", n)
			}
			found(t, again, len(notes))
			again.stop()
			sound(t, home)
		})
	}
}
