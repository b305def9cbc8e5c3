package store_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// canary is in no other text of these tests.
const canary = "Quetzalmarmalade"

// traces returns how often the canary stands in the raw bytes of the files of a
// memory, also packed, and what is not empty among the free pages.
func traces(t testing.TB, dir string) int {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	n := 0
	files, _ := filepath.Glob(filepath.Join(dir, "memory.db*"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		needle := []byte(strings.ToLower(canary))
		n += bytes.Count(bytes.ToLower(data), needle)
		n += bytes.Count(bytes.ToLower(data), needle[6:]) // the index leaves out what a term begins with
		for i := 0; ; {
			j := bytes.Index(data[i:], []byte{0x28, 0xb5, 0x2f, 0xfd})
			if j < 0 {
				break
			}
			i += j
			if plain, _ := d.DecodeAll(data[i:], nil); bytes.Contains(bytes.ToLower(plain), needle) {
				n++
			}
			i += 4
		}
	}
	return n
}

// crowd fills a memory with what shall stay, and things to forget in every place
// that can hold them.
func crowd(t testing.TB, s *store.Store) (forgettable ambry.Conversation) {
	t.Helper()
	for i := range 12 {
		mustImport(t, s, talk(fmt.Sprintf("stays-%d", i), "why does the gateway restart?", "which port has the broker?", strings.Repeat("long words of no importance ", 300)))
	}
	c := talk("secret", "what is "+canary+"?", "is "+strings.ToUpper(canary)+" ready?", "something harmless")
	c.Session.Title = "About " + canary
	c.Turns[1].Messages = append(c.Turns[1].Messages, ambry.Message{ID: "big", Role: ambry.Assistant, Text: strings.Repeat("noise about "+canary+"s and others, ", 2000)})
	c.Turns[2].Messages[1].Calls[0].Output = "grep: " + canary + ".go"
	hidden := talk("secret", "x", "x", "x", "hidden "+canary).Turns[3]
	for i := range hidden.Messages {
		hidden.Messages[i].Hidden = true
	}
	c.Turns = append(c.Turns, hidden)
	mustImport(t, s, c)
	if _, err := s.Add(t.Context(), ambry.Note{Content: "remember " + canary, Title: canary, Tags: []string{"t-" + canary}, Source: "api"}, "key-of-note"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.StartTurn(t.Context(), ambry.TurnStart{SessionID: "live", Source: "codex", TurnID: "unanswered", Query: "and " + canary}); err != nil {
		t.Fatal(err)
	}
	s.Record(func() store.Call {
		return store.Call{ID: "call-1", Tool: ambry.ToolSearch, At: time.Now(), Input: ambry.Query{Query: canary}}
	})
	return c
}

func TestForgottenWordsAreNowhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "memory.db")
	s, shut := openAt(t, path)
	c := crowd(t, s)
	if n := traces(t, dir); n == 0 {
		t.Fatal("the canary is not seen before it is forgotten; the test sees nothing")
	}
	dry, err := s.ForgetAll(t.Context(), ambry.Forget{Words: canary, DryRun: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	if dry.Memories != 4 || dry.Turns != 4 || dry.Titles != 1 || dry.Calls != 1 || len(dry.Examples) != 4 {
		t.Errorf("a dry run says %+v", dry)
	}
	done, err := s.ForgetAll(t.Context(), ambry.Forget{Words: strings.ToLower(canary)}, "once")
	if err != nil {
		t.Fatal(err)
	}
	if done.Memories != dry.Memories || done.Turns != dry.Turns || done.Examples != nil {
		t.Errorf("a dry run promised %+v, done was %+v", dry, done)
	}
	if again, err := s.ForgetAll(t.Context(), ambry.Forget{Words: strings.ToLower(canary)}, "once"); err != nil || again.Memories != done.Memories {
		t.Errorf("the same key again: %+v, %v", again, err)
	}
	if _, err := s.ForgetAll(t.Context(), ambry.Forget{Words: canary}, ""); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("forgetting what is not there: %v", err)
	}
	if got, err := s.Scrub(t.Context(), false); err != nil || !got.Done {
		t.Fatalf("scrub: %+v, %v", got, err)
	}
	if n := traces(t, dir); n > 0 {
		t.Errorf("the canary stands in %d places", n)
	}
	// What comes back from the agent's log, also under another session, stays away.
	if n := mustImport(t, s, c); n.Added != 0 {
		t.Errorf("a rescan brought back %+v", n)
	}
	copied := c
	copied.Session.ID = "copy"
	mustImport(t, s, copied)
	if n := traces(t, dir); n > 0 {
		t.Errorf("after a rescan the canary stands in %d places", n)
	}
	shut()
	verify(t, path)
	if n := traces(t, dir); n > 0 {
		t.Errorf("after the end the canary stands in %d places", n)
	}
}

func TestForgetBySelection(t *testing.T) {
	for name, tt := range map[string]struct {
		forget                    ambry.Forget
		memories, turns, sessions int64
	}{
		"a session":            {ambry.Forget{SessionID: "b"}, 2, 2, 1},
		"of one agent":         {ambry.Forget{SessionID: "b", Agent: "codex"}, 2, 2, 1},
		"an agent":             {ambry.Forget{Agent: "codex"}, 5, 5, 3},
		"a project and below":  {ambry.Forget{Project: "/home/ana/work/"}, 6, 5, 3},
		"a directory of it":    {ambry.Forget{Project: "/home/ana/work/infra/deep"}, 1, 1, 1},
		"not a name that ends": {ambry.Forget{Project: "/home/ana/work/inf"}, 0, 0, 0},
		"another agent":        {ambry.Forget{SessionID: "b", Agent: "cursor"}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			s, shut := openAt(t, path)
			deep := talk("c", "where is the config?")
			deep.Session.Cwd = "/home/ana/work/infra/deep"
			mustImport(t, s, talk("a", "one question", "two questions"), talk("b", "three questions", "four questions"), deep)
			if _, err := s.Add(t.Context(), ambry.Note{Content: "a note", Source: "cursor", Project: "/home/ana/work/infra"}, ""); err != nil {
				t.Fatal(err)
			}
			done, err := s.ForgetAll(t.Context(), tt.forget, "")
			if tt.memories == 0 {
				if ambry.KindOf(err) != ambry.NotFound {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || done.Memories != tt.memories || done.Turns != tt.turns || done.Sessions != tt.sessions {
				t.Errorf("got %+v, %v", done, err)
			}
			shut()
			verify(t, path)
		})
	}
}

func TestForgettingASessionTakesTheTurnsThatOthersHoldToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, shut := openAt(t, path)
	first := talk("a", "one", "two")
	fork := talk("fork", "three")
	fork.Turns = append([]ambry.Turn{first.Turns[0]}, fork.Turns...)
	mustImport(t, s, first, fork)
	done, err := s.ForgetAll(t.Context(), ambry.Forget{SessionID: "fork"}, "")
	if err != nil || done.Turns != 2 || done.Shared != 1 {
		t.Errorf("got %+v, %v", done, err)
	}
	if n := mustImport(t, s, first, fork); n.Added != 0 {
		t.Errorf("they came back: %+v", n)
	}
	shut()
	verify(t, path)
}

func TestWipeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "memory.db")
	s, shut := openAt(t, path)
	c := crowd(t, s)
	if _, err := s.ForgetAll(t.Context(), ambry.Forget{SessionID: "stays-1"}, ""); err != nil {
		t.Fatal(err)
	}
	done, err := s.Wipe(t.Context(), false)
	if err != nil || !done.Scrubbed || done.Memories == 0 || done.Calls != 1 {
		t.Fatalf("got %+v, %v", done, err)
	}
	if n := traces(t, dir); n > 0 {
		t.Errorf("the canary stands in %d places", n)
	}
	if o, err := s.Reports().Overview(t.Context()); err != nil || o.Counts.Memories != 0 || o.Counts.Turns != 0 {
		t.Errorf("left: %+v, %v", o.Counts, err)
	}
	if n := mustImport(t, s, talk("stays-1", "why does the gateway restart?")); n.Added != 0 {
		t.Error("what was forgotten before came back")
	}
	if n := mustImport(t, s, c); n.Added != 4 {
		t.Errorf("a full scan after it added %+v", n)
	}
	if _, err := s.Wipe(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if n := mustImport(t, s, talk("stays-1", "why does the gateway restart?")); n.Added != 1 {
		t.Error("after everything was deleted, nothing is known to be forgotten")
	}
	shut()
	verify(t, path)
}

// Whoever adds a table has to say what forgetting does with it.
func TestEveryTableIsAmongTheHoldings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	_, shut := openAt(t, path)
	shut()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	known := store.Holdings()
	tables := query(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT GLOB 'index_*'`)
	for _, table := range tables {
		table = strings.TrimPrefix(strings.TrimSpace(table), "name=")
		if !known[table] {
			t.Errorf("table %s is not in the holdings: say there what forgetting does with it", table)
		}
	}
	if len(tables) < 10 || len(known) != len(tables) {
		t.Errorf("%d tables, %d holdings", len(tables), len(known))
	}
}

// forgetEnv makes the test binary forget the canary in the memory at a path; it
// says when it begins, and when it has done.
const forgetEnv = "AMBRY_TEST_FORGET_IN"

func forgetAsChild(path string) error {
	s, err := store.Open(context.Background(), store.Config{Path: path})
	if err != nil {
		return err
	}
	fmt.Println("begin")
	if _, err := s.ForgetAll(context.Background(), ambry.Forget{Words: canary}, ""); err != nil {
		return err
	}
	fmt.Println("forgotten")
	if _, err := s.Scrub(context.Background(), true); err != nil {
		return err
	}
	fmt.Println("scrubbed")
	return nil
}

func TestKilledWhileForgettingIsAllOrNothing(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 3
	}
	seen := map[string]int{}
	for round := range rounds {
		dir := t.TempDir()
		path := filepath.Join(dir, "memory.db")
		s, shut := openAt(t, path)
		crowd(t, s)
		shut()
		said := killWhileForgetting(t, path, round)
		s, shut = openAt(t, path)
		left, err := s.ForgetAll(t.Context(), ambry.Forget{Words: canary, DryRun: true}, "")
		switch {
		case ambry.KindOf(err) == ambry.NotFound:
			seen["all"]++
		case err != nil:
			t.Fatal(err)
		case left.Memories != 4 || left.Turns != 4 || left.Titles != 1 || left.Calls != 1:
			t.Errorf("a part was forgotten, left is %+v", left)
		case said:
			t.Error("it was acknowledged, and not done")
		default:
			seen["nothing"]++
			if _, err := s.ForgetAll(t.Context(), ambry.Forget{Words: canary}, ""); err != nil {
				t.Fatal(err)
			}
		}
		shut() // overwrites what is owed
		verify(t, path)
		if n := traces(t, dir); n > 0 {
			t.Errorf("round %d: the canary stands in %d places", round, n)
		}
	}
	t.Log(seen)
}

// killWhileForgetting kills the child some syscalls after it has begun, a
// little later each round, and reports whether it had acknowledged.
func killWhileForgetting(t *testing.T, path string, round int) (acknowledged bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), forgetEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch lines.Text() {
		case "begin":
			if round%3 == 0 { // somewhere inside
				for range round * 2000 {
					_ = cmd.Process.Pid
				}
				_ = cmd.Process.Kill()
			}
		case "forgotten":
			acknowledged = true
			if round%3 == 1 { // while its bytes are overwritten
				_ = cmd.Process.Kill()
			}
		case "scrubbed":
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return acknowledged
}
