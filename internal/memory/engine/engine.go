// Package engine is the memory runtime itself: it puts the store and the search
// behind the contract of package memory, and remembers what it has told whom. It
// opens no file and listens nowhere.
package engine

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/memory/learn"
	"ambry.dev/ambry/internal/memory/meaning"
	"ambry.dev/ambry/internal/memory/recall"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
)

var (
	_ memory.Runtime = (*Engine)(nil)
	_ memory.Panel   = (*Engine)(nil)
	_ memory.Journal = (*Engine)(nil)
	_ memory.Turns   = (*Engine)(nil)
	_ memory.Insight = (*Engine)(nil)
	_ memory.Custody = (*Engine)(nil)
)

// Config says what an engine is made of. Store is needed; whoever opened it
// closes it.
type Config struct {
	Store   *store.Store
	Version string           // of the program, for Status
	Now     func() time.Time // nil is time.Now
	Logger  *slog.Logger     // nil logs nothing
	Meaning *meaning.Meaning // over Store; nil finds by words only. Whoever made it runs it
	Fit     *recall.Fit      // of Meaning, if not the numbers of its model
}

// Engine is a memory on this machine.
type Engine struct {
	store   *store.Store
	recall  *recall.Recall
	given   *given
	learner *learn.Learner
	version string
	now     func() time.Time
	log     *slog.Logger
	meaning *meaning.Meaning // nil if there is none
	began   time.Time

	frugal frugal
}

// New returns an engine over an open store.
func New(c Config) *Engine {
	e := &Engine{store: c.Store, version: c.Version, now: c.Now, log: c.Logger}
	if e.now == nil {
		e.now = time.Now
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.recall, e.given = recall.New(c.Store, e.now), newGiven(c.Store)
	if e.meaning = c.Meaning; e.meaning != nil {
		e.recall.UseMeaning(e.meaning, c.Fit)
	}
	e.learner = learn.New(c.Store, e.log)
	e.began = e.now()
	return e
}

// Import adds conversations, all or none.
func (e *Engine) Import(ctx context.Context, cs []redact.Conversation) (ambry.Imported, error) {
	clean := make([]ambry.Conversation, len(cs))
	found := 0
	for i, c := range cs {
		clean[i] = c.Conversation()
		found += c.Found()
	}
	n, err := e.store.Import(ctx, clean)
	if err != nil {
		return ambry.Imported{}, err
	}
	n.Redactions = found
	return n, nil
}

// Add adds one note.
func (e *Engine) Add(ctx context.Context, n redact.Note, key string) (ambry.Memory, error) {
	began := time.Now()
	m, err := e.store.Add(ctx, n.Note(), key)
	e.recordAdd(began, n.Note(), m, err)
	return m, err
}

// Search answers a query, best hit first.
func (e *Engine) Search(ctx context.Context, q ambry.Query) (ambry.Answer, error) {
	a, _, err := e.search(ctx, asked{tool: ambry.ToolSearch, query: q})
	return a, err
}

// Rehearse makes the first search as fast as those that follow. It leaves no trace.
func (e *Engine) Rehearse(ctx context.Context) error { return e.recall.Rehearse(ctx) }

// Get returns a memory with its whole text.
func (e *Engine) Get(ctx context.Context, id string) (ambry.Detail, error) {
	return e.store.Get(ctx, id)
}

// Patch changes a memory. Secrets in the texts are taken out first.
func (e *Engine) Patch(ctx context.Context, id string, p ambry.Patch, key string) (ambry.Memory, error) {
	return e.store.Patch(ctx, id, redact.CleanPatch(p), key)
}

// Forget deletes a memory for good.
func (e *Engine) Forget(ctx context.Context, id, key string) (ambry.Forgotten, error) {
	return e.store.Forget(ctx, id, key)
}

// Status says how the engine is.
func (e *Engine) Status(ctx context.Context) (ambry.MemoryHealth, error) {
	h, err := e.store.Health(ctx)
	if err != nil {
		return ambry.MemoryHealth{}, err
	}
	embedding, err := e.embedding(ctx)
	if err != nil {
		return ambry.MemoryHealth{}, err
	}
	now := e.now()
	return ambry.MemoryHealth{
		OK: h.Writable, Version: e.version, UptimeMs: now.Sub(e.began).Milliseconds(), Mode: "local", SchemaVersion: h.SchemaVersion,
		Memories: h.Memories, Sessions: h.Sessions, Writable: h.Writable, Reason: h.Reason,
		Storage: ambry.StorageHealth{
			Backend: "sqlite", SchemaVersion: strconv.Itoa(h.SchemaVersion), FullText: "inverted-index", ChangeLog: true, Idempotency: true,
			Ready: h.Writable, Bytes: h.Bytes,
		},
		Learning:     ambry.LearnHealth{Rules: learn.Version, Waiting: h.Unlearned},
		Capabilities: ambry.RuntimeAbilities{Tools: tools, Layers: ambry.Layers},
		Embedding:    embedding,
		ServerTime:   now.UTC(),
	}, nil
}

// tools are the operations that a runtime has, in the names of older clients.
var tools = []string{
	"session.open", "session.close", "turn.start", "turn.complete", "memory.search", "memory.add", "memory.get", "memory.patch", "memory.delete",
	"memory.import", "memory.feedback", "memory.source", "memory.related", "panel.overview", "panel.analysis", "panel.items", "panel.tasks", "panel.sessions",
}

// Source says where a memory came from.
func (e *Engine) Source(ctx context.Context, id string) (ambry.Provenance, error) {
	return e.store.Source(ctx, id)
}

// Overview is the first page of the panel.
func (e *Engine) Overview(ctx context.Context) (ambry.Overview, error) {
	o, err := e.store.Reports().Overview(ctx)
	if err != nil {
		return ambry.Overview{}, err
	}
	o.Embedding, err = e.embedding(ctx)
	return o, err
}

// Items returns a page of memories, newest first. With a text, it is a page of
// the thousand that match it best.
func (e *Engine) Items(ctx context.Context, q ambry.ItemsQuery) (ambry.Items, error) {
	if q.Text == "" {
		return e.store.Reports().Items(ctx, q)
	}
	rows, err := e.recall.Find(ctx, q.Text)
	if err != nil {
		return ambry.Items{}, err
	}
	return e.store.Reports().ItemsOf(ctx, rows, q)
}

// Sessions returns a page of sessions, newest first.
func (e *Engine) Sessions(ctx context.Context, q ambry.SessionsQuery) (ambry.Sessions, error) {
	return e.store.Reports().Sessions(ctx, q)
}

// Transcript returns a session with a page of its turns.
func (e *Engine) Transcript(ctx context.Context, session string, page int) (ambry.Transcript, error) {
	return e.store.Reports().Transcript(ctx, session, page)
}
