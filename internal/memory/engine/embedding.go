package engine

import (
	"context"

	"ambry.dev/ambry"
)

// embedding says how far the memories are embedded, nil if they are not to be.
func (e *Engine) embedding(ctx context.Context) (*ambry.EmbeddingState, error) {
	if e.meaning == nil {
		return nil, nil //nolint:nilnil // no model is a state of its own
	}
	s, err := e.meaning.State(ctx)
	if err != nil {
		return nil, err
	}
	out := &ambry.EmbeddingState{Model: s.Space, Ready: s.Ready, Pending: s.Due, Reason: s.Reason}
	if s.Reason != "" {
		at := s.RetryAt.UTC()
		out.RetryAt = &at
	}
	return out, nil
}

// withEmbedding completes what the store says of memories: those that get a
// vector are not ready before they have it.
func (e *Engine) withEmbedding(ctx context.Context, p ambry.Processing) (ambry.Processing, error) {
	if e.meaning == nil {
		return p, nil
	}
	s, err := e.meaning.State(ctx)
	if err != nil || !s.Loaded {
		return p, err
	}
	ids := make([]string, len(p.Items))
	for i, item := range p.Items {
		ids[i] = item.MemoryID
	}
	ready, err := e.store.Embedded(ctx, ids)
	if err != nil {
		return p, err
	}
	for i := range p.Items {
		item := &p.Items[i]
		if ready[item.MemoryID] {
			item.State = ambry.Ready
			continue
		}
		stage := "embedding"
		item.State, item.Stage = ambry.EmbeddingPending, &stage
		if s.Reason != "" {
			code := string(ambry.UpstreamFailed)
			item.ErrorCode, item.ErrorMessage = &code, &s.Reason
		}
	}
	return p, nil
}
