package opencode_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/opencode"
)

// TestAChangeInTheTreeShows changes files as OpenCode does, in place or not.
func TestAChangeInTheTreeShows(t *testing.T) {
	h := agent.Home{Dir: t.TempDir()}
	session := scatter(t, h, "ses_a", "one")
	message := database(h, "storage/message/ses_a/msg_ses_a.json")
	part := database(h, "storage/part/msg_ses_a/prt_ses_a_1.json")
	at := time.Now().Add(-time.Hour)
	touch := func(path string) {
		at = at.Add(time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{session, message, part, filepath.Dir(part)} {
		touch(path)
	}
	locate := func() agent.Source {
		src, ok := opencode.Agent().History.Locate(h, part)
		if !ok || src.Path != session {
			t.Fatalf("located %q", src.Path)
		}
		return src
	}
	m := newMemory(t)
	m.read(locate())
	if !m.mark.Covers(locate()) {
		t.Error("nothing changed, but the mark does not cover it")
	}
	for _, change := range []struct {
		name string
		do   func()
		want []string
	}{
		{"a title", func() {
			put(t, session, `{"id":"ses_a","directory":"/w","title":"u","time":{"created":1763900000000}}`)
			touch(session)
		}, []string{"msg_ses_a: one"}},
		{"a part, in place", func() {
			put(t, part, `{"sessionID":"ses_a","type":"text","text":"uno"}`)
			touch(part)
		}, []string{"msg_ses_a: uno"}},
		{"a new part", func() {
			put(t, filepath.Join(filepath.Dir(part), "prt_ses_a_2.json"), `{"sessionID":"ses_a","type":"text","text":"more"}`)
		}, []string{"msg_ses_a: uno\n\nmore"}},
		{"a part that is gone", func() {
			if err := os.Remove(part); err != nil {
				t.Fatal(err)
			}
			touch(filepath.Dir(part))
			put(t, part, `{"sessionID":"ses_a","type":"reasoning","text":"more"}`)
		}, []string{"msg_ses_a: more"}},
		{"a new message", func() {
			put(t, database(h, "storage/message/ses_a/msg_ses_b.json"), `{"role":"assistant","time":{"created":1763900001000},"error":{"name":"UnknownError","data":{"message":"no"}}}`)
		}, []string{"msg_ses_a: more | no"}},
		{"a part of an earlier message that is new", func() {
			touch(message)
			put(t, filepath.Join(filepath.Dir(part), "prt_ses_a_3.json"), `{"sessionID":"ses_a","type":"text","text":"and more"}`)
		}, []string{"msg_ses_a: more\n\nand more | no"}},
		{"the end is undone", func() {
			put(t, session, `{"id":"ses_a","directory":"/w","title":"u","revert":{"messageID":"msg_ses_a","partID":"prt_ses_a_3"}}`)
			touch(session)
		}, []string{"msg_ses_a: more | (and more) | (no)"}},
	} {
		change.do()
		src := locate()
		if m.mark.Covers(src) {
			t.Fatalf("%s does not show", change.name)
		}
		m.read(src)
		m.holds(change.want...)
		if m.mark.Messages != int64(len(m.turns["msg_ses_a/0"].Messages)) {
			t.Errorf("after %s the mark counts %d messages", change.name, m.mark.Messages)
		}
	}
}

// TestAReadingOfTheTreeGoesOn stops after a turn, and reads on when something
// changed or nothing did.
func TestAReadingOfTheTreeGoesOn(t *testing.T) {
	h := agent.Home{Dir: t.TempDir()}
	session := scatter(t, h, "ses_a", "one")
	put(t, database(h, "storage/message/ses_a/msg_ses_b.json"), `{"role":"user","time":{"created":1763900001000},"summary":{"title":"two"}}`)
	src := sources(t, h)[0]
	m := newMemory(t)
	m.stop(src, 1)
	m.holds("msg_ses_a: one")
	first := m.mark
	same(t, "the rest", m.read(src), []string{"msg_ses_b"})
	put(t, session, `{"id":"ses_a","title":"another"}`)
	m.mark = first
	same(t, "what changed", m.read(sources(t, h)[0]), []string{"msg_ses_a", "msg_ses_b"})
}
