package agent_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// rows is an agent with a table of texts, a turn a row.
var rows = agent.Rows{
	Dirs:  func(h agent.Home) []string { return []string{h.Dir} },
	Match: func(name string) bool { return strings.HasSuffix(name, ".db") },
	Each: func(ctx context.Context, db *sql.DB, src agent.Source, cursor string, emit agent.Emit) error {
		last, _ := strconv.Atoi(cursor)
		for {
			var text string
			err := db.QueryRowContext(ctx, "SELECT id, text FROM said WHERE id > ? ORDER BY id LIMIT 1", last).Scan(&last, &text)
			if err == sql.ErrNoRows {
				return nil
			}
			if err != nil {
				return err
			}
			b := agent.NewBuilder(src.Path, fmt.Sprint(last))
			b.Session = ambry.Session{ID: "s", Agent: "rows"}
			b.Begin(ambry.Turn{ID: fmt.Sprint(last)})
			b.Add(ambry.Message{Role: ambry.User, Text: text})
			b.Took(int64(len(text)))
			if text == "" {
				b.Skip("empty")
			}
			if !emit(b, fmt.Sprint(last)) {
				return nil
			}
		}
	},
}

// writer opens a database as the agent that owns it does, and keeps it open.
func writer(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	exec(t, db, "CREATE TABLE IF NOT EXISTS said (id INTEGER PRIMARY KEY, text TEXT)")
	return db
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func say(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	exec(t, db, "INSERT INTO said (text) VALUES (?)", text)
}

func databaseSource(t *testing.T, path string) agent.Source {
	t.Helper()
	src, err := agent.DatabaseSource(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// readRows reads a database from a mark and returns the texts and the last mark.
func readRows(t *testing.T, path string, from agent.Mark) ([]string, agent.Mark) {
	t.Helper()
	items := read(t, rows, databaseSource(t, path), from)
	return texts(items), items[len(items)-1].Next
}

func TestALiveDatabaseIsReadToItsNewestRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.db")
	db := writer(t, path)
	say(t, db, "one")
	got, mark := readRows(t, path, agent.Mark{})
	if diff := cmp.Diff([]string{"1/0: one"}, got); diff != "" {
		t.Error(diff)
	}
	if !mark.Covers(databaseSource(t, path)) {
		t.Error("nothing was written, but the mark does not cover it")
	}
	say(t, db, "two")
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Fatal("the row is not in the log; this is no test")
	}
	if got, mark = readRows(t, path, mark); !cmp.Equal([]string{"2/0: two"}, got) {
		t.Errorf("got %q", got)
	}
	if mark.Messages != 2 {
		t.Errorf("the mark counts %d messages", mark.Messages)
	}
}

func TestReadingADatabaseStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := writer(t, path)
	for _, s := range []string{"one", "two", "three"} {
		say(t, db, s)
	}
	src := databaseSource(t, path)
	var first agent.Item
	for item, err := range rows.Read(t.Context(), src, agent.Mark{}) {
		if err != nil {
			t.Fatal(err)
		}
		first = item
		break
	}
	got, _ := readRows(t, path, first.Next)
	if diff := cmp.Diff([]string{"2/0: two", "3/0: three"}, got); diff != "" {
		t.Error(diff)
	}
	other := first.Next
	other.FileID = "another database"
	if got, _ := readRows(t, path, other); len(got) != 3 {
		t.Errorf("a mark of another database was used: %q", got)
	}
}

func TestWhatADatabaseHasIsCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := writer(t, path)
	say(t, db, "one")
	say(t, db, "")
	src := databaseSource(t, path)
	counting := rows
	counting.Count = func(ctx context.Context, db *sql.DB) (n int64, err error) {
		return n, db.QueryRowContext(ctx, "SELECT 10 * count(*) FROM said").Scan(&n)
	}
	var read, messages []int64
	var notes []string
	for item, err := range counting.Read(t.Context(), src, agent.Mark{}) {
		if err != nil {
			t.Fatal(err)
		}
		read, messages, notes = append(read, item.Read), append(messages, item.Next.Messages), append(notes, item.Notes...)
	}
	if diff := cmp.Diff([]int64{3, 0, src.Size - 3}, read); diff != "" {
		t.Errorf("bytes:\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1, 2, 20}, messages); diff != "" {
		t.Errorf("messages:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"row 2: empty"}, notes); diff != "" {
		t.Errorf("notes:\n%s", diff)
	}
}

// TestEveryCommitChangesTheStamp includes commits into a log that was written
// back and began anew: its size stays, and the clock may be too coarse.
func TestEveryCommitChangesTheStamp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := writer(t, path)
	seen := map[string]int{}
	for i := range 40 {
		if i%10 == 9 {
			exec(t, db, "PRAGMA wal_checkpoint(RESTART)")
		}
		say(t, db, strings.Repeat("x", i))
		stamp := databaseSource(t, path).Stamp
		if before, ok := seen[stamp]; ok {
			t.Errorf("after commit %d the stamp is that of commit %d", i, before)
		}
		seen[stamp] = i
	}
}

func TestReadingChangesNoStamp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := writer(t, path)
	say(t, db, "one")
	before := databaseSource(t, path)
	readRows(t, path, agent.Mark{})
	if diff := cmp.Diff(before, databaseSource(t, path)); diff != "" {
		t.Error(diff)
	}
}

func TestADatabaseIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	say(t, writer(t, path), "one")
	db, err := agent.OpenDatabase(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{"INSERT INTO said (text) VALUES ('x')", "DROP TABLE said", "CREATE TABLE x (a)", "VACUUM"} {
		if _, err := db.ExecContext(t.Context(), query); err == nil {
			t.Errorf("%s was carried out", query)
		}
	}
}

func TestPathsWithSigns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?mode=rwc#x%20é")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("this system has no such names: ", err)
	}
	path := filepath.Join(dir, "?#% 1.db")
	say(t, writer(t, path), "one")
	got, _ := readRows(t, path, agent.Mark{})
	if diff := cmp.Diff([]string{"1/0: one"}, got); diff != "" {
		t.Error(diff)
	}
	if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 1 {
		t.Errorf("something was made beside it: %v", entries)
	}
}

func TestABusyDatabaseIsAnErrorAndNotEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec(t, db, "CREATE TABLE said (id INTEGER PRIMARY KEY, text TEXT)")
	exec(t, db, "BEGIN EXCLUSIVE")
	src := databaseSource(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	items := 0
	for item, err := range rows.Read(ctx, src, agent.Mark{}) {
		if items++; err == nil {
			t.Errorf("got %+v", item)
		}
	}
	if items != 1 || ctx.Err() != nil {
		t.Errorf("%d items, %v", items, ctx.Err())
	}
	exec(t, db, "COMMIT")
	if got, _ := readRows(t, path, agent.Mark{}); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsNoDatabaseIsAnError(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "x.db", strings.Repeat("no database ", 1000))
	for item, err := range rows.Read(t.Context(), databaseSource(t, path), agent.Mark{}) {
		if err == nil {
			t.Errorf("got %+v", item)
		} else if strings.Contains(err.Error(), dir) {
			t.Errorf("the error tells the path: %v", err)
		}
	}
	if _, err := agent.DatabaseSource(dir); err == nil {
		t.Error("a directory is a database")
	}
	if _, err := agent.OpenDatabase(t.Context(), filepath.Join(dir, "gone.db")); err == nil {
		t.Error("a database that does not exist was opened")
	}
	if _, err := os.Stat(filepath.Join(dir, "gone.db")); err == nil {
		t.Error("it was even made")
	}
}

func TestDatabasesAreFound(t *testing.T) {
	home := t.TempDir()
	say(t, writer(t, filepath.Join(home, "b.db")), "one")
	say(t, writer(t, filepath.Join(home, "a.db")), "one")
	write(t, home, "notes.txt", "")
	h := agent.Home{Dir: home}
	var got []string
	for src, err := range rows.Sources(t.Context(), h) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.Base(src.Path))
	}
	if diff := cmp.Diff([]string{"a.db", "b.db"}, got); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]bool{"a.db": true, "a.db-wal": true, "notes.txt": false, "gone.db": false} {
		src, ok := rows.Locate(h, filepath.Join(home, name))
		if ok != want || ok && filepath.Base(src.Path) != "a.db" {
			t.Errorf("%s: %v, %v", name, src.Path, ok)
		}
	}
}
