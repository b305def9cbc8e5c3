package converse

import (
	"context"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/redact"
)

// patient is a memory that is asked again for a while when it is not there: after
// a start of the service people are there before it.
type patient struct{ Memory }

const (
	memoryWait  = 20 * time.Second
	memoryPause = 250 * time.Millisecond
)

func asked[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	for waited := time.Duration(0); ; waited += memoryPause {
		v, err := ask(ctx)
		if ambry.KindOf(err) != ambry.MemoryUnavailable || waited >= memoryWait || channel.Pause(ctx, memoryPause) != nil {
			return v, err
		}
	}
}

// Search answers a query.
func (p patient) Search(ctx context.Context, q ambry.Query) (ambry.Answer, error) {
	return asked(ctx, func(ctx context.Context) (ambry.Answer, error) { return p.Memory.Search(ctx, q) })
}

// Get returns a memory.
func (p patient) Get(ctx context.Context, id string) (ambry.Detail, error) {
	return asked(ctx, func(ctx context.Context) (ambry.Detail, error) { return p.Memory.Get(ctx, id) })
}

// Add adds a note.
func (p patient) Add(ctx context.Context, n redact.Note, key string) (ambry.Memory, error) {
	return asked(ctx, func(ctx context.Context) (ambry.Memory, error) { return p.Memory.Add(ctx, n, key) })
}

// Forget deletes a memory.
func (p patient) Forget(ctx context.Context, id, key string) (ambry.Forgotten, error) {
	return asked(ctx, func(ctx context.Context) (ambry.Forgotten, error) { return p.Memory.Forget(ctx, id, key) })
}

// Status says how the memory is.
func (p patient) Status(ctx context.Context) (ambry.MemoryHealth, error) {
	return asked(ctx, p.Memory.Status)
}
