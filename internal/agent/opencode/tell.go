package opencode

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// session is what is known of a session beside its messages.
type session struct {
	layout *layout // nil in the tree

	id, parent, fork                  string
	directory, title, version, revert string
	created, updated, archived        int64 // milliseconds since 1970

	used int64 // updated, or when the same session in another layout was
}

// placeholder is the title of a session that nobody named.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(New|Child) session - \d{4}-\d{2}-\d{2}T[\d:.]+Z$`)
})

// told returns the session as others see it.
func (s session) told() ambry.Session {
	t := ambry.Session{
		ID: s.id, Agent: id, Relation: ambry.Root, Cwd: s.directory, Project: agent.Project(s.directory),
		Version: s.version, Archived: s.archived > 0, StartedAt: millis(s.created),
	}
	if !placeholder().MatchString(s.title) {
		t.Title = agent.Title(s.title)
	}
	switch {
	case s.parent != "":
		t.ParentID, t.Relation, t.Background = s.parent, ambry.Subagent, true
	case s.fork != "":
		t.ParentID, t.Relation = s.fork, ambry.Fork
	}
	return t
}

// fixed is the print of what changes turns that were told already.
func (s session) fixed() uint64 { return printOf(s.revert, s.directory) }

func millis(n int64) time.Time { return agent.ParseTime(strconv.FormatInt(n, 10)) }

// teller puts the messages of a session into a builder.
type teller struct {
	*agent.Builder
	session
	fromStart bool // so that its first prompt can be its title
}

func newTeller(path string, s session, fromStart bool) *teller {
	t := &teller{Builder: agent.NewBuilder(path, s.id), session: s, fromStart: fromStart}
	t.Session = s.told()
	t.Seen(t.Session.StartedAt)
	return t
}

// tell adds a message. What was undone is kept, and hidden.
func (t *teller) tell(m *message, undone bool) {
	t.Row(m.id)
	if m.broken != "" {
		t.Skip(m.broken)
	}
	messages := m.told()
	if len(messages) == 0 {
		return
	}
	if m.asked() {
		t.Begin(ambry.Turn{ID: m.id, At: m.at})
		if t.fromStart && t.Session.Title == "" && !undone {
			t.Session.Title = agent.Title(m.text())
		}
	}
	t.Turn(m.id).Cwd = t.Session.Cwd
	for _, said := range messages {
		said.Hidden = said.Hidden || undone
		for i := range said.Calls {
			said.Calls[i].ID = t.unique(said.Calls[:i], said.Calls[i].ID)
		}
		t.Add(said)
	}
	if at := millis(t.created); !at.IsZero() { // a fork has messages that are older
		t.Session.StartedAt = at
	}
}

// unique returns an id that no call of the turn has. Some models count their
// calls anew in each answer.
func (t *teller) unique(others []ambry.ToolCall, id string) string {
	taken := func(id string) bool {
		for _, c := range others {
			if c.ID == id {
				return true
			}
		}
		return t.Call(id) != nil
	}
	free := id
	for n := 2; id != "" && taken(free); n++ {
		free = fmt.Sprintf("%s#%d", id, n)
	}
	return free
}
