package opencode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry/internal/agent"
)

// later is a source when its database was changed again after some time.
func later(src agent.Source, d time.Duration) agent.Source {
	src.ModTime = src.ModTime.Add(d)
	return src
}

func TestALiveDatabaseIsReadToItsNewestRow(t *testing.T) {
	s, m := newStore(t), newMemory(t)
	s.ask("a", "m1", "one")
	s.answer("a", "m2", "two")
	same(t, "at first", m.read(s.source()), []string{"m1"})
	if !m.mark.Covers(s.source()) {
		t.Error("nothing was written, but the mark does not cover it")
	}
	s.ask("a", "m3", "three")
	if m.mark.Covers(s.source()) {
		t.Error("a row in the log does not show")
	}
	same(t, "what is new", m.read(s.source()), []string{"m1", "m3"})
	same(t, "what is new then", m.read(s.source()), nil)
	m.holds("m1: one | two", "m3: three")
	if m.mark.Messages != 3 {
		t.Errorf("the mark counts %d messages", m.mark.Messages)
	}
}

// TestOnlyTheLastTurnIsReadAgain is about sessions of many megabytes that
// somebody works in.
func TestOnlyTheLastTurnIsReadAgain(t *testing.T) {
	s, m := newStore(t), newMemory(t)
	for i := range 20 {
		s.ask("a", fmt.Sprintf("m%02d", i), "ask")
	}
	s.answer("a", "m20", "I thi")
	m.read(s.source())
	s.change("m20", "I think so.")
	same(t, "after a change in place", m.read(s.source()), []string{"m19"})
	if got := m.turns["m19/0"].Messages[1].Text; got != "I think so." {
		t.Errorf("it says %q", got)
	}
	s.ask("a", "m21", "next")
	same(t, "after a new turn", m.read(s.source()), []string{"m19", "m21"})
	s.change("m21", "next, please")
	same(t, "after a change of that", m.read(s.source()), []string{"m21"})
}

func TestChangesInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *store)
		want   []string
	}{
		"of an earlier turn": {
			func(s *store) { s.change("m2", "TWO") }, []string{"m1: one | TWO", "m3: three | four"},
		},
		"with a clock that went back": {
			func(s *store) { s.now -= 1e9; s.change("m2", "TWO") }, []string{"m1: one | TWO", "m3: three | four"},
		},
		"in the same millisecond": {
			func(s *store) {
				s.exec(`UPDATE part SET data = json_object('type', 'text', 'text', 'twoo') WHERE message_id = 'm2'`)
			},
			[]string{"m1: one | twoo", "m3: three | four"},
		},
		"of which the first is undone by the second": {
			func(s *store) {
				s.exec(`UPDATE part SET time_updated = time_updated + 1, data = json_object('type', 'text', 'text', 'TWO') WHERE message_id = 'm2'`)
				s.exec(`UPDATE part SET time_updated = time_updated - 1, data = json_object('type', 'text', 'text', 'fourr') WHERE message_id = 'm4'`)
			},
			[]string{"m1: one | TWO", "m3: three | fourr"},
		},
		"of a row that is gone": {
			func(s *store) { s.exec(`DELETE FROM part WHERE message_id = 'm2'`) }, []string{"m1: one", "m3: three | four"},
		},
		"of a row that is gone, with another one in its place": {
			func(s *store) {
				s.exec(`DELETE FROM part WHERE message_id = 'm4'`)
				s.exec(`INSERT INTO part SELECT 'prt_new', 'm2', session_id, time_created, time_updated, data FROM part WHERE message_id = 'm3'`)
			},
			[]string{"m1: one | two\n\nthree", "m3: three"},
		},
		"of a prompt that is gone, with its answer left": {
			func(s *store) { s.remove("m3") }, []string{"m1: one | two | four", "m3: three | four"},
		},
		"of a prompt that is one no more": {
			func(s *store) { s.exec(`DELETE FROM part WHERE message_id = 'm3'`) }, []string{"m1: one | two | four", "m3: three | four"},
		},
		"of what is undone": {
			func(s *store) {
				s.exec(`UPDATE session SET revert = '{"messageID":"m2"}', time_updated = time_updated + 1`)
			},
			[]string{"m1: one | (two)", "m3: (three) | (four)"},
		},
		"of the title": {
			func(s *store) { s.exec(`UPDATE session SET title = 'new', time_updated = time_updated + 1`) },
			[]string{"m1: one | two", "m3: three | four"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := newStore(t), newMemory(t)
			s.ask("a", "m1", "one")
			s.answer("a", "m2", "two")
			s.ask("a", "m3", "three")
			s.answer("a", "m4", "four")
			m.read(s.source())
			c.change(s)
			if len(m.read(s.source())) == 0 {
				t.Error("nothing is told")
			}
			m.holds(c.want...)
			if name == "of the title" && m.of["m3"].Title != "new" {
				t.Errorf("the title is %q", m.of["m3"].Title)
			}
		})
	}
}

// TestWhatIsGoneStaysKnown is about agents that clean up: what they forget is
// not forgotten here (reports 60 and 62).
func TestWhatIsGoneStaysKnown(t *testing.T) {
	s, m := newStore(t), newMemory(t)
	s.ask("a", "m1", "one")
	s.ask("b", "m2", "two")
	m.read(s.source())
	s.exec(`DELETE FROM session WHERE id = 'a'`)
	s.exec(`DELETE FROM message WHERE session_id = 'a'`)
	s.exec(`DELETE FROM part WHERE session_id = 'a'`)
	same(t, "after a session is gone", m.read(s.source()), nil)
	s.exec(`DELETE FROM message WHERE session_id = 'b'`)
	same(t, "after its messages are gone", m.read(s.source()), nil)
	m.holds("m1: one", "m2: two")
}

// crowd makes more sessions than are compared each time.
func crowd(s *store) {
	for i := range 40 {
		id := fmt.Sprintf("%02d", i)
		s.ask("s"+id, "m"+id, "ask "+id)
	}
}

func TestSessionsThatRest(t *testing.T) {
	s, m := newStore(t), newMemory(t)
	crowd(s)
	if got := m.read(s.source()); len(got) != 40 || got[0] != "m39" || got[39] != "m00" {
		t.Errorf("read %d, not the newest ones first: %q", len(got), got)
	}
	s.change("m00", "changed in place, and nothing else")
	same(t, "at once", m.read(s.source()), nil)
	same(t, "with a change after a while", m.read(later(s.source(), 11*time.Minute)), []string{"m00"})
	s.answer("s01", "n01", "a new row")
	same(t, "with a new row", m.read(later(s.source(), 11*time.Minute)), []string{"m01"})
	s.session("s02")
	same(t, "when it is used", m.read(later(s.source(), 11*time.Minute)), []string{"m02"})
	s.change("m03", "changed in place")
	same(t, "when the clock of the files went back", m.read(later(s.source(), -time.Hour)), []string{"m03"})
}

// TestManyNewRows is about sessions whose new rows are behind more of them than
// are looked at.
func TestManyNewRows(t *testing.T) {
	s, m := newStore(t), newMemory(t)
	crowd(s)
	m.read(s.source())
	s.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		INSERT INTO part SELECT 'new' || i, 'm39', 's39', 0, 0, '{}' FROM n`)
	s.exec(`INSERT INTO part VALUES ('behind', 'm00', 's00', 0, 0, '{"type":"text","text":"behind them"}')`)
	same(t, "what is told", m.read(s.source()), []string{"m39", "m00"})
}

// TestRowsAreNumberedAnew is about a table that was written anew: new rows may
// be below those that were the highest.
func TestRowsAreNumberedAnew(t *testing.T) {
	s, m := newStore(t), newMemory(t)
	crowd(s)
	s.exec(`UPDATE part SET rowid = rowid + 1000`)
	s.exec(`UPDATE message SET rowid = rowid + 1000`)
	m.read(s.source())
	s.exec(`UPDATE part SET rowid = rowid - 1000`)
	s.exec(`UPDATE message SET rowid = rowid - 1000`)
	s.answer("s00", "n00", "new")
	same(t, "what is told", m.read(s.source()), []string{"m00"})
}

// TestManySessionsAreReadOn is about more sessions than are read on from their
// last turn: the ones that were used last are.
func TestManySessionsAreReadOn(t *testing.T) {
	s, m := newStore(t), newMemory(t)
	crowd(s)
	crowdAgain := func(id string) { s.ask("s"+id, "n"+id, "again") }
	crowdAgain("39")
	m.read(s.source())
	s.change("n39", "changed")
	same(t, "in the newest session", m.read(s.source()), []string{"n39"})
	crowdAgain("00")
	same(t, "in the oldest one", m.read(s.source()), []string{"m00", "n00"})
	s.change("n00", "changed")
	same(t, "in what is the newest one now", m.read(s.source()), []string{"n00"})
}

// TestNothingIsLost changes a database at random, reads it, stops in the midst
// and reads on. In the end all that is in it was told as it is.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s, m := openStore(t, seed%2 == 1), newMemory(t)
			for step := range 60 {
				disturb(s, r, step)
				switch r.IntN(4) {
				case 0:
					m.stop(s.source(), r.IntN(4))
				case 1:
					m.read(s.source())
				}
			}
			m.read(later(s.source(), time.Hour))
			whole := newMemory(t)
			whole.read(s.source())
			for key, want := range whole.turns {
				if diff := cmp.Diff(want, m.turns[key]); diff != "" {
					t.Fatalf("turn %s (-want +got):\n%s", key, diff)
				}
			}
			for id, want := range whole.of {
				if got := m.of[id].ID; got != want.ID {
					t.Errorf("turn %s is of session %q", id, got)
				}
			}
		})
	}
}

// disturb does one thing to a database.
func disturb(s *store, r *rand.Rand, step int) {
	session, id := fmt.Sprintf("s%d", r.IntN(5)), fmt.Sprintf("m%03d", step)
	old := fmt.Sprintf("m%03d", r.IntN(step+1))
	if r.IntN(6) == 0 {
		s.now -= r.Int64N(50)
	}
	switch r.IntN(8) {
	case 0, 1:
		s.ask(session, id, fmt.Sprint("ask ", step))
	case 2, 3:
		s.session(session)
		s.answer(session, id, fmt.Sprint("answer ", step))
	case 4:
		s.change(old, fmt.Sprint("changed ", step))
	case 5:
		s.remove(old)
	case 6:
		s.exec(`UPDATE `+s.table()+` SET revert = ?, time_updated = time_updated + 1 WHERE id = ?`, `{"messageID":"`+old+`"}`, session)
	case 7:
		s.exec(`UPDATE `+s.table()+` SET revert = NULL, time_updated = time_updated + 1 WHERE id = ?`, session)
	}
}
