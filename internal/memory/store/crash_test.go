package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// childEnv makes the test binary write to the memory at a path until it is
// killed; each line it prints is something that was acknowledged.
const childEnv = "AMBRY_TEST_WRITE_TO"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := writeUntilKilled(path, os.Getenv("AMBRY_TEST_ROUND")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if path := os.Getenv(forgetEnv); path != "" {
		if err := forgetAsChild(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func writeUntilKilled(path, round string) error {
	s, err := store.Open(context.Background(), store.Config{Path: path})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	said := func(kind, id string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(kind, id)
	}
	errs := make(chan error)
	for client := range 3 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%s-%d-%d", round, client, i)
				m, err := s.Add(context.Background(), ambry.Note{Content: "note " + key}, key)
				if err != nil {
					errs <- err
					return
				}
				said("note", key+" "+m.ID)
			}
		}()
	}
	go func() {
		for i := 0; ; i++ {
			id := fmt.Sprintf("%s-session-%d", round, i)
			if _, err := s.Import(context.Background(), []ambry.Conversation{crashTalk(id)}); err != nil {
				errs <- err
				return
			}
			said("session", id)
		}
	}()
	go func() {
		for i := 0; ; i++ {
			id := fmt.Sprintf("%s-%d", round, i)
			if _, err := s.StartTurn(context.Background(), ambry.TurnStart{SessionID: "live", Source: "codex", TurnID: id, Query: "asked " + id}); err != nil {
				errs <- err
				return
			}
			said("start", id)
			done, err := s.CompleteTurn(context.Background(), toldTurn(id), "")
			if err != nil {
				errs <- err
				return
			}
			said("turn", id+" "+done.MemoryID)
		}
	}()
	return <-errs
}

// toldTurn is a turn as an agent tells of it.
func toldTurn(id string) store.Told {
	return store.Told{
		Session: ambry.Session{Agent: "codex", ID: "live"},
		Turn: ambry.Turn{ID: id, At: day, Messages: []ambry.Message{
			{ID: "q", Role: ambry.User, Text: "asked " + id}, {ID: "a", Role: ambry.Assistant, Text: "answered " + id},
		}},
	}
}

// crashTalk is a session whose last turn every other session has too, so that
// turns are merged while the process dies.
func crashTalk(id string) ambry.Conversation {
	c := talk(id, "first question of "+id, "second question of "+id)
	common := talk("common", "a question of everybody").Turns[0]
	common.Messages[1].ID = "answer of " + id
	c.Turns = append(c.Turns, common)
	return c
}

func TestKilledWriterLosesNothingAcknowledged(t *testing.T) {
	cycles := 10
	if testing.Short() {
		cycles = 2
	}
	path := filepath.Join(t.TempDir(), "memory.db")
	var acknowledged []string
	for round := range cycles {
		acknowledged = append(acknowledged, killAfter(t, path, round, 20+rand.IntN(200))...)
		s, err := store.Open(t.Context(), store.Config{Path: path})
		if err != nil {
			t.Fatalf("round %d: open after kill: %v", round, err)
		}
		checkAcknowledged(t, s, acknowledged)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		verify(t, path)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d acknowledged writes in %d rounds", len(acknowledged), cycles)
}

// killAfter starts a writer, kills it after n acknowledgements, and returns all
// it gave.
func killAfter(t *testing.T, path string, round, n int) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path, fmt.Sprintf("AMBRY_TEST_ROUND=%d", round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		lines = append(lines, scanner.Text())
		if len(lines) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(lines) < n {
		t.Fatalf("the writer ended by itself after %d writes: %v", len(lines), err)
	}
	return lines
}

func checkAcknowledged(t *testing.T, s *store.Store, lines []string) {
	t.Helper()
	notes := map[string]bool{}
	for _, line := range lines {
		what, rest, _ := strings.Cut(line, " ")
		if what == "session" {
			if n := mustImport(t, s, crashTalk(rest)); n.Added+n.Updated != 0 {
				t.Errorf("%s was acknowledged, but importing it again changed %+v", line, n)
			}
			continue
		}
		if what == "start" || what == "turn" {
			checkTurn(t, s, line)
			continue
		}
		key, id, _ := strings.Cut(rest, " ")
		m, err := s.Add(t.Context(), ambry.Note{Content: "note " + key}, key)
		if err != nil || m.ID != id {
			t.Errorf("%s was acknowledged, but adding it again gave %s and error %v", line, m.ID, err)
		}
		if notes[id] {
			t.Errorf("%s is there twice", id)
		}
		notes[id] = true
	}
}

// checkTurn looks for a turn that was told of, and tells of it again.
func checkTurn(t *testing.T, s *store.Store, line string) {
	t.Helper()
	words := strings.Fields(line)
	began, err := s.Began(t.Context(), "live", "", words[1])
	if err != nil || began.Query != "asked "+words[1] {
		t.Errorf("%s was acknowledged, but it began with %q and error %v", line, began.Query, err)
	}
	if words[0] == "start" {
		return
	}
	done, err := s.CompleteTurn(t.Context(), toldTurn(words[1]), "")
	if err != nil || done.MemoryID != words[2] {
		t.Errorf("%s was acknowledged, but telling it again gave %s and error %v", line, done.MemoryID, err)
	}
}
