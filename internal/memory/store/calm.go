package store

import (
	"context"
	"sync"
)

// Calm returns when nothing goes on that a person asked for and that takes long,
// such as an export. Work in the background asks before each of its steps, so that
// the memory that the two need is never needed at once. It fails when ctx ends.
func (s *Store) Calm(ctx context.Context) error { return s.busy.wait(ctx) }

// Busy reports whether Calm would wait.
func (s *Store) Busy() bool {
	s.busy.mu.Lock()
	defer s.busy.mu.Unlock()
	return s.busy.n > 0
}

// busy is while something goes on.
type busy struct {
	mu   sync.Mutex    // guards what follows
	n    int           // that go on
	over chan struct{} // closed when the last of them ends
}

// begin returns what ends it.
func (b *busy) begin() (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n++; b.n == 1 {
		b.over = make(chan struct{})
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.n--; b.n == 0 {
			close(b.over)
		}
	}
}

func (b *busy) wait(ctx context.Context) error {
	for {
		b.mu.Lock()
		n, over := b.n, b.over
		b.mu.Unlock()
		if n == 0 {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
		}
	}
}
