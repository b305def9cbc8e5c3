package skill_test

import (
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/all"
	"ambry.dev/ambry/internal/edit"
	"ambry.dev/ambry/internal/skill"
)

var idForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// What every lesson must show, whichever the system.
func TestLessonsAreSound(t *testing.T) {
	if len(all.Agents()) < 17 {
		t.Fatalf("%d agents", len(all.Agents()))
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		if system == "windows" != (runtime.GOOS == "windows") {
			continue // paths are those of the system that runs
		}
		home := agent.Home{Dir: t.TempDir(), OS: system}
		teaching := skill.Teach(home, "/opt/ambry", "--home", "/some where")
		seen := map[string]bool{}
		for _, a := range all.Agents() {
			if !idForm.MatchString(a.ID) || a.Name == "" || seen[a.ID] {
				t.Errorf("%q (%s) is no id, or taken", a.ID, a.Name)
			}
			seen[a.ID] = true
			sound(t, a, teaching)
		}
	}
}

func sound(t *testing.T, a agent.Agent, teaching agent.Teaching) {
	t.Helper()
	l := a.Lesson
	if l.Homes == nil || len(l.Homes(teaching.Home)) == 0 || l.Skill == nil || l.MCP == nil {
		t.Errorf("%s: a lesson has a home, a skill and an MCP server", a.ID)
		return
	}
	edits := append(l.Skill(teaching), l.Live(teaching)...)
	if diff := cmp.Diff(edits, append(l.Skill(teaching), l.Live(teaching)...)); diff != "" {
		t.Errorf("%s: another lesson the second time:\n%s", a.ID, diff)
	}
	places := map[string]bool{}
	for _, e := range edits {
		rel, err := filepath.Rel(teaching.Home.Dir, e.Path)
		if err != nil || !filepath.IsLocal(rel) {
			t.Errorf("%s: %s is not in the home", a.ID, e.Path)
		}
		place := e.Path + " " + strings.Join(slices.Concat(e.At.Path, e.At.Mine), " ")
		if places[place] {
			t.Errorf("%s: two edits of %s", a.ID, place)
		}
		places[place] = true
		switch e.Form {
		case agent.Whole:
			if !strings.Contains(e.Text, agent.Signature) {
				t.Errorf("%s: %s does not say whose it is", a.ID, e.Path)
			}
		case agent.Block:
		default:
			if c, err := edit.Put(edit.Format(e.Form), nil, e.At, e.Value); err != nil || c.Nothing() {
				t.Errorf("%s: %s cannot be written: %v", a.ID, e.Path, err)
			}
		}
		if strings.Contains(e.Text, "{{PROGRAM}}") || strings.Contains(e.Text, "/* command */") || strings.Contains(e.Text, "/* call */") {
			t.Errorf("%s: something was not filled in in %s", a.ID, e.Path)
		}
	}
}

// The front matter of a skill is what agents find it by.
func TestSkillsHaveFrontMatter(t *testing.T) {
	teaching := skill.Teach(agent.Home{Dir: "/home/ada", OS: "linux"}, "/opt/ambry")
	for _, e := range []agent.Edit{teaching.SkillIn("/x"), teaching.ResumeSkill("/x")} {
		head, _, ok := strings.Cut(strings.TrimPrefix(e.Text, "---\n"), "\n---\n")
		name := filepath.Base(filepath.Dir(e.Path))
		if !ok || !strings.Contains("\n"+head, "\nname: "+name) || !strings.Contains(head, "description: ") {
			t.Errorf("%s begins with\n%s", e.Path, head)
		}
		if err := edit.Check(edit.YAML, []byte(head)); err != nil {
			t.Errorf("%s: %v", e.Path, err)
		}
	}
	if n := len(teaching.Note); n > 600 {
		t.Errorf("the paragraph has %d bytes, which every session pays for", n)
	}
}

func TestHooksAreQuotedForTheirShell(t *testing.T) {
	for _, tt := range []struct{ os, program, want string }{
		{"linux", "/opt/ambry", "/opt/ambry --home '/a b' hook x Stop"},
		{"linux", "/it's/$HOME/ambry", `'/it'\''s/$HOME/ambry' --home '/a b' hook x Stop`},
		{"windows", `C:\Program Files\ambry.exe`, `"C:/Program Files/ambry.exe" --home "/a b" hook x Stop`},
		{"windows", `C:\ambry.exe`, `C:/ambry.exe --home "/a b" hook x Stop`},
	} {
		teaching := skill.Teach(agent.Home{Dir: "/home/ada", OS: tt.os}, tt.program, "--home", "/a b")
		if got := teaching.Hook("x", "Stop"); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
