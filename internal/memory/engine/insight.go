package engine

import (
	"context"

	"ambry.dev/ambry"
)

// Analysis says what became of the memories, and how fast they were there.
func (e *Engine) Analysis(ctx context.Context) (ambry.Analysis, error) {
	return e.store.Reports().Analysis(ctx)
}

// Tasks returns a page of tasks, newest first. With a text, it is a page of those
// that have one of the thousand memories that match it best.
func (e *Engine) Tasks(ctx context.Context, q ambry.TasksQuery) (ambry.Tasks, error) {
	if q.Text == "" {
		return e.store.Reports().Tasks(ctx, q)
	}
	rows, err := e.recall.Find(ctx, q.Text)
	if err != nil {
		return ambry.Tasks{}, err
	}
	return e.store.Reports().TasksOf(ctx, rows, q)
}

// Processing says how far memories are made ready.
func (e *Engine) Processing(ctx context.Context, ids []string) (ambry.Processing, error) {
	if len(ids) > maxProcessing {
		return ambry.Processing{}, ambry.InvalidArgument.Errorf("%d ids are too many; ask for %d at most", len(ids), maxProcessing)
	}
	p, err := e.store.Reports().Processing(ctx, ids)
	if err != nil {
		return ambry.Processing{}, err
	}
	return e.withEmbedding(ctx, p)
}

// RetryProcessing has a trace learned from again.
func (e *Engine) RetryProcessing(ctx context.Context, id string) (ambry.Retried, error) {
	return e.store.RetryProcessing(ctx, id)
}

// ForgetTask deletes all that is remembered of a session.
func (e *Engine) ForgetTask(ctx context.Context, id, key string) (ambry.ForgottenTask, error) {
	return e.store.ForgetTask(ctx, id, key)
}

// The limits of what is asked.
const (
	maxProcessing  = 10_000
	defaultRelated = 10
	maxRelated     = 50
)

// Related returns what has to do with a memory: limit of those that share its
// words, beside its neighbours.
func (e *Engine) Related(ctx context.Context, id string, limit int) (ambry.Related, error) {
	if limit <= 0 {
		limit = defaultRelated
	}
	d, err := e.store.Get(ctx, id)
	if err != nil {
		return ambry.Related{}, err
	}
	near, err := e.store.Reports().Neighbours(ctx, id)
	if err != nil {
		return ambry.Related{}, err
	}
	out := ambry.Related{ID: d.ID, Items: []ambry.RelatedMemory{}, ServerTime: e.now().UTC()}
	known := map[string]bool{d.ID: true}
	for _, m := range near {
		known[m.ID] = true
		out.Items = append(out.Items, ambry.RelatedMemory{Memory: m, Relation: ambry.OfSession})
	}
	alike, err := e.recall.Alike(ctx, d, min(limit, maxRelated), known)
	if err != nil {
		return ambry.Related{}, err
	}
	for _, a := range alike {
		out.Items = append(out.Items, ambry.RelatedMemory{Memory: a.Memory, Relation: ambry.OfWords, Score: a.Score})
	}
	return out, nil
}
