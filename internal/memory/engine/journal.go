package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
)

// maxLoggedQuery is how much of a query is logged, in bytes.
const maxLoggedQuery = 2 << 10

// asked is who asks for what.
type asked struct {
	tool  string
	turn  string
	query ambry.Query
}

// search answers a query and has it logged, later. It returns what the context
// is made of.
func (e *Engine) search(ctx context.Context, a asked) (ambry.Answer, []ambry.Section, error) {
	began := time.Now()
	known, err := e.given.to(ctx, a.query.Source, a.query.SessionID, a.turn)
	if err != nil {
		return ambry.Answer{}, nil, err
	}
	answer, sections, err := e.recall.SearchAgain(ctx, a.query, known)
	if ctx.Err() != nil {
		return answer, sections, err // nobody was answered
	}
	out := ambry.LoggedAnswer{Hits: logged(answer.Hits, sections), Total: answer.Total, Tokens: answer.TokenEstimate}
	if err != nil {
		out = ambry.LoggedAnswer{Error: ambry.KindOf(err)}
	}
	e.given.give(a.query.SessionID, a.turn, out.Hits)
	c := store.Call{ID: answer.SearchID, Tool: a.tool, Turn: a.turn, At: e.now(), Took: time.Since(began), Output: out}
	e.store.Record(func() store.Call { return describe(c, a.query) })
	return answer, sections, err
}

// logged tells hits by their ids, and which of them went into the context.
func logged(hits []ambry.Hit, sections []ambry.Section) []ambry.LoggedHit {
	out := make([]ambry.LoggedHit, len(hits))
	for i, h := range hits {
		injected := slices.ContainsFunc(sections, func(s ambry.Section) bool { return slices.Contains(s.MemoryIDs, h.ID) })
		out[i] = ambry.LoggedHit{ID: h.ID, Score: h.Score, Injected: injected, UpdatedAt: h.UpdatedAt}
	}
	return out
}

// describe adds to a call what was asked, without secrets.
func describe(c store.Call, q ambry.Query) store.Call {
	q.Query, _ = redact.Text(q.Query)
	if len(q.Query) > maxLoggedQuery {
		end := maxLoggedQuery
		for !utf8.RuneStart(q.Query[end]) {
			end--
		}
		q.Query = q.Query[:end] + "…"
	}
	for _, text := range []*string{&q.Project, &q.Source, &q.SessionID, &q.InSession, &c.Turn} {
		*text, _ = redact.Text(*text)
	}
	for _, list := range []*[]string{&q.Tags, &q.Agents} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i], _ = redact.Text((*list)[i])
		}
	}
	if c.ID == "" {
		c.ID = newLogID()
	}
	c.Agent, c.Session = q.Source, q.SessionID
	q.Source, q.SessionID = "", ""
	c.Input = q
	return c
}

// newLogID names a call that has no id of its own.
func newLogID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return "call_" + hex.EncodeToString(b[:])
}

// loggedNote is what the log tells of a note: not its text, which forgetting the
// note could not take out.
type loggedNote struct {
	Layer        ambry.Layer `json:"layer,omitempty"`
	Project      string      `json:"project,omitempty"`
	ContentBytes int         `json:"contentBytes"`
}

// recordAdd has the adding of a note logged.
func (e *Engine) recordAdd(began time.Time, n ambry.Note, m ambry.Memory, err error) {
	c := store.Call{
		Tool: ambry.ToolAdd, Agent: n.Source, Session: n.SessionID, Turn: n.TurnID, At: e.now(), Took: time.Since(began),
		Input:  loggedNote{Layer: n.Layer, Project: n.Project, ContentBytes: len(n.Content)},
		Output: ambry.LoggedAnswer{ID: m.ID},
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return
		}
		c.Output.Error = ambry.KindOf(err)
	}
	e.store.Record(func() store.Call { c.ID = newLogID(); return c })
}

// loggedAccess is what the log tells of an access: which memory or session.
type loggedAccess struct {
	ID string `json:"id"`
}

// Record has an access logged.
func (e *Engine) Record(a ambry.Access) {
	if errors.Is(a.Err, context.Canceled) {
		return // nobody was answered
	}
	c := store.Call{Tool: a.Tool, At: a.At, Took: a.Took, Output: ambry.LoggedAnswer{ID: a.ID}}
	if a.Err != nil {
		c.Output = ambry.LoggedAnswer{Error: ambry.KindOf(a.Err)}
	}
	e.store.Record(func() store.Call {
		c.ID = newLogID()
		c.Agent, _ = redact.Text(a.Agent)
		id, _ := redact.Text(a.ID)
		c.Input = loggedAccess{ID: id}
		return c
	})
}

// Feedback notes what a memory was good for.
func (e *Engine) Feedback(ctx context.Context, id string, f ambry.Feedback, key string) (ambry.FeedbackTaken, error) {
	f.Note, _ = redact.Text(f.Note)
	return e.store.Feedback(ctx, id, f, key)
}

// Logs returns what was asked, newest first.
func (e *Engine) Logs(ctx context.Context, q ambry.LogsQuery) (ambry.Logs, error) {
	return e.store.Reports().Logs(ctx, q)
}
