package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// TestOneFailingWriteLeavesTheOthers has many writes wait for the writer at the
// same time, so that they share transactions, and makes some of them fail after
// they have written.
func TestOneFailingWriteLeavesTheOthers(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fault := errors.New("fault")
	running, hold := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.write(context.Background(), 0, func(*tx) error { close(running); <-hold; return nil })
		if err != nil {
			t.Errorf("the first write: %v", err)
		}
	})
	<-running
	const writes = 60
	together := map[string]int{}
	for i := range writes {
		wg.Go(func() {
			err := s.write(context.Background(), 0, func(tx *tx) error {
				together["group"]++
				if _, err := tx.agent(fmt.Sprint("agent", i)); err != nil {
					return err
				}
				if i%3 == 0 {
					return fault
				}
				return nil
			})
			if want := i%3 == 0; errors.Is(err, fault) != want || err != nil && !want {
				t.Errorf("write %d: got error %v", i, err)
			}
		})
	}
	for len(s.jobs) < writes {
		time.Sleep(time.Millisecond) // until all of them wait
	}
	close(hold)
	wg.Wait()
	names, err := sqlite.Column[string](s.readers.Reader(t.Context()).Rows(`SELECT name FROM agent`))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != writes*2/3 || together["group"] != writes {
		t.Errorf("got %d names of %d runs, want %d of %d", len(names), together["group"], writes*2/3, writes)
	}
}

// TestCloseWaitsForAcceptedWrites closes while clients add; each add either
// failed or is there.
func TestCloseWaitsForAcceptedWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var kept []string
	started := make(chan struct{}, 100)
	for range 4 {
		wg.Go(func() {
			for {
				m, err := s.Add(context.Background(), ambry.Note{Content: "text"}, "")
				if err != nil {
					if ambry.KindOf(err) != ambry.MemoryUnavailable {
						t.Errorf("after closing: %v", err)
					}
					return
				}
				mu.Lock()
				kept = append(kept, m.ID)
				mu.Unlock()
				select {
				case started <- struct{}{}:
				default:
				}
			}
		})
	}
	<-started
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	_, err = s.Get(t.Context(), kept[0])
	if ambry.KindOf(err) != ambry.MemoryUnavailable {
		t.Errorf("reading after closing: %v", err)
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		t.Errorf("the log has %d bytes after closing", info.Size())
	}
	s, err = Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range kept {
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Errorf("%s was acknowledged: %v", id, err)
		}
	}
}

// TestIdleWriterMovesItsLog waits, in time that does not pass, until nothing is
// left to do.
func TestIdleWriterMovesItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		s, err := Open(context.Background(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Add(context.Background(), ambry.Note{Content: "text"}, ""); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			t.Fatalf("there is no log to move: %v", err)
		}
		time.Sleep(tidyAfter + time.Second)
		synctest.Wait()
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != 0 {
			t.Errorf("the log was not moved: %v %v", info, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestWhatATransactionGatheredIsLetGoOf was missing when the writer kept what was to be
// done after a commit until another commit had something to be done: after the last
// merge all files that were merged, for as long as the memory was only read or learned
// from. With a million memories that left so little room that more than half a core
// looked for garbage.
func TestWhatATransactionGatheredIsLetGoOf(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	gone, done := make(chan struct{}), 0
	func() {
		merged := make([]int64, 1<<16)
		runtime.AddCleanup(&merged[0], func(struct{}) { close(gone) }, struct{}{})
		err := s.write(t.Context(), 0, func(tx *tx) error {
			tx.after = append(tx.after, func() { done += len(merged) })
			return nil
		})
		if err != nil || done != 1<<16 {
			t.Fatalf("got %d and error %v", done, err)
		}
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("what was done after the commit is still held")
}
