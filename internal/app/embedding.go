package app

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"ambry.dev/ambry/internal/memory/meaning"
	"ambry.dev/ambry/internal/memory/static"
	"ambry.dev/ambry/internal/model"
)

// embeddingOff is the setting memory.embedding of those who want words only.
const embeddingOff = "off"

// embed prepares what finds memories by their meaning: the model that the person
// has chosen, else the one that is built in, else nothing.
func (r *memoryHost) embed(setting string) error {
	if setting == embeddingOff {
		return nil
	}
	var by model.Embedder
	if r.models != nil {
		by = r.models.Embedder()
	}
	slow := by != nil
	if !slow {
		words, err := static.New()
		if err != nil {
			return fmt.Errorf("load the built-in embedding: %w", err)
		}
		by, r.rest = words, words.Rest
	}
	r.meaning = meaning.New(meaning.Config{Store: r.store, Embedder: by, Logger: r.log, Slow: slow})
	return nil
}

// How much memory the runtime takes beside vectors, and how often it is seen to.
const (
	otherMemory = 72 << 20
	limitEvery  = time.Minute
)

// limitMemory keeps garbage small beside the vectors until ctx ends, and gives
// the built-in model's table back now and then. By itself the collector waits
// until there is as much garbage as there is in use.
func (r *memoryHost) limitMemory(ctx context.Context) {
	if r.options.Getenv != nil && r.options.Getenv("GOMEMLIMIT") != "" {
		return
	}
	for ctx.Err() == nil {
		n := r.meaning.Bytes()
		debug.SetMemoryLimit(otherMemory + n + n/8)
		select {
		case <-ctx.Done():
		case <-time.After(limitEvery):
		}
		if r.rest != nil {
			r.rest()
		}
	}
}
