package engine

import "context"

// Learn learns from what is stored whenever there is something new, until ctx
// ends. Nothing waits for it.
func (e *Engine) Learn(ctx context.Context) { e.learner.Run(ctx) }

// LearnAll learns from all that is stored, and returns when that is done.
func (e *Engine) LearnAll(ctx context.Context) error { return e.learner.Drain(ctx) }
