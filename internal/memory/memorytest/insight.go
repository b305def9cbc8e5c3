package memorytest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
)

// Insightful is a memory that a person can look through.
type Insightful interface {
	Told
	memory.Insight
}

// RunInsight runs the tests of what a person looks through, each on a memory of
// its own that is empty at first.
func RunInsight(t *testing.T, open func(t *testing.T) Insightful) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, Insightful)
	}{
		{"AnalysisOfNothing", analysisEmpty},
		{"AnalysisCounts", analysisCounts},
		{"TasksArePaged", taskPages},
		{"TaskTellsItsTurns", taskTurns},
		{"ProcessingIsDone", processing},
		{"ProcessingIsTriedAgain", processingAgain},
		{"TaskIsForgotten", taskForgotten},
		{"RelatedNeighbours", relatedNeighbours},
		{"RelatedByRareWords", relatedWords},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func mustAnalyse(t *testing.T, m Insightful) ambry.Analysis {
	t.Helper()
	a, err := m.Analysis(t.Context())
	if err != nil {
		t.Fatalf("analysis: %v", err)
	}
	return a
}

func analysisEmpty(t *testing.T, m Insightful) {
	got := mustAnalyse(t, m)
	want := ambry.Analysis{
		Writes: []ambry.DayCount{}, Skills: []ambry.DayCount{}, Recalls: []ambry.DayCount{},
		ToolLatency: ambry.ToolLatency{Tools: []ambry.ToolTimes{}, Series: []ambry.ToolSeries{}}, ServerTime: got.ServerTime,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func analysisCounts(t *testing.T, m Insightful) {
	skill := mustAdd(t, m, ambry.Note{Content: "release with make release", Layer: ambry.Skill, CreatedAt: time.Now().Add(-48 * time.Hour)}, "")
	mustAdd(t, m, ambry.Note{Content: "mend the printer", Layer: ambry.Skill}, "")
	archived := ambry.Archived
	if m2 := mustAdd(t, m, ambry.Note{Content: "an old procedure", Layer: ambry.Skill}, ""); m2.ID != "" {
		if _, err := m.Patch(t.Context(), m2.ID, ambry.Patch{Status: &archived}, ""); err != nil {
			t.Fatal(err)
		}
	}
	best := mustSearch(t, m, ambry.Query{Query: "release"}).Hits[0].Score
	best += mustSearch(t, m, ambry.Query{Query: "make release"}).Hits[0].Score
	mustSearch(t, m, ambry.Query{Query: "xylophone"})
	if _, err := m.Feedback(t.Context(), skill.ID, ambry.Feedback{Verdict: ambry.VerdictUsed}, ""); err != nil {
		t.Fatal(err)
	}
	a := mustAnalyse(t, m)
	k := a.Metrics
	if k.RecallEvents != 3 || k.EmptyRecalls != 1 || k.ActiveSkills != 2 || k.RecentlyUsedSkills != 1 {
		t.Errorf("metrics: got %+v", k)
	}
	if off := k.AvgRecallScore - best/2; off > 0.001 || off < -0.001 {
		t.Errorf("mean score: got %v, want %v", k.AvgRecallScore, best/2)
	}
	if k.AvgToolLatencyMs <= 0 || k.P95ToolLatencyMs <= 0 || k.P95ToolLatencyMs > 60_000 {
		t.Errorf("latency: got %+v", k)
	}
	sum := func(days []ambry.DayCount) (n int64) {
		for _, d := range days {
			n += d.Count
		}
		return n
	}
	if sum(a.Writes) != 3 || sum(a.Skills) != 3 || sum(a.Recalls) != 3 || len(a.Skills) != 2 {
		t.Errorf("days: got %v, %v, %v", a.Writes, a.Skills, a.Recalls)
	}
	l := a.ToolLatency
	if len(l.Tools) != 2 || l.Tools[0].Name != "memory_add" || l.Tools[0].Calls != 3 || l.Tools[1].Name != "memory_search" || l.Tools[1].Calls != 3 {
		t.Errorf("tools: got %+v", l.Tools)
	}
	for i, s := range l.Series {
		if s.Name != l.Tools[i].Name || len(s.Points) == 0 || len(s.Points) > 2 || s.Points[0].AvgMs <= 0 || l.Tools[i].P95Ms <= 0 {
			t.Errorf("series: got %+v", s)
		}
	}
}

func taskPages(t *testing.T, m Insightful) {
	var all []ambry.Conversation
	for i := range 25 {
		c := session("codex", fmt.Sprint("s", i), [2]string{fmt.Sprintf("question%d of all", i), "answer"})
		c.Turns[0].At = noon.Add(time.Duration(i) * time.Hour)
		c.Turns[0].Messages[1].At = c.Turns[0].At
		all = append(all, c)
	}
	mustImport(t, m, all...)
	page := func(q ambry.TasksQuery) ambry.Tasks {
		t.Helper()
		p, err := m.Tasks(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first, second := page(ambry.TasksQuery{}), page(ambry.TasksQuery{Page: 2})
	if len(first.Tasks) != 20 || len(second.Tasks) != 5 || first.Total != 25 || !first.HasNext || second.HasNext || !second.HasPrev || second.TotalPages != 2 {
		t.Errorf("got pages of %d and %d: %+v", len(first.Tasks), len(second.Tasks), first.Page)
	}
	if id := first.Tasks[0].Episode.SessionID; id != "s24" {
		t.Errorf("the newest is %s", id)
	}
	if one := page(ambry.TasksQuery{Text: "question7"}); one.Total != 1 || len(one.Tasks) != 1 || one.Tasks[0].Episode.SessionID != "s7" {
		t.Errorf("by a word: got %+v", one)
	}
	if many := page(ambry.TasksQuery{Text: "of all question7 question8"}); many.Total != 0 || many.Tasks == nil {
		t.Errorf("by words that no turn has: got %+v", many)
	}
	if beyond := page(ambry.TasksQuery{Page: 9}); len(beyond.Tasks) != 0 || beyond.Tasks == nil || beyond.Total != 25 {
		t.Errorf("behind the end: got %+v", beyond)
	}
}

func taskTurns(t *testing.T, m Insightful) {
	mustOpen(t, m, ambry.SessionOpen{Source: "codex", SessionID: "s", WorkspacePath: "/home/ana/work/infra", Title: "The importer"})
	var last ambry.TurnCompleted
	for i := range 23 {
		last = mustComplete(t, m, fmt.Sprint("t", i), ambry.TurnComplete{
			SessionID: "s", Query: fmt.Sprint("question ", i), Answer: fmt.Sprint("answer ", i), StartedAt: noon.Add(time.Duration(i) * time.Minute),
		})
	}
	get := func() ambry.Task {
		t.Helper()
		p, err := m.Tasks(t.Context(), ambry.TasksQuery{})
		if err != nil || len(p.Tasks) != 1 {
			t.Fatalf("got %d tasks and error %v", len(p.Tasks), err)
		}
		return p.Tasks[0]
	}
	task := get()
	e := task.Episode
	if task.ID != last.EpisodeID || e.ID != task.ID || e.SessionID != "s" || e.Source != "codex" || e.Title != "The importer" || e.Status != "open" ||
		e.Project != "/home/ana/work/infra" || task.TurnCount != 23 || len(task.Turns) != 10 || len(task.MemoryIDs) != 10 || task.UpdatedAt.IsZero() {
		t.Errorf("got %+v", task)
	}
	want := ambry.TaskTurn{
		RawTurnID: last.RawTurnID, EpisodeID: task.ID, TurnID: "t22", MemoryID: last.MemoryID, UserText: "question 22", AssistantText: "answer 22",
		CreatedAt: noon.Add(22 * time.Minute),
	}
	if diff := cmp.Diff(want, task.Turns[9]); diff != "" {
		t.Errorf("the last turn (-want +got):\n%s", diff)
	}
	if task.Turns[0].TurnID != "t13" {
		t.Errorf("the first of the last turns is %s", task.Turns[0].TurnID)
	}
	if _, err := m.CloseSession(t.Context(), "s", ambry.SessionClose{}, ""); err != nil {
		t.Fatal(err)
	}
	if got := get().Episode.Status; got != "closed" {
		t.Errorf("after closing: got %s", got)
	}
}

func processing(t *testing.T, m Insightful) {
	one, two := mustAdd(t, m, ambry.Note{Content: "one"}, ""), mustAdd(t, m, ambry.Note{Content: "two", Layer: ambry.L2}, "")
	got, err := m.Processing(t.Context(), []string{two.ID, "trace_00000000000000000000", "'; DROP", one.ID})
	if err != nil {
		t.Fatal(err)
	}
	record := func(n ambry.Memory) ambry.ProcessingRecord {
		return ambry.ProcessingRecord{MemoryID: n.ID, State: "ready_text_only", RetryAction: "none", UpdatedAt: n.UpdatedAt}
	}
	if diff := cmp.Diff([]ambry.ProcessingRecord{record(two), record(one)}, got.Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, none := range [][]string{nil, {}, {"nothing"}} {
		if got, err := m.Processing(t.Context(), none); err != nil || got.Items == nil || len(got.Items) != 0 {
			t.Errorf("of %q: got %+v and error %v", none, got, err)
		}
	}
	_, err = m.Processing(t.Context(), make([]string, 10_001))
	wantKind(t, "too many", err, ambry.InvalidArgument)
}

func processingAgain(t *testing.T, m Insightful) {
	mustImport(t, m, session("codex", "s", [2]string{"what is a heron", "a bird"}))
	trace := mustSearch(t, m, ambry.Query{Query: "heron"}).Hits[0].ID
	r, err := m.RetryProcessing(t.Context(), trace)
	if err != nil || !r.Accepted || r.Job == nil || r.Job.MemoryID != trace || r.Processing.MemoryID != trace || r.Processing.State != ambry.TextReady {
		t.Errorf("of a trace: got %+v, %v", r, err)
	}
	note := mustAdd(t, m, ambry.Note{Content: "a remark"}, "").ID
	if r, err := m.RetryProcessing(t.Context(), note); err != nil || r.Accepted || r.Job != nil || r.Processing.MemoryID != note {
		t.Errorf("of a note: got %+v, %v", r, err)
	}
	_, err = m.RetryProcessing(t.Context(), "trace_00000000000000000000")
	wantKind(t, "of nothing", err, ambry.NotFound)
}

func taskForgotten(t *testing.T, m Insightful) {
	gone := session("codex", "gone", [2]string{"what is a heron", "a bird"}, [2]string{"what is a bittern", "a bird"})
	mustImport(t, m, gone, session("codex", "stays", [2]string{"what is a stork", "a bird"}))
	tasks, err := m.Tasks(t.Context(), ambry.TasksQuery{Text: "heron"})
	if err != nil || len(tasks.Tasks) != 1 {
		t.Fatalf("got %+v, %v", tasks, err)
	}
	id := tasks.Tasks[0].ID
	f, err := m.ForgetTask(t.Context(), id, "once")
	if err != nil || !f.OK || f.ID != id || !slices.Equal(f.MemoryIDs, tasks.Tasks[0].MemoryIDs) || f.ServerTime.IsZero() {
		t.Errorf("got %+v, %v", f, err)
	}
	if again, err := m.ForgetTask(t.Context(), id, "once"); err != nil || !slices.Equal(again.MemoryIDs, f.MemoryIDs) {
		t.Errorf("again: got %+v, %v", again, err)
	}
	mustImport(t, m, gone)
	if tasks, err = m.Tasks(t.Context(), ambry.TasksQuery{}); err != nil || len(tasks.Tasks) != 1 || tasks.Tasks[0].Episode.SessionID != "stays" {
		t.Errorf("left: got %+v, %v", tasks, err)
	}
	_, err = m.ForgetTask(t.Context(), id, "")
	wantKind(t, "of nothing", err, ambry.NotFound)
}

func mustRelate(t *testing.T, m Insightful, id string) ambry.Related {
	t.Helper()
	r, err := m.Related(t.Context(), id, 3)
	if err != nil {
		t.Fatalf("related to %s: %v", id, err)
	}
	if r.ID != id || r.Items == nil || r.ServerTime.IsZero() {
		t.Errorf("got %+v", r)
	}
	return r
}

func relatedNeighbours(t *testing.T, m Insightful) {
	var exchanges [][2]string
	for i := range 10 {
		exchanges = append(exchanges, [2]string{fmt.Sprintf("question%d", i), fmt.Sprintf("answer%d", i)})
	}
	mustImport(t, m, session("codex", "s", exchanges...), session("codex", "other", exchanges...))
	turns := func(id string) (got []string) {
		t.Helper()
		for _, r := range mustRelate(t, m, id).Items {
			if r.Relation == ambry.OfSession {
				got = append(got, r.TurnID)
			}
		}
		return got
	}
	idOf := func(turn string) string {
		t.Helper()
		for _, h := range mustSearch(t, m, ambry.Query{Query: "question" + turn[strings.IndexByte(turn, '-')+1:], InSession: "s"}).Hits {
			if mustGet(t, m, h.ID).TurnID == turn {
				return h.ID
			}
		}
		t.Fatalf("no memory of turn %s", turn)
		return ""
	}
	for turn, want := range map[string][]string{
		"s-5": {"s-2", "s-3", "s-4", "s-6", "s-7", "s-8"}, "s-0": {"s-1", "s-2", "s-3"}, "s-9": {"s-6", "s-7", "s-8"},
	} {
		if got := turns(idOf(turn)); !slices.Equal(got, want) {
			t.Errorf("next to %s: got %q, want %q", turn, got, want)
		}
	}
	note := mustAdd(t, m, ambry.Note{Content: "a remark", Source: "codex", SessionID: "s", CreatedAt: noon.Add(4*time.Minute + 30*time.Second)}, "")
	if got, want := turns(note.ID), []string{"s-2", "s-3", "s-4", "s-5", "s-6", "s-7"}; !slices.Equal(got, want) {
		t.Errorf("next to a note: got %q, want %q", got, want)
	}
	if got := turns(mustAdd(t, m, ambry.Note{Content: "a remark of no session"}, "").ID); len(got) != 0 {
		t.Errorf("next to a note of no session: got %q", got)
	}
	_, err := m.Related(t.Context(), "trace_00000000000000000000", 3)
	wantKind(t, "related to nothing", err, ambry.NotFound)
}

func relatedWords(t *testing.T, m Insightful) {
	add := func(project, content string) string {
		t.Helper()
		return mustAdd(t, m, ambry.Note{Content: content, Project: project}, "").ID
	}
	for i := range 120 {
		add("/p", fmt.Sprintf("the deployment of service%d went well", i))
	}
	id := add("/p", "the deployment failed since flushBuffers raced with quiesce")
	two := add("/p", "quiesce waits for flushBuffers to end")
	one := add("/p", "never call quiesce twice")
	add("/q", "quiesce and flushBuffers of another project")
	var got []string
	items := mustRelate(t, m, id).Items
	for i, r := range items {
		got = append(got, r.ID)
		if r.Relation != ambry.OfWords || r.Score <= 0 || i > 0 && r.Score > items[i-1].Score {
			t.Errorf("got %+v", r)
		}
	}
	if want := []string{two, one}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := mustRelate(t, m, add("/p", "xylophone")).Items; len(got) != 0 {
		t.Errorf("a word that nothing else has: got %+v", got)
	}
}
