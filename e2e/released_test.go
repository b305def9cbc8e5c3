//go:build linux

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// TestReleasedHomesOpen opens a home as each schema that there ever was has left
// it (see scripts/released.sh). All of it is found, by its ids and by its words,
// what was forgotten stays so, a history that was read is known, and there is a
// copy of each database from before each step.
func TestReleasedHomesOpen(t *testing.T) {
	homes, err := filepath.Glob("testdata/released/memory*-state*.tar.gz")
	if err != nil || len(homes) < 9 {
		t.Fatalf("the homes are %v, %v", homes, err)
	}
	for _, archive := range homes {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), func(t *testing.T) {
			home := t.TempDir()
			unpackHome(t, archive, home)
			unpackHome(t, "testdata/released/history.tar.gz", home)
			r := &released{t: t, ambry: filepath.Join(home, ".ambry")}
			r.remember()
			cmd, c := serve(t, home, t.Output())
			r.isThere(c)
			end(t, cmd)
			r.isKept()
		})
	}
}

// released is a home of an older program.
type released struct {
	t     *testing.T
	ambry string

	memories        map[string]string // titles, by id
	sessions, turns int
	forgotten       int
	memory, state   int      // versions
	choices         []string // rows of choiceTables
}

// choiceTables are those of app.db whose rows a start leaves as they are.
var choiceTables = map[string]string{
	"install": "agent || part || state", "agent_token": "id || agent || hex(digest)", "manual_source": "id || name || path || format",
}

// remember reads what is in the files as they are.
func (r *released) remember() {
	memory, app := filepath.Join(r.ambry, "memory.db"), filepath.Join(r.ambry, "app.db")
	r.memory, r.state = ask[int](r.t, memory, "PRAGMA user_version")[0], ask[int](r.t, app, "PRAGMA user_version")[0]
	r.memories = map[string]string{}
	for _, row := range ask[string](r.t, memory, "SELECT public || ' ' || title FROM memory") {
		id, title, _ := strings.Cut(row, " ")
		r.memories[id] = title
	}
	r.sessions, r.turns = ask[int](r.t, memory, "SELECT count(*) FROM session WHERE turns > 0")[0], ask[int](r.t, memory, "SELECT count(*) FROM turn")[0]
	r.forgotten = ask[int](r.t, memory, "SELECT count(*) FROM tombstone")[0]
	if len(r.memories) < 50 || r.turns < 50 {
		r.t.Fatalf("only %d memories and %d turns: this shows nothing", len(r.memories), r.turns)
	}
	r.choices = r.chosen()
}

// chosen returns the rows of choiceTables.
func (r *released) chosen() []string {
	app := filepath.Join(r.ambry, "app.db")
	var all []string
	for table, row := range choiceTables {
		if len(ask[string](r.t, app, "SELECT name FROM sqlite_schema WHERE name = '"+table+"'")) == 1 {
			all = append(all, ask[string](r.t, app, "SELECT '"+table+" ' || "+row+" FROM "+table)...)
		}
	}
	return all
}

// isThere asks the service that runs on it now.
func (r *released) isThere(c *client.Client) {
	t, ctx := r.t, r.t.Context()
	for id, title := range r.memories {
		d, err := c.Get(ctx, id)
		if err != nil || d.Title != title {
			t.Errorf("%s is %q, %v; want %q", id, d.Title, err, title)
		}
	}
	for words, want := range map[string]string{
		"who is on leave until Thursday": "lock keeper of canal nine", "Dichtungen der Schleuse": "Schleuse", "why did the nightly backup fail": "backup",
	} {
		a, err := c.Search(ctx, ambry.Query{Query: words})
		if err != nil || !slices.ContainsFunc(a.Hits, func(h ambry.Hit) bool { return strings.Contains(fmt.Sprint(h), want) }) {
			t.Errorf("%q does not find %q: %v, %v", words, want, a.Hits, err)
		}
	}
	r.counts(c, "when it is opened")
	started, err := c.Scan(ctx, ambry.ScanRequest{Mode: ambry.Full})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := c.WaitScan(ctx, started.JobID, func(ambry.ScanProgress) {}); err != nil || !done.Succeeded {
		t.Fatalf("the scan: %+v, %v", done, err)
	}
	r.counts(c, "when its history is read again")
}

func (r *released) counts(c *client.Client, when string) {
	r.t.Helper()
	o, err := c.Overview(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if o.Counts.Turns != int64(r.turns) || o.Counts.Sessions != int64(r.sessions) {
		r.t.Errorf("%s: %+v, want %d sessions with %d turns", when, o.Counts, r.sessions, r.turns)
	}
}

// isKept looks into the files after the service has ended.
func (r *released) isKept() {
	t := r.t
	memory, app := filepath.Join(r.ambry, "memory.db"), filepath.Join(r.ambry, "app.db")
	for name, was := range map[string]int{"memory": r.memory, "app": r.state} {
		is := ask[int](t, filepath.Join(r.ambry, name+".db"), "PRAGMA user_version")[0]
		for version := was; version < is; version++ {
			copies, _ := filepath.Glob(filepath.Join(r.ambry, "backups", fmt.Sprintf("%s-schema%d-*.db", name, version)))
			if len(copies) == 0 {
				t.Fatalf("there is no copy of %s from before step %d", name, version+1)
			}
			if got := ask[int](t, copies[0], "PRAGMA user_version")[0]; got != version {
				t.Errorf("%s has version %d", copies[0], got)
			}
			if name == "memory" {
				if got := ask[int](t, copies[0], "SELECT count(*) FROM memory")[0]; got != len(r.memories) {
					t.Errorf("%s has %d memories, want %d", copies[0], got, len(r.memories))
				}
			}
		}
		// What comes before the newest schema has to be here.
		for version := 1; version < is; version++ {
			if name == "app" && version == 2 {
				continue // no program ran with it: two steps had this number for an hour
			}
			part := map[string]string{"memory": "memory%d-state*", "app": "memory*-state%d"}[name]
			if found, _ := filepath.Glob("testdata/released/" + fmt.Sprintf(part, version) + ".tar.gz"); len(found) == 0 {
				t.Errorf("there is no home with version %d of %s.db; make one with scripts/released.sh", version, name)
			}
		}
	}
	for _, path := range []string{memory, app} {
		if got := ask[string](t, path, "PRAGMA integrity_check"); len(got) != 1 || got[0] != "ok" {
			t.Errorf("%s: %v", path, got)
		}
	}
	if got := ask[int](t, memory, "SELECT count(*) FROM tombstone")[0]; got != r.forgotten {
		t.Errorf("%d memories are forgotten, want %d", got, r.forgotten)
	}
	now := r.chosen()
	for _, row := range r.choices {
		if !slices.Contains(now, row) {
			t.Errorf("%s is gone from app.db", row)
		}
	}
}

// TestNewerHomesAreRefused opens databases of a program that is still to come:
// not a byte of them changes, and the reason is told.
func TestNewerHomesAreRefused(t *testing.T) {
	for _, name := range []string{"memory.db", "app.db"} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			unpackHome(t, "testdata/released/memory5-state6.tar.gz", home)
			dir := filepath.Join(home, ".ambry")
			newer := filepath.Join(dir, name)
			ask[int](t, newer, "PRAGMA user_version = 99")
			before := databases(t, dir)
			cmd := exec.Command("ambry", "serve")
			var said bytes.Buffer
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "WORK=" + home}
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if name == "app.db" {
				if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "newer version") {
					t.Errorf("it ends with %v: %s", err, said.String())
				}
			} else {
				reason := memoryReason(t, dir, cmd.Process.Pid)
				end(t, cmd)
				if !strings.Contains(reason, "newer version") {
					t.Errorf("the reason is %q", reason)
				}
			}
			for file, was := range before {
				if file != name && name == "memory.db" {
					continue // the service writes into its own
				}
				if is, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Equal(was, is) {
					t.Errorf("%s was changed: %v", file, err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "backups", "*")); len(left) != 0 {
				t.Errorf("it was copied: %v", left)
			}
		})
	}
}

// memoryReason waits until the service says why its memory does not answer.
func memoryReason(t *testing.T, dir string, pid int) (reason string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := poll(ctx, func() bool {
		c, rt, err := client.Find(ctx, dir)
		if err != nil || rt.PID != pid {
			return false
		}
		defer c.Close()
		b, err := c.Bootstrap(ctx)
		reason = b.Health.MemoryReason
		return err == nil && reason != ""
	})
	if err != nil {
		t.Errorf("no reason is told: %v", err)
	}
	return reason
}

// databases returns the content of the databases of a home.
func databases(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, name := range []string{"memory.db", "app.db"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = data
	}
	return all
}

// ask runs a query of one column on a database that nobody has open.
func ask[T any](t *testing.T, path, query string) (all []T) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var one T
		if err := rows.Scan(&one); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// unpackHome unpacks files and directories of an archive of ours.
func unpackHome(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		data, err := io.ReadAll(files)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledWhileMigrating kills the program while it brings the oldest home to
// the newest schema, again and again on the same one, and then once more lets it.
func TestKilledWhileMigrating(t *testing.T) {
	points := uint64(8)
	switch {
	case os.Getenv("AMBRY_FAULTS") == "long":
		points = 200
	case testing.Short():
		points = 3
	}
	const oldest = "testdata/released/memory1-state1.tar.gz"
	var total uint64
	for i := range points + 1 { // the first is not killed
		home := t.TempDir()
		unpackHome(t, oldest, home)
		r := &released{t: t, ambry: filepath.Join(home, ".ambry")}
		r.remember()
		if i > 0 {
			killedStart(t, home, total*(2*i-1)/(2*points))
		}
		cmd, c := serve(t, home, t.Output())
		if i == 0 {
			total = progress(cmd.Process.Pid, child(cmd.Process.Pid, "memory"))
		}
		r.counts(c, "after all")
		end(t, cmd)
		r.isKept()
		if t.Failed() {
			t.Fatalf("at point %d of %d", i, points)
		}
	}
	t.Logf("killed at %d points of %d bytes and calls", points, total)
}

// killedStart starts the program and kills it, and its runtime with it, once it
// has read and written as much as is said.
func killedStart(t *testing.T, home string, after uint64) {
	t.Helper()
	cmd := exec.Command("ambry", "serve")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "WORK=" + home}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	memory := 0
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		if memory == 0 {
			memory = child(cmd.Process.Pid, "memory")
		}
		if progress(cmd.Process.Pid, memory) >= after || time.Now().After(deadline) {
			break
		}
	}
	if memory != 0 {
		_ = killProcess(memory)
	}
	if err := killProcess(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}
