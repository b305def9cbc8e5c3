//go:build linux

package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to look into the files when nobody has them open

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// What is read and written while things are killed.
const (
	killSessions = 40
	killTurns    = 30 // of each session
	killWriters  = 4
)

// TestKilledAtAnyMoment kills the service or its runtime while a scan runs, notes
// are added and an agent calls its hooks, again and again. In the end nothing that was acknowledged may
// be missing, nothing may be there twice, and the databases must be sound.
func TestKilledAtAnyMoment(t *testing.T) {
	cycles := 50
	if os.Getenv("AMBRY_FAULTS") == "long" {
		cycles = 1000
	}
	k := &killing{t: t, home: t.TempDir(), acknowledged: map[string]string{}}
	k.writeHistory()
	random := rand.New(rand.NewPCG(1, uint64(cycles)))
	for i := range cycles {
		k.cycle(i, time.Duration(random.IntN(250))*time.Millisecond, random.IntN(2) == 0)
	}
	k.verify()
}

// killing is one home that is not spared.
type killing struct {
	t    *testing.T
	home string

	mu           sync.Mutex // guards what follows
	attempted    []string   // keys of notes
	acknowledged map[string]string
	hooked       int // turns that hooks were told of
}

func (k *killing) writeHistory() {
	k.t.Helper()
	dir := filepath.Join(k.home, ".claude", "projects", "-srv-tidewatch")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		k.t.Fatal(err)
	}
	for n := range killSessions {
		s := session{id: fmt.Sprintf("5e551011-0000-4000-8000-%012d", n), project: "/srv/tidewatch"}
		f, err := os.Create(filepath.Join(dir, s.id+".jsonl"))
		if err != nil {
			k.t.Fatal(err)
		}
		lines := json.NewEncoder(f)
		for i := range killTurns {
			at := time.Date(2026, 5, 1+n%28, 10, i, 0, 0, time.UTC)
			for _, line := range s.claude(i, at, fmt.Sprintf("question %d of session %d", i, n), fmt.Sprintf("answer %d of session %d", i, n)) {
				if err := lines.Encode(line); err != nil {
					k.t.Fatal(err)
				}
			}
		}
		if err := f.Close(); err != nil {
			k.t.Fatal(err)
		}
	}
}

// start starts the service and waits until its memory answers.
func (k *killing) start() (*exec.Cmd, *client.Client) {
	k.t.Helper()
	return serve(k.t, k.home, k.t.Output())
}

// serve starts the service for a person's home, and waits until its memory
// answers.
func serve(t *testing.T, home string, says io.Writer) (*exec.Cmd, *client.Client) {
	t.Helper()
	cmd := exec.Command("ambry", "serve")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "WORK=" + home}
	cmd.Stdout, cmd.Stderr = io.Discard, says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if it is still there
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var c *client.Client
	err := poll(ctx, func() bool {
		found, rt, err := client.Find(ctx, filepath.Join(home, ".ambry"))
		if err != nil || rt.PID != cmd.Process.Pid {
			return false
		}
		c = found
		return true
	})
	if err != nil {
		t.Fatalf("the service does not start: %v", err)
	}
	t.Cleanup(c.Close)
	if err := c.WaitMemory(ctx); err != nil {
		t.Fatalf("the memory does not start: %v", err)
	}
	return cmd, c
}

// end ends a service as a person does.
func end(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := endProcess(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the service ends with %v", err)
	}
}

// cycle lets a scan and the writers run for a while and then kills one process,
// and the service in any case.
func (k *killing) cycle(n int, after time.Duration, runtime bool) {
	k.t.Helper()
	cmd, c := k.start()
	defer c.Close()
	ctx, cancel := context.WithCancel(k.t.Context())
	permission := ambry.PermissionScan
	if _, err := c.PatchOnboarding(ctx, ambry.OnboardingPatch{ScanPermission: &permission}); err != nil {
		k.t.Fatal(err)
	}
	mode := ambry.Incremental
	if n%3 == 2 {
		mode = ambry.Full
	}
	if _, err := c.Scan(ctx, ambry.ScanRequest{Mode: mode}); err != nil {
		k.t.Fatal(err)
	}
	var writers sync.WaitGroup
	for w := range killWriters {
		writers.Go(func() { k.write(ctx, c, fmt.Sprintf("cycle %d writer %d", n, w)) })
	}
	writers.Go(func() { k.hooks(ctx, n) })
	time.Sleep(after) // the moment is what is varied
	if runtime {
		if pid := child(cmd.Process.Pid, "memory"); pid != 0 {
			if err := killProcess(pid); err != nil {
				k.t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := killProcess(cmd.Process.Pid); err != nil {
		k.t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	cancel()
	writers.Wait()
}

// write adds notes until it is not answered.
func (k *killing) write(ctx context.Context, c *client.Client, who string) {
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s note %d", who, i)
		k.mu.Lock()
		k.attempted = append(k.attempted, key)
		k.mu.Unlock()
		m, err := c.Add(ctx, ambry.Note{Content: "a note: " + key}, key)
		if err != nil {
			return
		}
		k.mu.Lock()
		k.acknowledged[key] = m.ID
		k.mu.Unlock()
	}
}

// hooks is an agent that has turns, one a session, and tells of them whether the
// service is there or not.
func (k *killing) hooks(ctx context.Context, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		for _, call := range []struct{ event, said string }{{"UserPromptSubmit", "prompt"}, {"Stop", "last_assistant_message"}} {
			cmd := exec.Command("ambry", "hook", "codex", call.event)
			cmd.Env = []string{"HOME=" + k.home, "WORK=" + k.home}
			cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"hook-%d-%d","cwd":"/srv","%s":"about box %d of cycle %d"}`, n, i, call.said, i, n))
			if err := cmd.Run(); err != nil {
				k.t.Errorf("a hook failed: %v", err)
			}
		}
		k.mu.Lock()
		k.hooked++
		k.mu.Unlock()
	}
}

// verify looks at what is left.
func (k *killing) verify() {
	k.t.Helper()
	cmd, c := k.start()
	defer c.Close()
	ctx := k.t.Context()
	started, err := c.Scan(ctx, ambry.ScanRequest{Mode: ambry.Incremental})
	if err != nil {
		k.t.Fatal(err)
	}
	if done, err := c.WaitScan(ctx, started.JobID, func(ambry.ScanProgress) {}); err != nil || !done.Succeeded {
		k.t.Fatalf("the last scan: %+v, %v", done, err)
	}
	for key, id := range k.acknowledged {
		if _, err := c.Get(ctx, id); err != nil {
			k.t.Errorf("%s was acknowledged as %s and is gone: %v", key, id, err)
		}
	}
	// What was not acknowledged may or may not be there. Sent again with its key,
	// it is there exactly once.
	for _, key := range k.attempted {
		m, err := c.Add(ctx, ambry.Note{Content: "a note: " + key}, key)
		if err != nil {
			k.t.Fatal(err)
		}
		if id, ok := k.acknowledged[key]; ok && id != m.ID {
			k.t.Errorf("%s was %s and is now %s", key, id, m.ID)
		}
	}
	k.spoolIsTaken(ctx)
	o, err := c.Overview(ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	turns, sessions := int64(killSessions*killTurns+k.hooked), int64(killSessions+k.hooked)
	// What was learned from the turns is counted too.
	told := o.Counts.Memories - o.Counts.Experiences - o.Counts.WorldModels
	if want := turns + int64(len(k.attempted)); o.Counts.Turns != turns || told != want || o.Counts.Sessions != sessions {
		k.t.Errorf("counts are %+v, want %d turns, %d memories that were told of, %d sessions", o.Counts, turns, want, sessions)
	}
	k.t.Logf("%d notes acknowledged, %d attempted; %d turns of hooks", len(k.acknowledged), len(k.attempted), k.hooked)
	if len(k.acknowledged) == 0 || k.hooked == 0 {
		k.t.Error("no note was ever acknowledged, or no hook called: nothing was tested")
	}
	end(k.t, cmd)
	for _, name := range []string{"memory.db", "app.db"} {
		k.sound(filepath.Join(k.home, ".ambry", name))
	}
}

// spoolIsTaken waits until the service has taken what hooks kept.
func (k *killing) spoolIsTaken(ctx context.Context) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := poll(ctx, func() bool {
		left, err := os.ReadDir(filepath.Join(k.home, ".ambry", "hooks", "spool"))
		return err == nil && len(left) == 0
	})
	if err != nil {
		k.t.Errorf("the service does not take what hooks kept: %v", err)
	}
}

// sound checks a database that nobody has open.
func (k *killing) sound(path string) {
	k.t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		k.t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(k.t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		k.t.Errorf("%s: integrity_check says %q, %v", filepath.Base(path), verdict, err)
	}
}
