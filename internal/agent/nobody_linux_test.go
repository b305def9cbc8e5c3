package agent_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry/internal/agent"
)

// asNobody runs f with the file rights of a person who owns nothing: root may
// read and write everything, which is no test.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with its rights
		if err := syscall.Setfsuid(65534); err != nil {
			t.Errorf("cannot become nobody: %v", err)
			return
		}
		f()
	}()
	<-done
}

// publicDir is a directory that everybody can look into.
func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(path, 0o755) })
}

func TestAnUnreadableDirectoryDoesNotHideTheRest(t *testing.T) {
	home := publicDir(t)
	write(t, home, "a/1/x.jsonl", "")
	write(t, home, "a/2/y.jsonl", "")
	chmod(t, filepath.Join(home, "a", "1"), 0)
	asNobody(t, func() {
		var found, failed []string
		for src, err := range toy.Sources(t.Context(), agent.Home{Dir: home}) {
			if err == nil {
				found = append(found, filepath.Base(src.Path))
			} else {
				failed = append(failed, filepath.Base(src.Path))
			}
		}
		if diff := cmp.Diff([][]string{{"y.jsonl"}, {"1"}}, [][]string{found, failed}); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnUnreadableFileIsAnError(t *testing.T) {
	path := write(t, publicDir(t), "a/x.jsonl", `{"begin":"t","say":"one"}`)
	chmod(t, path, 0)
	asNobody(t, func() {
		for item, err := range toy.Read(t.Context(), source(t, path), agent.Mark{}) {
			if err == nil {
				t.Errorf("got %+v", item)
			}
		}
	})
}

func TestAPipeIsNotWaitedFor(t *testing.T) {
	home := t.TempDir()
	path := write(t, home, "a/x.jsonl", `{"begin":"t","say":"one"}`)
	src := source(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	for src := range toy.Sources(t.Context(), agent.Home{Dir: home}) {
		t.Errorf("the pipe is a source: %s", src.Path)
	}
	for _, err := range toy.Read(t.Context(), src, agent.Mark{}) {
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("got %v", err)
		}
	}
}

// closedDatabase makes a database in log mode that its owner has closed, in a
// directory where nobody may write.
func closedDatabase(t *testing.T) string {
	dir := publicDir(t)
	path := filepath.Join(dir, "x.db")
	db := writer(t, path)
	say(t, db, "one")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Fatal("the log is still there; this is no test")
	}
	chmod(t, path, 0o444)
	chmod(t, dir, 0o555)
	return path
}

func TestAClosedDatabaseIsReadWhereNothingCanBeWritten(t *testing.T) {
	path := closedDatabase(t)
	asNobody(t, func() {
		got, _ := readRows(t, path, agent.Mark{})
		if diff := cmp.Diff([]string{"1/0: one"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestADatabaseWithALogIsNeverReadWithoutIt(t *testing.T) {
	dir := publicDir(t)
	path := filepath.Join(dir, "x.db")
	db := writer(t, path)
	say(t, db, "one")
	chmod(t, path+"-wal", 0)
	chmod(t, path+"-shm", 0)
	chmod(t, dir, 0o555)
	asNobody(t, func() {
		for item, err := range rows.Read(t.Context(), agent.Source{Path: path}, agent.Mark{}) {
			if err == nil {
				t.Errorf("got %+v", item)
			}
		}
	})
	var n int
	if err := db.QueryRow("SELECT count(*) FROM said").Scan(&n); err != nil || n != 1 {
		t.Errorf("its owner sees %d rows, %v", n, err)
	}
}
