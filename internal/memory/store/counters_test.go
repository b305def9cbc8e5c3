package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// TestCountersEqualARecount does many random things and compares every counter
// with the rows.
func TestCountersEqualARecount(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			s, shut := openAt(t, path)
			r := random{rand.New(rand.NewPCG(seed, 7)), t, s, nil}
			for range 300 {
				r.step()
			}
			r.compareOverview()
			shut()
			verify(t, path)
		})
	}
}

type random struct {
	*rand.Rand
	t   *testing.T
	s   *store.Store
	ids []string
}

func (r *random) step() {
	switch r.IntN(17) {
	case 0, 1, 2, 3, 4:
		mustImport(r.t, r.s, r.conversation())
	case 5:
		m, err := r.s.Add(r.t.Context(), ambry.Note{
			Content: r.words(), Layer: ambry.Layers[r.IntN(4)], Project: r.pick("", "/p", "/q"), Source: r.pick("", "codex"),
			CreatedAt: day.Add(time.Duration(r.IntN(2000)-1000) * time.Hour),
		}, r.pick("", "", "key1", "key2"))
		if err == nil {
			r.ids = append(r.ids, m.ID)
		} else if k := ambry.KindOf(err); k != ambry.Conflict && k != ambry.Gone {
			r.t.Fatal(err)
		}
	case 6, 7:
		status := []ambry.Status{ambry.Activated, ambry.Resolving, ambry.Archived}[r.IntN(3)]
		title, tags := r.words(), []string{r.words()}
		_, err := r.s.Patch(r.t.Context(), r.id(), ambry.Patch{Status: &status, Title: &title, Tags: &tags}, "")
		r.allow(err, ambry.NotFound)
	case 8:
		_, err := r.s.Forget(r.t.Context(), r.id(), "")
		r.allow(err, ambry.NotFound)
	case 9:
		if r.IntN(10) == 0 {
			r.allow(r.s.Rebuild(r.t.Context()), "")
		}
	case 10:
		id, memory := fmt.Sprint("search", r.Int()), r.id()
		c := store.Call{ID: id, Tool: r.pick("memory_search", "memory_add"), Agent: r.pick("", "codex"), At: day, Took: time.Duration(r.IntN(1e9))}
		c.Output.Hits = []ambry.LoggedHit{{ID: memory, Score: r.Float64(), Injected: r.IntN(2) == 0}}
		r.s.Record(func() store.Call { return c })
	case 14, 15:
		r.learn()
	case 16:
		var again bytes.Buffer
		if r.IntN(8) == 0 {
			r.allow(r.s.Dump(r.t.Context(), &again), "")
			_, err := r.s.Restore(r.t.Context(), records(r.t, again.Bytes()), ambry.TakeTheirs)
			r.allow(err, "")
		}
	case 12:
		r.tell()
	case 13:
		r.read()
	case 11:
		verdict := []ambry.Verdict{ambry.VerdictUsed, ambry.VerdictIgnored, ambry.VerdictHelpful, ambry.VerdictWrong}[r.IntN(4)]
		_, err := r.s.Feedback(r.t.Context(), r.id(), ambry.Feedback{Verdict: verdict, SearchID: r.pick("", "search1", "search2")}, "")
		r.allow(err, ambry.NotFound)
	}
}

// learn makes claims of the turns that wait, about few topics.
func (r *random) learn() {
	lessons, err := r.s.Lessons(r.t.Context(), 1+r.IntN(20), 1<<20)
	r.allow(err, "")
	var all []store.Learned
	for _, l := range lessons {
		one := store.Learned{Lesson: l}
		for range r.IntN(3) {
			c := store.Claim{
				Rule: ambry.Rules[r.IntN(len(ambry.Rules))], Layer: ambry.L2, Project: r.pick("", "/p"), Value: r.pick("a", "b", "c"),
				Title: r.words(), Body: r.words(), Sure: r.Float64(), Need: r.IntN(3), Later: r.IntN(9) == 0,
			}
			c.Topic, c.Most = store.TopicOf(c.Project, r.pick("1", "2", "3", "4")), r.IntN(2) == 0
			c.Ends = r.IntN(6) == 0
			one.Claims = append(one.Claims, c)
		}
		all = append(all, one)
	}
	r.allow(r.s.Learn(r.t.Context(), all), "")
}

// exchange is one of few, so that agents and logs tell of the same.
func (r *random) exchange() (request, answer string, at time.Time) {
	n := r.IntN(6)
	return fmt.Sprint("request ", n, " that is long enough to be recognised by itself, whenever it comes"), fmt.Sprint("answer ", n), day.Add(time.Duration(n) * time.Hour)
}

// tell tells of a turn as an agent does.
func (r *random) tell() {
	request, answer, at := r.exchange()
	told := store.Told{Session: ambry.Session{Agent: r.pick("codex", "claude_code"), ID: r.pick("live", "session1")}, Tags: []string{r.words()}}
	told.Turn = ambry.Turn{ID: fmt.Sprint("turn", r.IntN(12)), At: at, Messages: []ambry.Message{
		{ID: "q", Role: ambry.User, Text: request}, {ID: "a", Role: ambry.Assistant, Text: answer},
	}}
	if r.IntN(2) == 0 {
		b := ambry.TurnStart{SessionID: told.Session.ID, Source: told.Session.Agent, TurnID: told.Turn.ID, Query: request}
		_, err := r.s.StartTurn(r.t.Context(), b)
		r.allow(err, "")
	}
	_, err := r.s.CompleteTurn(r.t.Context(), told, "")
	r.allow(err, ambry.Gone)
}

// read imports what the log of an agent has of a turn.
func (r *random) read() {
	request, answer, at := r.exchange()
	mustImport(r.t, r.s, ambry.Conversation{
		Session: ambry.Session{Agent: r.pick("codex", "claude_code"), ID: r.pick("log", "session1", "session2"), StartedAt: day},
		Turns: []ambry.Turn{{ID: r.pick("turn1", "turn2", fmt.Sprint("logged", r.IntN(20))), At: at.Add(time.Second), Messages: []ambry.Message{
			{ID: "q", Role: ambry.User, Text: request},
			{ID: "a", Role: ambry.Assistant, Text: answer, Calls: make([]ambry.ToolCall, r.IntN(2))},
		}}},
	})
}

func (r *random) allow(err error, kind ambry.Kind) {
	r.t.Helper()
	if err != nil && ambry.KindOf(err) != kind {
		r.t.Fatal(err)
	}
}

// conversation takes its turns from a small set, so that sessions share them.
func (r *random) conversation() ambry.Conversation {
	c := ambry.Conversation{Session: ambry.Session{
		Agent: r.pick("codex", "claude_code"), ID: fmt.Sprint("session", r.IntN(6)), Background: r.IntN(4) == 0,
		Project: r.pick("", "/p", "/q"), StartedAt: day.Add(time.Duration(r.IntN(6)) * time.Hour),
	}}
	for range r.IntN(4) {
		turn := ambry.Turn{
			ID: fmt.Sprint("turn", r.IntN(12)), Part: r.IntN(2), At: day.Add(time.Duration(r.IntN(500)) * time.Hour),
			Tokens: ambry.Tokens{Input: int64(r.IntN(100)), Output: int64(r.IntN(100))},
		}
		for i := range r.IntN(4) {
			turn.Messages = append(turn.Messages, ambry.Message{
				ID: fmt.Sprint(i), Role: []ambry.Role{ambry.User, ambry.Assistant}[i%2], Text: r.words(), Hidden: r.IntN(4) == 0,
				Calls: make([]ambry.ToolCall, r.IntN(3)),
			})
		}
		c.Turns = append(c.Turns, turn)
	}
	return c
}

func (r *random) words() string {
	return r.pick("alpha", "beta", "gamma") + " " + r.pick("delta", "数据库", "camelCase") + " " + fmt.Sprint(r.IntN(50))
}

func (r *random) pick(from ...string) string { return from[r.IntN(len(from))] }

// id is that of a memory that is there, or was.
func (r *random) id() string {
	items, err := r.s.Reports().Items(r.t.Context(), ambry.ItemsQuery{Page: 1 + r.IntN(3)})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(items.Items) > 0 && r.IntN(5) > 0 {
		return items.Items[r.IntN(len(items.Items))].ID
	}
	if len(r.ids) > 0 {
		return r.ids[r.IntN(len(r.ids))]
	}
	return "trace_nothing"
}

// compareOverview walks all pages and counts what the overview says.
func (r *random) compareOverview() {
	o, err := r.s.Reports().Overview(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	var memories, turns int64
	for page := 1; ; page++ {
		items, err := r.s.Reports().Items(r.t.Context(), ambry.ItemsQuery{Page: page})
		if err != nil {
			r.t.Fatal(err)
		}
		memories += int64(len(items.Items))
		if items.Total != o.Counts.Memories {
			r.t.Errorf("the list has %d memories, the overview %d", items.Total, o.Counts.Memories)
		}
		if !items.HasNext {
			break
		}
	}
	for page := 1; ; page++ {
		sessions, err := r.s.Reports().Sessions(r.t.Context(), ambry.SessionsQuery{Page: page})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, s := range sessions.Sessions {
			turns += s.Turns
		}
		if !sessions.HasNext {
			break
		}
	}
	var shares int64
	for _, s := range o.Sources {
		shares += s.Count
	}
	if memories != o.Counts.Memories || turns != o.Counts.Turns || shares != memories || memories == 0 || turns == 0 {
		r.t.Error(errors.Join(fmt.Errorf("listed %d memories and %d turns, shares add up to %d", memories, turns, shares), fmt.Errorf("overview: %+v", o.Counts)))
	}
}
