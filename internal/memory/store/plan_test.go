package store

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// plan returns the steps of a query in the order in which SQLite nests them.
func plan(t *testing.T, s *Store, query string) []string {
	t.Helper()
	rows, err := s.readers.Reader(t.Context()).Rows("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatalf("%v in %s", err, query)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		out = append(out, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// wholeTable matches a step that reads all rows of a table that grows.
var wholeTable = regexp.MustCompile(`^SCAN (memory|turn|session|change|recall_log|feedback|uses|live_turn|live_session|m|t|s|l|f|u|x)\b( USING COVERING INDEX)?`)

// TestNoPageReadsAWholeTable calls everything that reads and looks at the plans
// of all that it asked.
func TestNoPageReadsAWholeTable(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	c := ambry.Conversation{Session: ambry.Session{ID: "s", Agent: "codex", Project: "/p"}, Turns: []ambry.Turn{{
		ID: "t", Messages: []ambry.Message{{ID: "m", Role: ambry.User, Text: "a question"}},
	}}}
	n, err := s.Import(ctx, []ambry.Conversation{c})
	if err != nil || n.Added != 1 {
		t.Fatalf("got %+v and error %v", n, err)
	}
	lessons, err := s.Lessons(ctx, 1, 1)
	if err != nil || len(lessons) != 1 {
		t.Fatalf("got %v and error %v", lessons, err)
	}
	claims := []Claim{
		{Rule: ambry.Preference, Layer: ambry.L2, Project: "/p", Topic: TopicOf("a"), Value: "a", Title: "a", Body: "a", Sure: 0.9},
		{Rule: ambry.Fact, Layer: ambry.L3, Project: "/p", Topic: TopicOf("b"), Value: "b", Title: "b", Body: "b", Sure: 0.9},
	}
	if err := s.Learn(ctx, []Learned{{Lesson: lessons[0], Claims: claims}}); err != nil {
		t.Fatal(err)
	}
	found, err := s.Candidates(ctx, Match{All: [][]string{{"question"}}}, 10)
	if err != nil || len(found.Best) != 1 {
		t.Fatalf("got %v and error %v", found, err)
	}
	texts, err := s.Texts(ctx, []int64{found.Best[0].Row}, 1, 0)
	if err != nil || len(texts) != 1 {
		t.Fatalf("got %v and error %v", texts, err)
	}
	s.Record(call("x", time.Now()))
	calls := []func() error{
		func() error { _, err := s.Reports().Logs(ctx, ambry.LogsQuery{}); return err },
		func() error {
			_, err := s.Reports().Logs(ctx, ambry.LogsQuery{Agent: "codex", Exclude: []string{"a"}})
			return err
		},
		func() error {
			_, err := s.Reports().Logs(ctx, ambry.LogsQuery{Tools: []string{ambry.ToolAdd}})
			return err
		},
		func() error { _, err := s.Reports().Given(ctx, "s"); return err },
		func() error { _, err := s.Reports().Analysis(ctx); return err },
		func() error { _, err := s.OpenClaims(ctx, ambry.OpenTask, "/p", 10); return err },
		func() error {
			items, err := s.Reports().Items(ctx, ambry.ItemsQuery{Rule: ambry.Preference})
			if len(items.Items) != 1 {
				t.Errorf("got %+v", items)
			}
			return err
		},
		func() error {
			_, err := s.Reports().Items(ctx, ambry.ItemsQuery{Rule: ambry.Fact, Layer: ambry.L3, Status: ambry.Activated, Project: "/p"})
			return err
		},
		func() error { _, err := s.Reports().Tasks(ctx, ambry.TasksQuery{}); return err },
		func() error {
			_, err := s.Reports().TasksOf(ctx, []int64{found.Best[0].Row}, ambry.TasksQuery{})
			return err
		},
		func() error { _, err := s.Reports().Processing(ctx, []string{texts[0].ID}); return err },
		func() error { _, err := s.Reports().Neighbours(ctx, texts[0].ID); return err },
		func() error { _, err := s.Began(ctx, "s", "codex", "t"); return err },
		func() error { _, err := s.Session(ctx, "s", "codex"); return err },
		func() error { _, err := s.Get(ctx, texts[0].ID); return err },
		func() error { _, err := s.Reports().Overview(ctx); return err },
		func() error { _, err := s.Health(ctx); return err },
		func() error { _, err := s.Reports().Transcript(ctx, "s", 1); return err },
		func() error { _, err := s.Reports().Sessions(ctx, ambry.SessionsQuery{}); return err },
		func() error { _, err := s.Reports().Sessions(ctx, ambry.SessionsQuery{Agent: "codex"}); return err },
		func() error { _, err := s.Reports().Sessions(ctx, ambry.SessionsQuery{Project: "/p"}); return err },
		func() error { _, err := s.Reports().Items(ctx, ambry.ItemsQuery{}); return err },
		func() error { _, err := s.Reports().Items(ctx, ambry.ItemsQuery{Agent: "codex"}); return err },
		func() error { _, err := s.Reports().Items(ctx, ambry.ItemsQuery{Layer: ambry.L1}); return err },
		func() error { _, err := s.Reports().Items(ctx, ambry.ItemsQuery{Project: "/p"}); return err },
		func() error {
			_, err := s.Reports().ItemsOf(ctx, []int64{found.Best[0].Row}, ambry.ItemsQuery{Layer: ambry.L1})
			return err
		},
		func() error {
			_, err := s.Candidates(ctx, Match{Filter: Filter{Agents: []string{"codex"}, Session: "s", After: time.Unix(1, 0)}}, 10)
			return err
		},
	}
	for i, call := range calls {
		if err := call(); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if queries := s.readers.Queries(); len(queries) < len(calls) {
		t.Fatalf("only %d statements were seen", len(queries))
	}
	for _, query := range s.readers.Queries() {
		ordered := strings.Contains(query, "LIMIT ?")
		steps := plan(t, s, query)
		sorted := slices.Contains(steps, "USE TEMP B-TREE FOR ORDER BY")
		for _, step := range steps {
			m := wholeTable.FindStringSubmatch(step)
			// A page walks an index, or the rows themselves, in order and stops when
			// it is full.
			queue := step == "SCAN u" && strings.Contains(query, "FROM unlearned AS u")
			inOrder := strings.Contains(step, "INDEX") || (step == "SCAN l" || queue) && !sorted
			if m != nil && !(ordered && inOrder) {
				t.Errorf("%q in the plan of:\n%s", step, query)
			}
			if strings.Contains(step, "AUTOMATIC") {
				t.Errorf("%q in the plan of:\n%s", step, query)
			}
		}
	}
}

// TestATaskOfTheFirstPageIsFoundAtOnce looks at how the session of a task is looked
// for: row by row from the latest on, so that it ends with the one that it is.
func TestATaskOfTheFirstPageIsFoundAtOnce(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := plan(t, s, latestSessions)
	if len(got) != 2 || got[0] != "SCAN s USING INDEX session_by_time" || strings.HasPrefix(got[1], "SCAN") {
		t.Errorf("the plan is %q", got)
	}
}
