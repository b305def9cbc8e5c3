package store

import (
	"context"

	"ambry.dev/ambry/internal/memory/document"
)

// maxBuilders bounds the memory of imports that run at the same time.
const maxBuilders = 2

// borrow returns a builder, and what gives it back.
func (s *Store) borrow(ctx context.Context) (*document.Builder, func(), error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	w, ok := s.builders.Get().(*document.Builder)
	if !ok {
		w = document.NewBuilder()
	}
	return w, func() { s.builders.Put(w); <-s.slots }, nil
}
