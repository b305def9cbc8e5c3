package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/redact"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// conversation makes a session of n turns, a minute apart.
func conversation(agent, id, project string, start time.Time, n int) ambry.Conversation {
	c := ambry.Conversation{Session: ambry.Session{ID: id, Agent: agent, Project: project, StartedAt: start}}
	for i := range n {
		at := start.Add(time.Duration(i) * time.Minute)
		c.Turns = append(c.Turns, ambry.Turn{
			ID: fmt.Sprintf("%s-%02d", id, i), At: at, Source: ambry.Source{Path: "/logs/" + id, Line: i + 1, Offset: int64(100 * i), End: int64(100*i + 90)},
			Messages: []ambry.Message{
				{ID: "q", Role: ambry.User, Text: fmt.Sprintf("question %d of %s", i, id), At: at, Line: i + 1, Offset: int64(100 * i)},
				{ID: "h", Role: ambry.User, Text: "injected", Hidden: true, At: at},
				{ID: "a", Role: ambry.Assistant, Text: "answer", At: at, Tokens: ambry.Tokens{Input: 100, Cached: 40, Output: 7}, Calls: make([]ambry.ToolCall, 2)},
			},
		})
	}
	return c
}

func filled(t *testing.T) *engine.Engine {
	t.Helper()
	e := open(t)
	_, err := e.Import(t.Context(), []redact.Conversation{
		redact.Clean(conversation("codex", "old", "/work/infra", noon, 3)),
		redact.Clean(conversation("claude_code", "long", "/work/web", noon.Add(time.Hour), 45)),
		redact.Clean(conversation("codex", "new", "/work/web", noon.AddDate(0, 0, 1), 2)),
		redact.Clean(conversation("codex", "empty", "/work/web", noon.AddDate(0, 0, 2), 0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []ambry.Layer{ambry.L2, ambry.L3, ambry.Skill, ambry.Skill} {
		_, err := e.Add(t.Context(), redact.CleanNote(ambry.Note{Content: "a note of " + string(l), Layer: l, CreatedAt: noon.AddDate(0, 0, -1)}), "")
		if err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func TestOverview(t *testing.T) {
	e := filled(t)
	got, err := e.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := ambry.Overview{
		Counts: ambry.OverviewCounts{Memories: 54, Skills: 2, Experiences: 1, WorldModels: 1, Sessions: 3, Turns: 50, Messages: 100, ToolCalls: 100, Projects: 2},
		Daily:  []ambry.DayCount{{Date: "2026-02-28", Count: 4}, {Date: "2026-03-01", Count: 48}, {Date: "2026-03-02", Count: 2}},
		Sources: []ambry.SourceCount{
			{Source: "claude_code", Count: 45, Percentage: 4500.0 / 54}, {Source: "codex", Count: 5, Percentage: 500.0 / 54}, {Source: "", Count: 4, Percentage: 400.0 / 54},
		},
		Tokens:       ambry.Tokens{Input: 5000, Cached: 2000, Output: 350},
		StorageBytes: got.StorageBytes, ServerTime: got.ServerTime,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("overview (-want +got):\n%s", diff)
	}
	if got.StorageBytes < 4096 {
		t.Errorf("storage: %d bytes", got.StorageBytes)
	}
}

func TestItems(t *testing.T) {
	e := filled(t)
	for _, c := range []struct {
		name  string
		query ambry.ItemsQuery
		total int64
		first string // title of the first one on the page
		rows  int
	}{
		{"all", ambry.ItemsQuery{}, 54, "question 1 of new", 20},
		{"the last page", ambry.ItemsQuery{Page: 3}, 54, "question 6 of long", 14},
		{"beyond the last page", ambry.ItemsQuery{Page: 4}, 54, "", 0},
		{"a page before the first", ambry.ItemsQuery{Page: -1}, 54, "question 1 of new", 20},
		{"an agent", ambry.ItemsQuery{Agent: "codex"}, 5, "question 1 of new", 5},
		{"an unknown agent", ambry.ItemsQuery{Agent: "nobody"}, 0, "", 0},
		{"without an agent", ambry.ItemsQuery{Exclude: []string{"codex", "nobody"}}, 49, "question 44 of long", 20},
		{"a project", ambry.ItemsQuery{Project: "/work/infra"}, 3, "question 2 of old", 3},
		{"a layer", ambry.ItemsQuery{Layer: ambry.Skill}, 2, "a note of Skill", 2},
		{"archived", ambry.ItemsQuery{Status: ambry.Archived}, 0, "", 0},
		{"a text", ambry.ItemsQuery{Text: "question long"}, 45, "question 44 of long", 20},
		{"a text and an agent", ambry.ItemsQuery{Text: "question", Agent: "codex"}, 5, "question 1 of new", 5},
		{"a text that is nowhere", ambry.ItemsQuery{Text: "xylophone"}, 0, "", 0},
		{"a text without words", ambry.ItemsQuery{Text: "?"}, 0, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := e.Items(t.Context(), c.query)
			if err != nil {
				t.Fatal(err)
			}
			if got.Items == nil || got.Total != c.total || len(got.Items) != c.rows || got.PageSize != 20 || got.TotalPages != max((c.total+19)/20, 1) {
				t.Errorf("got %d of %d, page %+v", len(got.Items), got.Total, got.Page)
			}
			if got.HasPrev != (got.Page.Page > 1) || got.HasNext != (int64(got.Page.Page) < got.TotalPages) {
				t.Errorf("neighbours: got %+v", got.Page)
			}
			if c.rows > 0 && got.Items[0].Title != c.first {
				t.Errorf("first: got %q, want %q", got.Items[0].Title, c.first)
			}
			if !slices.IsSortedFunc(got.Items, func(a, b ambry.Memory) int { return b.CreatedAt.Compare(a.CreatedAt) }) {
				t.Error("not newest first")
			}
		})
	}
}

func TestArchivedItems(t *testing.T) {
	e := filled(t)
	all, err := e.Items(t.Context(), ambry.ItemsQuery{Text: "question old"})
	if err != nil || len(all.Items) != 3 {
		t.Fatalf("got %d items and error %v", len(all.Items), err)
	}
	archived := ambry.Archived
	if _, err := e.Patch(t.Context(), all.Items[0].ID, ambry.Patch{Status: &archived}, ""); err != nil {
		t.Fatal(err)
	}
	for _, q := range []ambry.ItemsQuery{{Status: archived}, {Status: archived, Text: "question"}} {
		got, err := e.Items(t.Context(), q)
		if err != nil || got.Total != 1 || len(got.Items) != 1 || got.Items[0].ID != all.Items[0].ID {
			t.Errorf("%+v: got %+v and error %v", q, got, err)
		}
	}
	if again, err := e.Items(t.Context(), ambry.ItemsQuery{Text: "question old"}); err != nil || again.Total != 3 {
		t.Errorf("a list without a status has archived ones too: got %d and error %v", again.Total, err)
	}
}

func TestSessions(t *testing.T) {
	e := filled(t)
	for _, c := range []struct {
		name  string
		query ambry.SessionsQuery
		want  []string
	}{
		{"all, without empty ones", ambry.SessionsQuery{}, []string{"new", "long", "old"}},
		{"an agent", ambry.SessionsQuery{Agent: "codex"}, []string{"new", "old"}},
		{"a project", ambry.SessionsQuery{Project: "/work/web"}, []string{"new", "long"}},
		{"both", ambry.SessionsQuery{Agent: "claude_code", Project: "/work/web"}, []string{"long"}},
		{"neither", ambry.SessionsQuery{Agent: "nobody"}, []string{}},
		{"beyond the last page", ambry.SessionsQuery{Page: 2}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := e.Sessions(t.Context(), c.query)
			if err != nil {
				t.Fatal(err)
			}
			ids := []string{}
			for _, s := range got.Sessions {
				ids = append(ids, s.ID)
			}
			if !slices.Equal(ids, c.want) {
				t.Errorf("got %q, want %q", ids, c.want)
			}
		})
	}
	got, err := e.Sessions(t.Context(), ambry.SessionsQuery{Agent: "claude_code"})
	if err != nil || len(got.Sessions) != 1 {
		t.Fatalf("got %+v and error %v", got, err)
	}
	want := ambry.SessionSummary{
		Session: ambry.Session{
			ID: "long", Agent: "claude_code", Title: "question 0 of long", Project: "/work/web",
			StartedAt: noon.Add(time.Hour), EndedAt: noon.Add(time.Hour + 44*time.Minute),
		},
		Turns: 45, Messages: 90, Calls: 90, Tokens: ambry.Tokens{Input: 4500, Cached: 1800, Output: 315},
	}
	if diff := cmp.Diff(want, got.Sessions[0]); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestTranscript(t *testing.T) {
	e := filled(t)
	want := conversation("claude_code", "long", "/work/web", noon.Add(time.Hour), 45).Turns
	var turns []ambry.Turn
	for page := 1; ; page++ {
		got, err := e.Transcript(t.Context(), "long", page)
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, got.Turns...)
		if got.Session.ID != "long" || got.Total != 45 {
			t.Errorf("page %d: got %+v", page, got.Session)
		}
		if !got.HasNext {
			break
		}
	}
	if diff := cmp.Diff(want, turns); diff != "" {
		t.Errorf("turns (-sent +got):\n%s", diff)
	}
	_, err := e.Transcript(t.Context(), "nothing", 1)
	if ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("an unknown session: got %v", err)
	}
}

func TestSource(t *testing.T) {
	e := filled(t)
	items, err := e.Items(t.Context(), ambry.ItemsQuery{Project: "/work/infra"})
	if err != nil || len(items.Items) == 0 {
		t.Fatalf("got %+v and error %v", items, err)
	}
	got, err := e.Source(t.Context(), items.Items[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	turn := conversation("codex", "old", "/work/infra", noon, 3).Turns[2]
	want := ambry.Provenance{MemoryID: items.Items[0].ID, Source: turn.Source, Turn: &turn, Session: ambry.Session{
		ID: "old", Agent: "codex", Project: "/work/infra", StartedAt: noon, EndedAt: noon.Add(2 * time.Minute),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
	if _, err := e.Source(t.Context(), "trace_nothing"); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("an unknown memory: got %v", err)
	}
}
