package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

// told is a turn of our own set, and what is known of it.
type told struct {
	id      string
	at      time.Time
	text    string // all that was said and done
	lang    string
	agent   string
	project string
}

// ownTurns returns the projects and their turns by id. It fails when an id is
// taken twice.
func ownTurns(t *testing.T) ([]project, map[string]told) {
	t.Helper()
	projects, err := readProjects()
	if err != nil {
		t.Fatal(err)
	}
	turns := map[string]told{}
	for _, p := range projects {
		for _, s := range p.Sessions {
			c, err := s.conversation(p)
			if err != nil {
				t.Fatalf("session %s: %v", s.ID, err)
			}
			for _, turn := range c.Turns {
				if _, ok := turns[turn.ID]; ok {
					t.Errorf("turn %s is there twice", turn.ID)
				}
				turns[turn.ID] = told{turn.ID, turn.At, textOf(turn), s.Lang, s.Agent, p.Name}
			}
		}
	}
	return projects, turns
}

func textOf(turn ambry.Turn) string {
	var all []string
	for _, m := range turn.Messages {
		all = append(all, m.Text)
		for _, c := range m.Calls {
			all = append(all, c.Input, c.Output)
		}
	}
	return strings.Join(all, "\n")
}

func TestSessionsAreSound(t *testing.T) {
	projects, turns := ownTurns(t)
	agents := []string{"claude_code", "codex", "cursor", "opencode"}
	seen := map[string]bool{}
	for _, p := range projects {
		if p.Half != fit && p.Half != judge || p.About == "" || p.Cwd == "" || seen[p.Name] || seen[p.Cwd] {
			t.Errorf("project %q: half %q, about %q, cwd %q", p.Name, p.Half, p.About, p.Cwd)
		}
		seen[p.Name], seen[p.Cwd] = true, true
		for _, s := range p.Sessions {
			c, _ := s.conversation(p)
			if seen[s.ID] || !slices.Contains(agents, s.Agent) || len(s.Lang) != 2 || s.Title == "" || s.Branch == "" {
				t.Errorf("session %q: agent %q, lang %q, title %q, branch %q", s.ID, s.Agent, s.Lang, s.Title, s.Branch)
			}
			seen[s.ID] = true
			if n := len(c.Turns); n < 3 || n > 12 {
				t.Errorf("session %s has %d turns, want 3 to 12", s.ID, n)
			}
			if !c.Session.EndedAt.Before(asked) || c.Session.StartedAt.Before(asked.AddDate(0, -5, 0)) {
				t.Errorf("session %s is not of the five months before %s", s.ID, asked.Format(time.DateOnly))
			}
			if n := redact.Clean(c).Found(); n > 0 {
				t.Errorf("session %s: %d secrets would be taken out", s.ID, n)
			}
			for i, step := range s.Talk {
				if step.kinds() != 1 || step.Out != "" && step.Say+step.User != "" {
					t.Errorf("session %s: step %d is not one thing that is said or done: %+v", s.ID, i+1, step)
				}
			}
		}
	}
	if len(seen) == 0 || len(turns) < 300 {
		t.Errorf("only %d turns", len(turns))
	}
}

// kinds is how many of the things that a step can be it is.
func (s ownStep) kinds() int {
	n := 0
	for _, text := range []string{s.User, s.Say, s.Run, s.Read, s.Edit} {
		if text != "" {
			n++
		}
	}
	return n
}

func TestNothingIsSaidTwice(t *testing.T) {
	projects, _ := ownTurns(t)
	seen := map[string]string{}
	again := func(text, where string) {
		text = strings.ToLower(strings.TrimSpace(text))
		if len(text) < 24 {
			return // "commit it"
		}
		if seen[text] != "" {
			t.Errorf("%s and %s: %q", seen[text], where, text)
		}
		seen[text] = where
	}
	for _, p := range projects {
		for _, s := range p.Sessions {
			for _, step := range s.Talk {
				again(step.User, s.ID)
				again(step.Say, s.ID)
			}
		}
		for _, q := range p.Questions {
			if q.Only.Project == "" { // the same words may be asked of two projects
				again(q.Ask, q.ID)
			}
		}
	}
}

// kinds of questions, and how many there must be at least.
var leastOfKind = map[string]int{
	"error_string": 20, "path": 16, "identifier": 16, "paraphrase": 30, "temporal": 20, "updated_fact": 14, "negation": 12,
	"preference": 12, "multi_session": 10, "typo": 10, "cross_lingual": 6, "scoped": 12, unanswerable: 10,
}

func TestQuestionsAreSound(t *testing.T) {
	projects, turns := ownTurns(t)
	seen := map[string]bool{}
	for _, p := range projects {
		for _, q := range p.Questions {
			if seen[q.ID] || q.Ask == "" || len(q.Lang) != 2 || leastOfKind[q.Kind] == 0 {
				t.Errorf("question %q: kind %q, lang %q, %q", q.ID, q.Kind, q.Lang, q.Ask)
			}
			seen[q.ID] = true
			if (len(q.Want) == 0) != (q.Kind == unanswerable) || (len(q.Stale) > 0) != (q.Kind == "updated_fact") {
				t.Errorf("question %s, %s: %d turns answer it, %d are stale", q.ID, q.Kind, len(q.Want), len(q.Stale))
			}
			if (q.Only.Project != "") != (q.Kind == "scoped") || q.Only.Project != "" && q.Only.Project != p.Name {
				t.Errorf("question %s, %s: limited to project %q", q.ID, q.Kind, q.Only.Project)
			}
			for i, id := range slices.Concat(q.Want, q.Stale) {
				switch turn, ok := turns[id]; {
				case !ok:
					t.Errorf("question %s: there is no turn %s", q.ID, id)
				case slices.Contains(slices.Concat(q.Want, q.Stale)[:i], id):
					t.Errorf("question %s names turn %s twice", q.ID, id)
				case turn.project != p.Name:
					t.Errorf("question %s: turn %s is of another project", q.ID, id)
				case q.Only.Agent != "" && q.Only.Agent != turn.agent:
					t.Errorf("question %s is about agent %s, turn %s is of %s", q.ID, q.Only.Agent, id, turn.agent)
				}
			}
		}
	}
}

func TestThereIsEnoughOfEach(t *testing.T) {
	projects, _ := ownTurns(t)
	count := map[string]int{}
	for _, p := range projects {
		for _, s := range p.Sessions {
			count["sessions"]++
			count["sessions in "+s.Lang]++
		}
		for _, q := range p.Questions {
			count["questions"]++
			count["questions in "+q.Lang]++
			count[q.Kind]++
			count[q.Kind+", "+p.Half]++
			count["questions in "+q.Lang+", "+p.Half]++
		}
	}
	least := map[string]int{
		"sessions": 60, "sessions in zh": count["sessions"] / 5, "sessions in ja": 6, "sessions in de": 6,
		"questions": 180, "questions in zh": 40, "questions in ja": 10, "questions in de": 10,
		"questions in zh, fit": 15, "questions in zh, judge": 15, "questions in ja, fit": 4, "questions in ja, judge": 4,
		"questions in de, fit": 4, "questions in de, judge": 4,
	}
	for kind, n := range leastOfKind {
		least[kind], least[kind+", fit"], least[kind+", judge"] = n, 3, 3
	}
	for what, n := range least {
		if count[what] < n {
			t.Errorf("%s: %d, want %d", what, count[what], n)
		}
	}
}

func TestHalvesShareNoProject(t *testing.T) {
	both := map[string]int{}
	for _, half := range []string{fit, judge, ""} {
		cs, err := loadOwn(options{half: half})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range cs[0].questions {
			both[q.id]++
			if half != "" && q.half != half {
				t.Errorf("question %s of half %s is in %s", q.id, q.half, half)
			}
		}
		if len(cs[0].questions) < 80 || len(cs[0].sessions) < 60 {
			t.Errorf("half %q: %d questions over %d sessions", half, len(cs[0].questions), len(cs[0].sessions))
		}
	}
	for id, n := range both {
		if n != 2 {
			t.Errorf("question %s is in %d halves, want 1", id, n-1)
		}
	}
}

func TestKindsAreWhatTheySay(t *testing.T) {
	projects, turns := ownTurns(t)
	vocabulary := map[string]bool{}
	for _, turn := range turns {
		for _, w := range tokens(turn.text) {
			vocabulary[w] = true
		}
	}
	for _, p := range projects {
		for _, q := range p.Questions {
			var want, stale []told
			for _, id := range q.Want {
				want = append(want, turns[id])
			}
			for _, id := range q.Stale {
				stale = append(stale, turns[id])
			}
			if q.Kind == "typo" && !slices.ContainsFunc(tokens(q.Ask), func(w string) bool { return !vocabulary[w] }) {
				t.Errorf("question %s: all words of %q are spelled as in the sessions", q.ID, q.Ask)
			}
			if fault := fault(q, want, stale); fault != "" {
				t.Errorf("question %s, %s: %q %s", q.ID, q.Kind, q.Ask, fault)
			}
		}
	}
}

// fault says why a question is not of its kind.
func fault(q ownQuestion, want, stale []told) string {
	texts := make([]string, len(want))
	for i, turn := range want {
		texts[i] = turn.text
	}
	evidence := strings.Join(texts, "\n")
	switch q.Kind {
	case "error_string", "path", "identifier":
		if !quotes(q.Ask, evidence) {
			return "has nothing of its evidence"
		}
	case "paraphrase":
		if run := longestRun(tokens(q.Ask), tokens(evidence)); len(run) > 3 {
			return "repeats " + strings.Join(run, " ")
		}
	case "cross_lingual":
		if slices.ContainsFunc(want, func(turn told) bool { return turn.lang == q.Lang }) {
			return "is in the language of its evidence"
		}
	case "multi_session":
		if len(want) < 2 || session(want[0].id) == session(want[len(want)-1].id) {
			return "is answered by one session"
		}
	case "updated_fact":
		for _, old := range stale {
			if slices.ContainsFunc(want, func(turn told) bool { return !old.at.Before(turn.at) }) {
				return "has stale evidence that is not older: " + old.id
			}
		}
	case "temporal":
		from, to := window(q.Ask)
		if slices.ContainsFunc(want, func(turn told) bool { return turn.at.Before(from) || !turn.at.Before(to) }) {
			return "asks for " + from.Format(time.DateOnly) + " to " + to.Format(time.DateOnly) + ", its evidence is of another time"
		}
	}
	return ""
}

func session(turn string) string {
	name, _, _ := strings.Cut(turn, ".")
	return name
}

// tokens cuts a text into words; a Chinese character or a Hiragana is one.
func tokens(text string) []string {
	var all []string
	word := []rune{}
	flush := func() {
		if len(word) > 0 {
			all, word = append(all, string(word)), nil
		}
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana):
			flush()
			all = append(all, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			word = append(word, r)
		default:
			flush()
		}
	}
	flush()
	return all
}

// longestRun returns the longest piece of a that stands in b.
func longestRun(a, b []string) []string {
	var best []string
	for i := range a {
		for j := range b {
			n := 0
			for i+n < len(a) && j+n < len(b) && a[i+n] == b[j+n] {
				n++
			}
			if n > len(best) {
				best = a[i : i+n]
			}
		}
	}
	return best
}

// quotes reports whether a name, a path or a piece of a message in ask stands in
// text.
func quotes(ask, text string) bool {
	name := regexp.MustCompile(`[A-Za-z][\w./@-]*[A-Z_./@-][\w./@-]*\w|\.\w+/[\w./-]+|[A-Z][A-Za-z]{4,}`)
	if slices.ContainsFunc(name.FindAllString(ask, -1), func(n string) bool { return strings.Contains(text, n) }) {
		return true
	}
	return len(longestRun(tokens(ask), tokens(text))) >= 4
}

// window is the time that a question speaks of, by the first expression in it
// that is known here.
func window(ask string) (from, to time.Time) {
	day := func(month time.Month, d int) time.Time { return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC) }
	for _, w := range []struct {
		words    string
		from, to time.Time
	}{
		{`yesterday`, day(6, 16), day(6, 17)},
		{`this Monday|这周一`, day(6, 15), day(6, 16)},
		{`last Thursday`, day(6, 11), day(6, 12)},
		{`letzten Freitag|上周五`, day(6, 12), day(6, 13)},
		{`last Saturday`, day(6, 13), day(6, 14)},
		{`last week|上周|先週`, day(6, 8), day(6, 15)},
		{`two weeks ago`, day(5, 31), day(6, 8)},
		{`last month|上个月|先月|letzten Monat`, day(5, 1), day(6, 1)},
		{`Ende März`, day(3, 20), day(4, 1)},
		{`February`, day(2, 1), day(3, 1)},
		{`[Mm]arch|三月`, day(3, 1), day(4, 1)},
		{`April|四月`, day(4, 1), day(5, 1)},
		{`in May`, day(5, 1), day(6, 1)},
	} {
		if regexp.MustCompile(w.words).MatchString(ask) {
			return w.from, w.to
		}
	}
	return asked, asked
}
