package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// TestFullDisk fills a small disk of its own, and gives it room again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path, filler := filepath.Join(dir, "memory.db"), filepath.Join(dir, "filler")
	s, shut := openAt(t, path)
	kept := []string{add(t, s, "the first note")}
	if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; err == nil; i++ {
		var m ambry.Memory
		if m, err = s.Add(t.Context(), ambry.Note{Content: fmt.Sprint(i, strings.Repeat(" filling words", 500))}, ""); err == nil {
			kept = append(kept, m.ID)
		}
	}
	if ambry.KindOf(err) != ambry.StorageFull {
		t.Fatalf("a full disk: got %s: %v", ambry.KindOf(err), err)
	}
	if _, err := s.Import(t.Context(), []ambry.Conversation{talk("s", strings.Repeat("many words ", 5000))}); ambry.KindOf(err) != ambry.StorageFull {
		t.Errorf("an import on a full disk: got %v", err)
	}
	h, err := s.Health(t.Context())
	if err != nil || h.Writable || h.Reason == "" || h.Memories != int64(len(kept)) {
		t.Errorf("health on a full disk: got %+v and error %v", h, err)
	}
	check := func(when string) {
		t.Helper()
		for _, id := range kept {
			if _, err := s.Get(t.Context(), id); err != nil {
				t.Errorf("%s: %s: %v", when, id, err)
			}
		}
		found, err := s.Candidates(t.Context(), store.Match{Any: []string{"first"}}, 10)
		if err != nil || len(found.Best) != 1 {
			t.Errorf("%s: search: got %v and error %v", when, found, err)
		}
	}
	check("on a full disk")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if h, err := s.Health(t.Context()); err == nil && h.Writable {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it did not notice that there is room again")
		}
	}
	kept = append(kept, add(t, s, "after it was full"))
	check("with room again")
	shut()
	verify(t, path)
}

func add(t *testing.T, s *store.Store, content string) string {
	t.Helper()
	m, err := s.Add(t.Context(), ambry.Note{Content: content}, "")
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}
