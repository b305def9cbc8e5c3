// Package host is the runtime's side of the wall between the two processes: it
// serves a memory over HTTP. It has no opinion of its own: what is asked goes to
// the memory as it came, and what the memory says goes back. The other side is
// package memory/remote.
package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/redact"
	"ambry.dev/ambry/internal/web"
)

// Memory is what can be hosted.
type Memory interface {
	memory.Runtime
	memory.Panel
	memory.Journal
	memory.Audit
	memory.Turns
	memory.Insight
	memory.Custody
}

// maxNote limits the body of a note, in bytes.
const maxNote = 4 << 20

// Routes returns the routes of a memory runtime.
func Routes(m Memory) []web.Route {
	h := &host{m}
	return append(append(turnRoutes(h), custodyRoutes(h)...), []web.Route{
		web.Get("/api/v1/health", "How the memory is", h.health).Quiet().Tag("memory"),
		web.Post("/api/v1/memory/search", "Ask the memory", h.search).Tag("memory"),
		web.Post("/api/v1/memory/add", "Remember a note", h.add).MaxBody(maxNote).Tag("memory"),
		web.Handle("/api/v1/memory/import", "Add conversations, one a line", http.HandlerFunc(h.importLines), http.MethodPost).
			Lines().Tag("memory").Describe(importDescription),
		web.Get("/api/v1/memory/{id}", "A memory with its whole text", h.get).Tag("memory"),
		web.Patch("/api/v1/memory/{id}", "Change a memory", h.patch).Tag("memory"),
		web.Delete("/api/v1/memory/{id}", "Forget a memory", h.forget).Tag("memory"),
		web.Get("/api/v1/memory/{id}/source", "Where a memory came from", h.source).Tag("memory"),
		web.Post("/api/v1/memory/{id}/feedback", "Say what a memory was good for", h.feedback).Tag("memory"),
		web.Get("/api/v1/memory/{id}/related", "What has to do with a memory", h.related).Tag("memory"),
		web.Post("/api/v1/memory/processing/status", "How far memories are made ready", h.processing).Tag("memory"),
		web.Post("/api/v1/memory/processing/retry", "Look again at memories for what can be learned from them", h.retryAll).Tag("memory"),
		web.Post("/api/v1/memory/{id}/processing/retry", "Look again at a memory for what can be learned from it", h.retry).Tag("memory"),
		web.Get("/api/v1/memory/logs", "What was asked, newest first", h.logs).Tag("memory"),
		web.Get("/api/v1/panel/overview", "Counts of everything", h.overview).Tag("panel"),
		web.Get("/api/v1/panel/analysis", "What became of the memories, and how fast they were there", h.analysis).Tag("panel"),
		web.Get("/api/v1/panel/tasks", "Sessions as lists of what was asked, newest first", h.tasks).Tag("panel"),
		web.Delete("/api/v1/panel/tasks/{id}", "Forget all that is remembered of a session", h.forgetTask).Tag("panel"),
		web.Get("/api/v1/panel/items", "Memories, newest first", h.items).Tag("panel"),
		web.Get("/api/v1/panel/sessions", "Sessions, newest first", h.sessions).Tag("panel"),
		web.Get("/api/v1/panel/sessions/{id}", "A session with its turns", h.transcript).Tag("panel"),
	}...)
}

type host struct{ memory Memory }

// ByID is the input of what concerns one memory or session. It and the other
// parts of inputs have exported names because the router sees no others.
type ByID struct {
	ID string `path:"id" pattern:"^[A-Za-z0-9_.:-]{1,128}$" patternDescription:"an id"`
}

// Keyed is the part of a write's input that makes it idempotent.
type Keyed struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"The same key with the same request changes nothing a second time"`
}

// Caller is the part of an input that says which agent asks.
type Caller struct {
	Agent string `header:"X-App-Agent" maxLength:"128" doc:"Agent that asks; for one with a token of its own it is filled in"`
}

// overrides makes the caller, if it is known, who asks: what a body says is
// anybody's word.
func (c Caller) overrides(source *string) {
	if c.Agent != "" {
		*source = c.Agent
	}
}

// record has an access of an agent logged. What a person does is nobody's concern.
func (h *host) record(c Caller, tool, id string, began time.Time, err error) {
	if c.Agent == "" {
		return
	}
	h.memory.Record(ambry.Access{Tool: tool, Agent: c.Agent, ID: id, At: began, Took: time.Since(began), Err: err})
}

func reply[T any](body T, err error) (*web.JSON[T], error) {
	if err != nil {
		return nil, err
	}
	return web.Reply(body), nil
}

func (h *host) health(ctx context.Context, _ *web.None) (*web.JSON[ambry.MemoryHealth], error) {
	return reply(h.memory.Status(ctx))
}

func (h *host) search(ctx context.Context, in *struct {
	Caller
	Body ambry.Query
},
) (*web.JSON[ambry.Answer], error) {
	in.overrides(&in.Body.Source)
	return reply(h.memory.Search(ctx, in.Body))
}

func (h *host) add(ctx context.Context, in *struct {
	Keyed
	Caller
	Body ambry.Note
},
) (*web.JSON[ambry.Memory], error) {
	in.overrides(&in.Body.Source)
	return reply(h.memory.Add(ctx, redact.CleanNote(in.Body), in.Key))
}

// tagged is an answer that the caller may have already.
type tagged[T any] struct {
	Status int
	ETag   string `header:"ETag"`
	Body   T
}

func (h *host) get(ctx context.Context, in *struct {
	ByID
	Caller
	Known string `header:"If-None-Match" doc:"ETag of an earlier answer; 304 if it is still the same"`
},
) (*tagged[ambry.Detail], error) {
	began := time.Now()
	d, err := h.memory.Get(ctx, in.ID)
	h.record(in.Caller, ambry.ToolGet, in.ID, began, err)
	if err != nil {
		return nil, err
	}
	tag, err := etag(d)
	if err != nil {
		return nil, err
	}
	out := &tagged[ambry.Detail]{Status: http.StatusOK, ETag: tag, Body: d}
	if matches(in.Known, tag) {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

// etag names what v says. Versions would not do: the session of a memory
// changes without it.
func etag(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:12]) + `"`, nil
}

// matches reports whether an If-None-Match header lists tag (RFC 9110, 13.1.2).
func matches(header, tag string) bool {
	for known := range strings.SplitSeq(header, ",") {
		known = strings.TrimPrefix(strings.TrimSpace(known), "W/")
		if known == tag || known == "*" {
			return true
		}
	}
	return false
}

func (h *host) patch(ctx context.Context, in *struct {
	ByID
	Keyed
	Caller
	Body ambry.Patch
},
) (*web.JSON[ambry.Memory], error) {
	began := time.Now()
	m, err := h.memory.Patch(ctx, in.ID, in.Body, in.Key)
	h.record(in.Caller, ambry.ToolUpdate, in.ID, began, err)
	return reply(m, err)
}

func (h *host) forget(ctx context.Context, in *struct {
	ByID
	Keyed
	Caller
},
) (*web.JSON[ambry.Forgotten], error) {
	began := time.Now()
	f, err := h.memory.Forget(ctx, in.ID, in.Key)
	h.record(in.Caller, ambry.ToolForget, in.ID, began, err)
	return reply(f, err)
}

func (h *host) source(ctx context.Context, in *struct {
	ByID
	Caller
},
) (*web.JSON[ambry.Provenance], error) {
	began := time.Now()
	p, err := h.memory.Source(ctx, in.ID)
	h.record(in.Caller, ambry.ToolGet, in.ID, began, err)
	return reply(p, err)
}
