//go:build linux

package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// What stands in the homes that are broken off in the middle of something.
const (
	keptSessions, keptTurns = 30, 10
	keptNotes, keptSecrets  = 30, 15 // of the notes, those with the words
	keptAfter               = 10     // notes that came after the backup
	keptWords               = "zeppelin hangar"
)

// midst is something that is killed in its midst.
type midst struct {
	home string

	// do does it until it is done or the processes are gone.
	do func(ctx context.Context, c *client.Client) error

	// whole looks at what is left, and does it again: it must be all there or not
	// have happened at all, and not the latter if it was acknowledged.
	whole func(t *testing.T, home string, c *client.Client, acknowledged bool)
}

// TestKilledInTheMidst kills the service, its runtime or both in the midst of
// what must happen whole or not at all. The moments are spread over what the
// processes read and write meanwhile, not over time.
func TestKilledInTheMidst(t *testing.T) {
	points := 8
	switch {
	case os.Getenv("AMBRY_FAULTS") == "long":
		points = 200
	case testing.Short():
		points = 3
	}
	home := keptHome(t)
	for name, m := range map[string]midst{
		"forget": {do: forgetWords, whole: forgottenWhole},
		"wipe":   {do: wipeAll, whole: wipedWhole},
		"export": {do: exportAll, whole: exportedWhole},
		"backup": {do: backUp, whole: backedUpWhole},
	} {
		t.Run(name, func(t *testing.T) {
			m.home = home
			total := m.run(t, 0, 0)
			acknowledged := 0
			for i := range points {
				if m.run(t, i, total*(2*uint64(i)+1)/(2*uint64(points))) == 0 {
					acknowledged++
				}
			}
			t.Logf("killed at %d points of %d bytes and calls; %d times it was done by then", points, total, acknowledged)
			if acknowledged == points {
				t.Error("it was always done before anything was killed: this tests nothing")
			}
		})
	}
	t.Run("restore", func(t *testing.T) { killRestore(t, home, points) })
}

// run does it in a copy of the home, and kills something once as much was read
// and written as is said; 0 is never, and returns how much that was in all.
// Otherwise it returns 0 if it was acknowledged.
func (m midst) run(t *testing.T, n int, after uint64) uint64 {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	if err := os.CopyFS(home, os.DirFS(m.home)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(home, ".ambry"), 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	var said bytes.Buffer
	cmd, c := serve(t, home, &said)
	memory := child(cmd.Process.Pid, "memory")
	began := progress(cmd.Process.Pid, memory)
	answered := make(chan error, 1)
	go func() { answered <- m.do(t.Context(), c) }()
	if after == 0 {
		if err := <-answered; err != nil {
			t.Fatal(err)
		}
		done := progress(cmd.Process.Pid, memory) - began
		m.whole(t, home, c, true)
		end(t, cmd)
		return done
	}
	acknowledged, known := false, false
	for !known && progress(cmd.Process.Pid, memory)-began < after {
		select {
		case err := <-answered:
			acknowledged, known = err == nil, true
		default:
			runtime.Gosched()
		}
	}
	kill(t, n, cmd, memory)
	if !known {
		acknowledged = <-answered == nil
	}
	again, c := serve(t, home, &said)
	m.whole(t, home, c, acknowledged)
	end(t, again)
	if t.Failed() {
		t.Fatalf("point %d of %s:\n%s", n, t.Name(), said.String())
	}
	if acknowledged {
		return 0
	}
	return after
}

// kill kills the service, or its runtime first.
func kill(t *testing.T, n int, cmd *exec.Cmd, memory int) {
	t.Helper()
	if n%2 == 1 {
		if err := killProcess(memory); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
	if err := killProcess(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// progress counts the bytes and calls by which processes have read and written.
func progress(pids ...int) (n uint64) {
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
		if err != nil {
			continue // it is gone
		}
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch name {
			case "rchar", "wchar", "syscr", "syscw":
				count, _ := strconv.ParseUint(value, 10, 64)
				n += count
			}
		}
	}
	return n
}

// keptHome makes a home with something of everything, whose service was killed:
// not all of it is in the main file.
func keptHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	cmd, c := serve(t, home, t.Output())
	var lines strings.Builder
	for s := range keptSessions {
		fmt.Fprintf(&lines, `{"session":{"id":"5e551011-0000-4000-8000-%012d","agent":"codex"},"turns":[`, s)
		for n := range keptTurns {
			text := strings.Repeat(fmt.Sprintf("tide gauge %d of station %d stands at %d; ", n, s, s*n), 20)
			fmt.Fprintf(&lines, `{"id":"t%d-%d","at":"2026-05-01T10:%02d:00Z","messages":[{"id":"m%d","role":"user","text":%q}]},`, s, n, n, n, text)
		}
		lines.WriteString("]}\n")
	}
	if _, err := c.Import(t.Context(), strings.NewReader(strings.ReplaceAll(lines.String(), ",]", "]"))); err != nil {
		t.Fatal(err)
	}
	note := func(text string) {
		if _, err := c.Add(t.Context(), ambry.Note{Content: text}, ""); err != nil {
			t.Fatal(err)
		}
	}
	for n := range keptNotes {
		words := "lighthouse"
		if n < keptSecrets {
			words = keptWords
		}
		note(fmt.Sprintf("note %d about the %s", n, words))
	}
	if _, err := c.Backup(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range keptAfter {
		note(fmt.Sprintf("note %d of the lighthouse, after the backup", n))
	}
	memory := child(cmd.Process.Pid, "memory")
	kill(t, 1, cmd, memory)
	if wal, err := os.Stat(filepath.Join(home, ".ambry", "memory.db-wal")); err != nil || wal.Size() == 0 {
		t.Fatalf("there is no log beside the memory: %v", err)
	}
	return home
}

// with says how many memories have words in them.
func with(t *testing.T, c *client.Client, words string) int64 {
	t.Helper()
	dry, err := c.ForgetAll(t.Context(), ambry.Forget{Words: words, DryRun: true}, "")
	if err != nil && ambry.KindOf(err) != ambry.NotFound {
		t.Fatal(err)
	}
	return dry.Memories
}

// turns says how many turns there are.
func turns(t *testing.T, c *client.Client) int64 {
	t.Helper()
	o, err := c.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o.Counts.Turns
}

func forgetWords(ctx context.Context, c *client.Client) error {
	_, err := c.ForgetAll(ctx, ambry.Forget{Words: keptWords}, "")
	return err
}

func forgottenWhole(t *testing.T, _ string, c *client.Client, acknowledged bool) {
	t.Helper()
	if n := with(t, c, keptWords); n != 0 && (n != keptSecrets || acknowledged) {
		t.Errorf("%d of %d memories are left (acknowledged: %v)", n, keptSecrets, acknowledged)
	}
	if err := forgetWords(t.Context(), c); err != nil && ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("again: %v", err)
	}
	checked, err := c.CheckData(t.Context(), ambry.DataCheck{Words: keptWords, RemoveBackups: true})
	if err != nil || !checked.Absent {
		t.Errorf("after all is forgotten: %+v, %v", checked.Found, err)
	}
	if n := with(t, c, "lighthouse"); n != keptNotes-keptSecrets+keptAfter || turns(t, c) != keptSessions*keptTurns {
		t.Errorf("%d other notes and %d turns are left", n, turns(t, c))
	}
}

func wipeAll(ctx context.Context, c *client.Client) error {
	_, err := c.DeleteData(ctx, ambry.DeleteData{Confirm: true})
	return err
}

func wipedWhole(t *testing.T, home string, c *client.Client, acknowledged bool) {
	t.Helper()
	intent := filepath.Join(home, ".ambry", "deleting.json")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := poll(ctx, func() bool { _, err := os.Stat(intent); return err != nil }); err != nil {
		t.Fatal("what was begun is not ended")
	}
	n, said := with(t, c, "lighthouse"), turns(t, c)
	if all := n == keptNotes-keptSecrets+keptAfter && said == keptSessions*keptTurns; !(n == 0 && said == 0) && (!all || acknowledged) {
		t.Errorf("%d notes and %d turns are left (acknowledged: %v)", n, said, acknowledged)
	}
	// The one that was begun may just be saying that it has ended.
	var again error
	if err := poll(ctx, func() bool { again = wipeAll(ctx, c); return ambry.KindOf(again) != ambry.Conflict }); err != nil || again != nil {
		t.Errorf("again: %v", again)
	}
	if n, said := with(t, c, "lighthouse"), turns(t, c); n+said != 0 {
		t.Errorf("%d notes and %d turns are left in the end", n, said)
	}
	if left, _ := os.ReadDir(filepath.Join(home, ".ambry", "backups")); len(left) != 0 {
		t.Errorf("backups are left: %v", left)
	}
	checked, err := c.CheckData(t.Context(), ambry.DataCheck{Words: "lighthouse"})
	if err != nil || !checked.Absent {
		t.Errorf("after all is deleted: %+v, %v", checked.Found, err)
	}
}

func exportAll(ctx context.Context, c *client.Client) error {
	_, err := c.ExportData(ctx, ambry.ExportData{})
	return err
}

func exportedWhole(t *testing.T, home string, c *client.Client, acknowledged bool) {
	t.Helper()
	dir := filepath.Join(home, ".ambry", "exports")
	before := archives(t, dir, c)
	if acknowledged && before != 1 {
		t.Errorf("there are %d archives", before)
	}
	if err := exportAll(t.Context(), c); err != nil {
		t.Errorf("again: %v", err)
	}
	if n := archives(t, dir, c); n != before+1 {
		t.Errorf("there are %d archives, before there were %d", n, before)
	}
	if left, _ := os.ReadDir(dir); len(left) != before+1 {
		t.Errorf("something else is left: %v", left)
	}
}

// archives counts the exports, of which each must be whole.
func archives(t *testing.T, dir string, c *client.Client) int {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.zip"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Errorf("half an archive has the name of a whole one: %v", err)
			continue
		}
		z.Close()
		in, err := c.ImportData(t.Context(), ambry.ImportData{Path: path, DryRun: true})
		if err != nil || in.Conversations != keptSessions {
			t.Errorf("the archive has %d conversations: %v", in.Conversations, err)
		}
	}
	return len(all)
}

func backUp(ctx context.Context, c *client.Client) error {
	_, err := c.Backup(ctx)
	return err
}

func backedUpWhole(t *testing.T, home string, c *client.Client, acknowledged bool) {
	t.Helper()
	before := copies(t, home)
	if acknowledged && before != 2 {
		t.Errorf("there are %d backups", before)
	}
	if err := backUp(t.Context(), c); err != nil {
		t.Errorf("again: %v", err)
	}
	if n := copies(t, home); n != before+1 {
		t.Errorf("there are %d backups, before there were %d", n, before)
	}
}

// copies counts the backups, of which each must be whole, and nothing else may
// be beside them.
func copies(t *testing.T, home string) int {
	t.Helper()
	dir := filepath.Join(home, ".ambry", "backups")
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		path := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(path, ".db") {
			t.Errorf("%s is left", e.Name())
			continue
		}
		if got := ask[string](t, path, "PRAGMA integrity_check"); len(got) != 1 || got[0] != "ok" {
			t.Errorf("%s: %v", e.Name(), got)
		}
		if n := ask[int](t, path, "SELECT count(*) FROM turn")[0]; n != keptSessions*keptTurns {
			t.Errorf("%s has %d turns", e.Name(), n)
		}
	}
	return len(all)
}

// killRestore kills `ambry restore`, while no service runs. The memory is that of
// before or that of the backup, and what was there is in damaged/ then.
func killRestore(t *testing.T, kept string, points int) {
	var total uint64
	ended := 0
	for i := range points + 1 { // the first is not killed
		home := filepath.Join(t.TempDir(), "home")
		if err := os.CopyFS(home, os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(home, ".ambry"), 0o700); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		after := uint64(math.MaxUint64)
		if i > 0 {
			after = total * uint64(2*i-1) / uint64(2*points)
		}
		acknowledged, done := restore(t, home, &said, after)
		total = max(total, done)
		if acknowledged {
			ended++
		}
		restoredWhole(t, home, &said, acknowledged)
		if t.Failed() {
			t.Fatalf("point %d:\n%s", i, said.String())
		}
		_ = os.RemoveAll(home)
	}
	t.Logf("killed at %d points of %d bytes and calls; %d times it was done by then", points, total, ended-1)
	if ended == points+1 {
		t.Error("it was always done before it was killed: this tests nothing")
	}
}

// restore runs `ambry restore` until it has read and written as much as is said,
// and then kills it. It returns how much that was.
func restore(t *testing.T, home string, said io.Writer, after uint64) (acknowledged bool, done uint64) {
	t.Helper()
	cmd := exec.Command("ambry", "restore")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "WORK=" + home}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	for {
		select {
		case err := <-gone:
			return err == nil, done
		default:
			runtime.Gosched()
		}
		if done = max(done, progress(cmd.Process.Pid)); done >= after {
			_ = cmd.Process.Kill() // it may have ended
			return <-gone == nil, done
		}
	}
}

func restoredWhole(t *testing.T, home string, said *bytes.Buffer, acknowledged bool) {
	t.Helper()
	const ours, theirs = keptNotes - keptSecrets + keptAfter, keptNotes - keptSecrets
	const count = "SELECT count(*) FROM memory WHERE body LIKE '%lighthouse%'"
	service, c := serve(t, home, said)
	n := with(t, c, "lighthouse")
	if n != theirs && (n != ours || acknowledged) || turns(t, c) != keptSessions*keptTurns {
		t.Errorf("%d notes and %d turns are there (acknowledged: %v)", n, turns(t, c), acknowledged)
	}
	end(t, service)
	if n == theirs {
		aside, _ := filepath.Glob(filepath.Join(home, ".ambry", "damaged", "memory-*.db"))
		if len(aside) != 1 || ask[int](t, aside[0], count)[0] != ours {
			t.Errorf("what was there is in %v", aside)
		}
	}
	if again, _ := restore(t, home, said, math.MaxUint64); !again {
		t.Error("it does not work again")
	}
	left, _ := filepath.Glob(filepath.Join(home, ".ambry", "memory.db.*"))
	if n := ask[int](t, filepath.Join(home, ".ambry", "memory.db"), count)[0]; n != theirs || len(left) != 0 {
		t.Errorf("in the end there are %d notes, and %v", n, left)
	}
}
