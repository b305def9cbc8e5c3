package engine

import (
	"container/list"
	"context"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// The bounds of what is remembered of sessions. A session beyond them may be
// given something a second time.
const (
	maxSessions = 512
	maxGiven    = 2000
)

// given remembers which memories went into the context of which session, so that
// none is given twice in the same state. What a session was given before a
// restart is in the log of calls. The zero value is not usable; see newGiven.
type given struct {
	store *store.Store

	mu       sync.Mutex // guards the rest, and the contents of each session
	sessions map[string]*list.Element
	recent   *list.List // of *gifts, the last one that asked at the front
}

// gifts is what one session was given: memories, each with its state and the
// turn that it was given for.
type gifts struct {
	session string
	states  map[string]gift
}

type gift struct {
	updated time.Time
	turn    string
}

func newGiven(s *store.Store) *given {
	return &given{store: s, sessions: map[string]*list.Element{}, recent: list.New()}
}

// to returns whether a session of an agent was given a memory before, other than
// for the same turn. What was said in the session itself it has anyway. Without
// a session nobody was given anything.
func (g *given) to(ctx context.Context, agent, session, turn string) (func(ambry.Memory) bool, error) {
	if session == "" {
		return func(ambry.Memory) bool { return false }, nil
	}
	to, err := g.of(ctx, session)
	if err != nil {
		return nil, err
	}
	return func(m ambry.Memory) bool {
		if m.SessionID == session && m.Agent == agent {
			return true
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		old, ok := to.states[m.ID]
		return ok && old.updated.Equal(m.UpdatedAt) && (turn == "" || old.turn != turn)
	}, nil
}

// of returns what a session was given, from the log if it is not known.
func (g *given) of(ctx context.Context, session string) (*gifts, error) {
	if to := g.known(session); to != nil {
		return to, nil
	}
	logged, err := g.store.Reports().Given(ctx, session)
	if err != nil {
		return nil, err
	}
	to := &gifts{session: session, states: make(map[string]gift, len(logged))}
	for _, l := range logged { // newest first
		if _, ok := to.states[l.ID]; !ok {
			to.states[l.ID] = gift{l.UpdatedAt, l.Turn}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.sessions[session]; e != nil {
		return e.Value.(*gifts), nil
	}
	g.sessions[session] = g.recent.PushFront(to)
	if g.recent.Len() > maxSessions {
		oldest := g.recent.Remove(g.recent.Back()).(*gifts)
		delete(g.sessions, oldest.session)
	}
	return to, nil
}

func (g *given) known(session string) *gifts {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.sessions[session]
	if e == nil {
		return nil
	}
	g.recent.MoveToFront(e)
	return e.Value.(*gifts)
}

// give remembers hits that were put into the context of a session.
func (g *given) give(session, turn string, hits []ambry.LoggedHit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.sessions[session]
	if e == nil {
		return
	}
	to := e.Value.(*gifts)
	if len(to.states) > maxGiven {
		clear(to.states)
	}
	for _, h := range hits {
		if h.Injected {
			to.states[h.ID] = gift{h.UpdatedAt, turn}
		}
	}
}
