package app

import (
	"fmt"
	"os"

	"ambry.dev/ambry/internal/home"
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
	r.meaning = meaning.New(meaning.Config{
		Store: r.store, Embedder: by, Logger: r.log, Slow: slow,
		Scratch: func() (*os.File, error) { return home.Scratch(r.home.Dir()) },
	})
	return nil
}
