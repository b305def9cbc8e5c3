package engine

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
)

// anyAgent is the agent of sessions that name none.
const anyAgent = "api"

// idShape is what an id may be, so that it fits into a path.
var idShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`) })

// checkID refuses what is no id, or a secret in the place of one: it would be
// stored as it is.
func checkID(what, id string) error {
	if !idShape().MatchString(id) || id == "." || id == ".." {
		return ambry.InvalidArgument.Errorf("%s is no id: use up to 128 letters, digits, or . _ : -", what)
	}
	if _, found := redact.Text(id); found > 0 {
		return ambry.InvalidArgument.Errorf("%s looks like a secret; use another id", what)
	}
	return nil
}

// wash takes the secrets out of texts.
func wash(texts ...*string) {
	for _, text := range texts {
		*text, _ = redact.Text(*text)
	}
}

// OpenSession begins a session, or goes on with one.
func (e *Engine) OpenSession(ctx context.Context, o ambry.SessionOpen, key string) (ambry.SessionOpened, error) {
	n := o.Namespace
	o.Source = cmp.Or(o.Source, n.Source, anyAgent)
	o.WorkspacePath = cmp.Or(o.WorkspacePath, n.WorkspacePath)
	o.SessionKey = cmp.Or(o.SessionKey, n.SessionKey)
	if o.SessionKey != "" && n.ProfileID != "" {
		o.SessionKey = n.ProfileID + "/" + o.SessionKey
	}
	wash(&o.Source, &o.SessionKey, &o.WorkspacePath, &o.Branch, &o.Title, &o.Model)
	if o.SessionID != "" {
		if err := checkID("sessionId", o.SessionID); err != nil {
			return ambry.SessionOpened{}, err
		}
	}
	return e.store.OpenSession(ctx, o, key)
}

// CloseSession ends a session.
func (e *Engine) CloseSession(ctx context.Context, id string, c ambry.SessionClose, key string) (ambry.SessionClosed, error) {
	return e.store.CloseSession(ctx, id, c, key)
}

// StartTurn notes that a turn began, and says what the memory has on it. Both go
// on at once: the disk does not make the search wait.
func (e *Engine) StartTurn(ctx context.Context, b ambry.TurnStart, key string) (ambry.TurnStarted, error) {
	if strings.TrimSpace(b.Query) == "" {
		return ambry.TurnStarted{}, ambry.InvalidArgument.Errorf("query is empty; say what the person asks")
	}
	if err := checkIDs(b.SessionID, b.TurnID); err != nil {
		return ambry.TurnStarted{}, err
	}
	wash(&b.Source)
	agent, err := e.store.Session(ctx, b.SessionID, b.Source)
	if err != nil {
		return ambry.TurnStarted{}, err
	}
	b.TurnID = cmp.Or(b.TurnID, store.TurnID(b.SessionID, key))
	type begun struct {
		store.Began
		err error
	}
	written := make(chan begun, 1)
	go func() {
		clean := b
		wash(&clean.Query)
		began, err := e.store.StartTurn(ctx, clean)
		written <- begun{began, err}
	}()
	answer, sections, err := e.search(ctx, asked{tool: ambry.ToolTurnStart, turn: b.TurnID, query: queryOf(b, agent)})
	began := <-written
	if err := errors.Join(began.err, err); err != nil {
		return ambry.TurnStarted{}, cmp.Or(began.err, err)
	}
	return started(began.Began, answer, sections), nil
}

func checkIDs(session, turn string) error {
	err := checkID("sessionId", session)
	if err == nil && turn != "" {
		err = checkID("turnId", turn)
	}
	return err
}

// maxAsked is how much of what a person asks is searched for, in bytes: a long
// text says at its beginning what it is about.
const maxAsked = 32 << 10

func queryOf(b ambry.TurnStart, agent string) ambry.Query {
	if len(b.Query) > maxAsked {
		b.Query = strings.ToValidUTF8(b.Query[:maxAsked], "")
	}
	return ambry.Query{
		Query: b.Query, Limit: b.Limit, Layers: b.Layers, Project: b.Project, ContextBudget: b.ContextBudget,
		Source: agent, SessionID: b.SessionID, Plain: true,
	}
}

func started(b store.Began, a ambry.Answer, sections []ambry.Section) ambry.TurnStarted {
	out := ambry.TurnStarted{
		TurnID: b.Turn, SessionID: b.Session, EpisodeID: b.EpisodeID, SearchID: a.SearchID,
		ContextPacketID: "ctx_" + strings.TrimPrefix(a.SearchID, "recall_"),
		Context:         ambry.InjectedContext{Markdown: a.InjectedContext, Sections: sections, Tokens: a.TokenEstimate},
		SourceMemoryIDs: []string{}, Hits: a.Hits, Total: a.Total, TotalAtLeast: a.TotalAtLeast, Status: []string{"words"}, ServerTime: a.ServerTime,
	}
	for _, s := range sections {
		out.SourceMemoryIDs = append(out.SourceMemoryIDs, s.MemoryIDs...)
	}
	return out
}

// CompleteTurn remembers a turn that has ended. Its secrets are taken out first.
func (e *Engine) CompleteTurn(ctx context.Context, turn string, c ambry.TurnComplete, key string) (ambry.TurnCompleted, error) {
	began := time.Now()
	out, agent, err := e.completeTurn(ctx, turn, c, key)
	if !errors.Is(err, context.Canceled) {
		e.recordComplete(began, turn, agent, c, out, err)
	}
	return out, err
}

func (e *Engine) completeTurn(ctx context.Context, turn string, c ambry.TurnComplete, key string) (ambry.TurnCompleted, string, error) {
	if err := checkIDs(c.SessionID, turn); err != nil {
		return ambry.TurnCompleted{}, "", err
	}
	wash(&c.Source)
	b, err := e.store.Began(ctx, c.SessionID, c.Source, turn)
	if err != nil {
		return ambry.TurnCompleted{}, c.Source, err
	}
	if b.At.IsZero() {
		b.At = e.now().UTC().Truncate(time.Millisecond) // as it is kept
	}
	told := ambry.Conversation{
		Session: ambry.Session{Agent: b.Agent, ID: b.Session, Model: c.Model},
		Turns:   []ambry.Turn{turnOf(turn, c, b.Query, b.At)},
	}
	if len(told.Turns[0].Messages) == 0 {
		return ambry.TurnCompleted{}, b.Agent, ambry.InvalidArgument.Errorf("the turn says nothing; give query or answer")
	}
	clean := redact.Clean(told).Conversation()
	tags := redact.CleanPatch(ambry.Patch{Tags: &c.Tags}).Tags
	out, err := e.store.CompleteTurn(ctx, store.Told{Session: clean.Session, Turn: clean.Turns[0], Tags: *tags, Request: c}, key)
	return out, b.Agent, err
}

// loggedTurn is what the log tells of a turn that has ended.
type loggedTurn struct {
	Outcome         ambry.Outcome `json:"status,omitempty"`
	QueryBytes      int           `json:"queryBytes"`
	AnswerBytes     int           `json:"answerBytes"`
	ToolCalls       int           `json:"toolCalls"`
	SourceMemoryIDs []string      `json:"sourceMemoryIds,omitempty"`
}

func (e *Engine) recordComplete(began time.Time, turn, agent string, c ambry.TurnComplete, out ambry.TurnCompleted, err error) {
	call := store.Call{
		Tool: ambry.ToolTurnComplete, Agent: agent, Session: c.SessionID, Turn: turn, At: e.now(), Took: time.Since(began),
		Output: ambry.LoggedAnswer{ID: out.MemoryID},
	}
	if err != nil {
		call.Output.Error = ambry.KindOf(err)
	}
	input := loggedTurn{
		Outcome: c.Outcome, QueryBytes: len(c.Query), AnswerBytes: len(c.Answer), ToolCalls: len(c.ToolCalls), SourceMemoryIDs: c.SourceMemoryIDs,
	}
	e.store.Record(func() store.Call {
		call.ID = newLogID()
		wash(&call.Session, &call.Turn)
		clean := redact.CleanPatch(ambry.Patch{Tags: &input.SourceMemoryIDs})
		input.SourceMemoryIDs = *clean.Tags
		call.Input = input
		return call
	})
}
