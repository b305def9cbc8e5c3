package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// TestFirstReadersDoNotWaitForEachOther has many ask at the same time what
// nobody asked before: each holds a connection, and none may need a second one.
func TestFirstReadersDoNotWaitForEachOther(t *testing.T) {
	for range 20 {
		s := open(t)
		m, err := s.Add(t.Context(), ambry.Note{Content: "a note", SessionID: "s"}, "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := make(chan struct{})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				<-begin
				if _, err := s.Get(ctx, m.ID); err != nil {
					t.Errorf("get: %v", err)
				}
			})
		}
		close(begin)
		wg.Wait()
		if t.Failed() {
			return
		}
	}
}
