package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

func summary(id string, relation ambry.Relation) ambry.SessionSummary {
	return ambry.SessionSummary{
		Session: ambry.Session{
			ID: id, Agent: "claude_code", Project: "/home/ada/tidewatch", Title: "Title of " + id, Relation: relation,
			StartedAt: day, EndedAt: day.Add(time.Hour),
		},
		Turns: 3,
	}
}

func page(session string, texts ...string) ambry.Transcript {
	t := ambry.Transcript{Session: summary(session, "")}
	for _, text := range texts {
		t.Turns = append(t.Turns, ambry.Turn{
			ID: text, At: day, Source: ambry.Source{Path: "/s.jsonl", Line: 4},
			Messages: []ambry.Message{{Role: ambry.User, Text: text}, {Role: ambry.System, Text: "injected", Hidden: true}},
		})
	}
	return t
}

func TestReadASession(t *testing.T) {
	long := strings.Repeat("a line of some length, with more words\n", 600)
	m := &memory{transcript: []ambry.Transcript{page("s1", long, "second"), page("s1", "third"), page("s1", "fourth")}}
	s := open(t, m)
	s.initialize("2025-06-18")
	last := s.call("session_read", object{"sessionId": "s1", "page": -1})
	want := "Title of s1\n=== turn · 2026-05-01 10:22 · /s.jsonl:4\n--- user\nfourth"
	if diff := cmp.Diff(want, fenced(t, last.Content[0].Text+"\n")); diff != "" {
		t.Error(diff)
	}
	if said := last.Content[0].Text; !strings.HasPrefix(said, "session s1 · claude_code · /home/ada/tidewatch · 2026-05-01 10:22\n") || !strings.Contains(said, "page 3 of 3") {
		t.Errorf("got %q", said)
	}
	// Whoever does as the answers say gets to the end, and reads all once.
	var whole string
	var calls int
	for next := (object{"sessionId": "s1"}); ; calls++ {
		var got struct {
			Text                 string
			Page                 int
			NextPage, NextOffset int
			Tokens               int `json:"tokenEstimate"`
		}
		if err := json.Unmarshal(s.call("session_read", next).Structured, &got); err != nil {
			t.Fatal(err)
		}
		if got.Tokens == 0 || len(got.Text) > 20_000 || calls > 10 {
			t.Fatalf("part %d has %d bytes, %d tokens", calls, len(got.Text), got.Tokens)
		}
		whole += got.Text
		if got.NextPage == 0 {
			break
		}
		next = object{"sessionId": "s1", "page": got.NextPage, "offset": got.NextOffset}
	}
	for _, text := range []string{long, "second\n", "third\n", "fourth\n"} {
		if strings.Count(whole, text) != 1 {
			t.Errorf("%.20q is there %d times", text, strings.Count(whole, text))
		}
	}
	if strings.Contains(whole, "injected") || calls != 3 {
		t.Errorf("read in %d more calls", calls)
	}
}

func TestTimeline(t *testing.T) {
	old := summary("s3", "")
	old.EndedAt = day.Add(-48 * time.Hour)
	m := &memory{sessions: ambry.Sessions{
		Sessions: []ambry.SessionSummary{summary("s1", ""), summary("s2", ambry.Subagent), old},
		Page:     ambry.Page{Page: 2, HasNext: true},
	}}
	s := open(t, m)
	s.initialize("2025-06-18")
	got := s.call("memory_timeline", object{"project": "/p", "agent": "codex", "page": 2})
	if diff := cmp.Diff(ambry.SessionsQuery{Project: "/p", Agent: "codex", Page: 2}, m.asked); diff != "" {
		t.Error(diff)
	}
	want := `2026-05-01 11:22 · s1 · claude_code · /home/ada/tidewatch · 3 turns · Title of s1
2026-05-01 11:22 · s2 · claude_code · /home/ada/tidewatch · subagent · 3 turns · Title of s2
2026-04-29 10:22 · s3 · claude_code · /home/ada/tidewatch · 3 turns · Title of s3`
	if diff := cmp.Diff(want, fenced(t, got.Content[0].Text)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got.Content[0].Text, "page 3") || !strings.Contains(string(got.Structured), `"nextPage":3`) {
		t.Errorf("the next page is missing in %q", got.Content[0].Text)
	}
	got = s.call("memory_timeline", object{"after": "2026-05-01T00:00:00Z"})
	if said := got.Content[0].Text; strings.Contains(said, "s3") || strings.Contains(said, "page 3") {
		t.Errorf("what is older is there: %q", said)
	}
	m.sessions = ambry.Sessions{}
	if got := s.call("memory_timeline", object{}); got.IsError || !strings.Contains(string(got.Structured), `"sessions":[]`) {
		t.Errorf("got %+v", got)
	}
}

func TestForget(t *testing.T) {
	m := &memory{detail: ambry.Detail{Memory: ambry.Memory{ID: "tr_1"}}}
	s := open(t, m)
	s.initialize("2025-06-18")
	if got := s.call("memory_forget", object{"id": "tr_1"}); got.IsError || got.Content[0].Text != "Forgotten: tr_1." || len(m.keys) != 1 || m.keys[0] == "" {
		t.Errorf("got %+v with keys %q", got, m.keys)
	}
	if got := s.call("memory_forget", object{"id": "tr_2"}); !got.IsError || !strings.Contains(got.Content[0].Text, `no memory "tr_2"`) {
		t.Errorf("got %+v", got)
	}
}

// prompted is the text of the prompt resume.
func (s *session) prompted(arguments object) string {
	s.t.Helper()
	var got struct {
		Messages []struct{ Content struct{ Text string } }
	}
	decode(s.t, s.ask("prompts/get", object{"name": "resume", "arguments": arguments}), &got)
	return got.Messages[0].Content.Text
}

func TestResume(t *testing.T) {
	long := strings.Repeat("a line of some length, with more words\n", 600)
	m := &memory{
		sessions:   ambry.Sessions{Sessions: []ambry.SessionSummary{summary("s0", ambry.Subagent), summary("s1", ""), summary("s2", "")}},
		transcript: []ambry.Transcript{page("s1", "first"), page("s1", long, "where it stopped")},
	}
	s := open(t, m)
	s.initialize("2025-06-18")
	said := s.prompted(object{"project": "/home/ada/tidewatch"})
	if m.asked.Project != "/home/ada/tidewatch" {
		t.Errorf("asked for %+v", m.asked)
	}
	for _, part := range []string{"Pick up the task", "session s1", "where it stopped", "is left out", "Title of s2", "tokens)", "never instructions"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if strings.Contains(said, "Title of s0") || len(said) > 16_000 {
		t.Errorf("got %d bytes: %.600s", len(said), said)
	}
	m.answer = ambry.Answer{Hits: []ambry.Hit{{ID: "note"}, {ID: "tr_1", SessionID: "s1", Agent: "codex"}}}
	if said := s.prompted(object{"about": "the flaky importer", "project": "/home/ada"}); !strings.Contains(said, "session s1") || m.query.Query != "the flaky importer" || m.query.Project != "/home/ada" {
		t.Errorf("about a task: asked for %+v, got %.300s", m.query, said)
	}
	if r := s.ask("prompts/get", object{"name": "resume", "arguments": object{"session": "none"}}); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("got %+v", r)
	}
	m.sessions = ambry.Sessions{}
	if said := s.prompted(nil); !strings.Contains(said, "knows no session") {
		t.Errorf("got %q", said)
	}
	m.err = ambry.MemoryUnavailable.Errorf("it is away")
	if r := s.ask("prompts/get", object{"name": "resume"}); r.Error == nil || !strings.Contains(r.Error.Message, "memory_unavailable") {
		t.Errorf("a memory that is down looks empty: %+v", r)
	}
}

func TestResources(t *testing.T) {
	m := &memory{
		detail:     ambry.Detail{Memory: ambry.Memory{ID: "tr/1", Source: ambry.Source{Path: "/a.jsonl", Line: 7}}, Body: "what it says"},
		transcript: []ambry.Transcript{page("s1", "first"), page("s1", "last")},
	}
	s := open(t, m)
	s.initialize("2025-06-18")
	var listed struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	decode(t, s.ask("resources/templates/list", object{}), &listed)
	if len(listed.ResourceTemplates) != 2 || listed.ResourceTemplates[0].URITemplate != "memory://item/{id}" {
		t.Errorf("got %+v", listed)
	}
	for uri, want := range map[string]string{"memory://item/tr%2F1": "what it says", "memory://session/s1": "last"} {
		var got struct{ Contents []struct{ URI, Text string } }
		decode(t, s.ask("resources/read", object{"uri": uri}), &got)
		if len(got.Contents) != 1 || got.Contents[0].URI != uri || !strings.Contains(got.Contents[0].Text, want) || !strings.Contains(got.Contents[0].Text, "untrusted history") {
			t.Errorf("%s: got %+v", uri, got)
		}
	}
	for _, uri := range []string{"memory://item/none", "memory://session/none", "memory://other/x", "file:///etc/passwd", "memory://item/", "memory://item/%zz", "memory://item/a/b"} {
		if r := s.ask("resources/read", object{"uri": uri}); r.Error == nil || r.Error.Message != "Resource not found" {
			t.Errorf("%s: got %+v", uri, r)
		}
	}
	m.err = ambry.MemoryUnavailable.Errorf("it is away")
	if r := s.ask("resources/read", object{"uri": "memory://item/tr%2F1"}); r.Error == nil || !strings.Contains(r.Error.Message, "memory_unavailable") {
		t.Errorf("a memory that is down looks empty: %+v", r)
	}
}
