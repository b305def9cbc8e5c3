package opencode_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/opencode"
)

// TestReadingBesideAWriter reads a database again and again while OpenCode
// writes into it. Neither stands in the way of the other, and in the end all is
// told as it is.
func TestReadingBesideAWriter(t *testing.T) {
	s, m := newStore(t), newMemory(t)
	s.exec(`PRAGMA wal_autocheckpoint = 50; PRAGMA busy_timeout = 1`) // so that waiting fails
	s.ask("a", "m000", "begin")
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		defer cancel()
		for i := 1; i < 120 && !t.Failed(); i++ {
			session, id := fmt.Sprint("s", i%7), fmt.Sprintf("m%03d", i)
			s.ask(session, id, strings.Repeat("ask ", i))
			s.answer(session, id+"a", "I thi")
			s.change(id+"a", strings.Repeat("I think so. ", i))
			if i%20 == 0 {
				s.exec(`PRAGMA wal_checkpoint(PASSIVE)`)
			}
		}
	})
	readings := 0
	for ; ctx.Err() == nil; readings++ {
		if readings%3 == 0 {
			m.stop(s.source(), 2)
		} else {
			m.read(s.source())
		}
	}
	wg.Wait()
	m.read(s.source())
	whole := newMemory(t)
	whole.read(s.source())
	if diff := cmp.Diff(whole.turns, m.turns); diff != "" || len(m.turns) != 120 || readings < 5 {
		t.Errorf("%d turns after %d readings (-want +got):\n%s", len(m.turns), readings, diff)
	}
}

// TestALongTurnIsReadInBursts is about a turn of more bytes than are read at
// once, and of more than an item has.
func TestALongTurnIsReadInBursts(t *testing.T) {
	s := newStore(t)
	s.ask("a", "m0000", "begin")
	for i := 1; i <= 330; i++ {
		s.answer("a", fmt.Sprintf("m%04d", i), fmt.Sprint(i, strings.Repeat(" word", 3000)))
	}
	s.ask("a", "n", "end")
	got := 0
	for _, item := range read(t, s.source(), agent.Mark{}) {
		for _, turn := range item.Conversation.Turns {
			for _, message := range turn.Messages {
				if message.ID == "n" {
					continue
				}
				if want := fmt.Sprintf("m%04d", got); message.ID != want {
					t.Fatalf("message %s, want %s", message.ID, want)
				}
				got++
			}
		}
	}
	if got != 331 {
		t.Errorf("%d messages", got)
	}
}

// TestARecordThatIsTooLong is about pasted files.
func TestARecordThatIsTooLong(t *testing.T) {
	s := newStore(t)
	s.ask("a", "m1", "look")
	s.exec(`INSERT INTO part VALUES ('prt_z', 'm1', 'a', 1, 1, '{"type":"file","mime":"image/png","url":"data:image/png;base64,' || replace(hex(zeroblob(16800000)), '0', 'A') || '"}')`)
	s.exec(`INSERT INTO part VALUES ('prt_y', 'm1', 'a', 1, 1, '{"type":"file","mime":"image/png","url":"data:image/png;base64,' || replace(hex(zeroblob(600000)), '0', 'A') || '"}')`)
	items := read(t, s.source(), agent.Mark{})
	same(t, "notes", items[0].Notes, []string{"row m1: longer than can be held"})
	files := items[0].Conversation.Turns[0].Messages[0].Files
	if len(files) != 1 || files[0].Bytes != 900000 {
		t.Errorf("got %+v", files)
	}
}

func TestACursorThatCannotBeReadIsTheBeginning(t *testing.T) {
	s, m := newStore(t), newMemory(t)
	s.ask("a", "m1", "one")
	m.read(s.source())
	for _, cursor := range []string{"", "7", "{", `{"known":"?"}`, `{"known":7}`, `{"turns":[{}]}`} {
		m.mark.Cursor = cursor
		same(t, "with "+cursor, m.read(s.source()), []string{"m1"})
	}
	m.mark.FileID = "another"
	same(t, "in another file", m.read(s.source()), []string{"m1"})
}

// TestReadingLeavesNoTrace is about what a person's program must not notice.
func TestReadingLeavesNoTrace(t *testing.T) {
	s := newStore(t)
	s.ask("a", "m1", "one")
	before := s.source()
	read(t, before, agent.Mark{})
	if diff := cmp.Diff(before, s.source()); diff != "" {
		t.Error(diff)
	}
	for item, err := range opencode.Agent().History.Read(t.Context(), before, agent.Mark{}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(item.Conversation.Turns) == 0 {
			continue
		}
		s.ask("a", "m2", "while an item is out")
		var busy, pages, moved int
		if err := s.db.QueryRowContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved); err != nil || busy != 0 {
			t.Errorf("OpenCode cannot clean up its log while an item is out: %d, %v", busy, err)
		}
	}
}
