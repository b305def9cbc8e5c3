package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// BenchmarkPages asks what a person looks through, and what an agent tells, of a
// memory of ten thousand turns.
func BenchmarkPages(b *testing.B) {
	e := benchEngine(b)
	a := newAuthor(11)
	cs, _ := a.library(10_000, 3000)
	fill(b, e, cleaned(cs))
	items, err := e.Items(b.Context(), ambry.ItemsQuery{Page: 150})
	if err != nil {
		b.Fatal(err)
	}
	ctx, n := context.Background(), 0
	for _, page := range []struct {
		name string
		ask  func() error
	}{
		{"analysis", func() error { _, err := e.Analysis(ctx); return err }},
		{"tasks", func() error { _, err := e.Tasks(ctx, ambry.TasksQuery{Page: 1 + n%50}); return err }},
		{"tasks of a word", func() error { _, err := e.Tasks(ctx, ambry.TasksQuery{Text: a.word()}); return err }},
		{"logs", func() error { _, err := e.Logs(ctx, ambry.LogsQuery{}); return err }},
		{"related", func() error { _, err := e.Related(ctx, items.Items[n%len(items.Items)].ID, 0); return err }},
		{"turn start", func() error {
			_, err := e.StartTurn(ctx, ambry.TurnStart{SessionID: fmt.Sprint("live", n%20), Source: "codex", Query: a.text(80)}, "")
			return err
		}},
		{"turn complete", func() error {
			_, err := e.CompleteTurn(ctx, fmt.Sprint("t", n), ambry.TurnComplete{
				SessionID: "live", Source: "codex", Query: a.text(80), Answer: a.text(800), StartedAt: time.Now(),
			}, "")
			return err
		}},
	} {
		b.Run(page.name, func(b *testing.B) {
			for b.Loop() {
				n++
				if err := page.ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
