package skill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

func TestLinksWithinTheHomeAreWrittenThrough(t *testing.T) {
	w := newWorld(t, map[string]string{
		"dotfiles/claude/settings.json": claudeSettings, "dotfiles/claude.md": "# Mine\n", ".codex/config.toml": "a = 1\n",
	})
	for link, target := range map[string]string{
		".claude": "dotfiles/claude", "dotfiles/claude/CLAUDE.md": filepath.Join(w.dir, "dotfiles/claude.md"),
	} {
		if err := os.Symlink(target, filepath.Join(w.dir, link)); err != nil {
			t.Skipf("this system has no links for us: %v", err)
		}
	}
	before := w.files()
	for _, part := range parts {
		w.install("claude_code", part)
	}
	if got := w.get("dotfiles/claude.md"); !strings.Contains(got, "ambry:begin") {
		t.Errorf("what the link leads to was not written:\n%s", got)
	}
	for path, was := range before {
		if strings.HasPrefix(was, "link") && w.files()[path] != was {
			t.Errorf("%s is a link no more", path)
		}
	}
	for _, part := range parts {
		w.remove("claude_code", part)
	}
	if diff := cmp.Diff(before, w.files()); diff != "" {
		t.Errorf("after removal:\n%s", diff)
	}
}

// Whatever speaks against one of the files, none of them is touched.
func TestRefusalsChangeNothing(t *testing.T) {
	outside := t.TempDir()
	target := filepath.Join(outside, "settings.json")
	if err := os.WriteFile(target, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(to, path string) func(*testing.T, string) {
		return func(t *testing.T, home string) {
			path := filepath.Join(home, path)
			os.Remove(path)
			if err := os.Symlink(to, path); err != nil {
				t.Skipf("this system has no links for us: %v", err)
			}
		}
	}
	write := func(path, text string) func(*testing.T, string) {
		return func(t *testing.T, home string) {
			path := filepath.Join(home, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name string
		id   string
		do   func(t *testing.T, home string)
		want string
	}{
		{"a link out of the home", "claude_code", link(target, ".claude/settings.json"), "leads out of your home"},
		{"a directory that is a link out of the home", "claude_code", link(outside, ".claude/commands"), "leads out of your home"},
		{"a link to nowhere", "claude_code", link("nothing", ".claude/settings.json"), "link to nowhere"},
		{"a directory in the place of a file", "claude_code", func(t *testing.T, home string) {
			if err := os.Mkdir(filepath.Join(home, ".claude.json"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
		{"a file in the place of a directory", "claude_code", write(".claude/commands", "x"), "not a directory"},
		{"half a file", "claude_code", write(".claude/settings.json", `{"hooks": {`), "cannot be parsed"},
		{"two files in one", "claude_code", write(".claude/settings.json", "{}{}"), "cannot be parsed"},
		{"UTF-16", "claude_code", write(".claude.json", "\xff\xfe{\x00}\x00"), "cannot be parsed"},
		{"a list where an object belongs", "claude_code", write(".claude.json", `{"mcpServers": []}`), "cannot be edited"},
		{"an object where a list belongs", "claude_code", write(".claude/settings.json", `{"hooks": {"Stop": {}}}`), "cannot be edited"},
		{"a file that is too large", "claude_code", write(".claude.json", `{"a": "`+strings.Repeat("x", 4<<20)+`"}`), "larger than"},
		{"an entry of our name", "claude_code", write(".claude.json", `{"mcpServers": {"ambry": {"command": "other", "args": []}}}`), "is not ours"},
		{"a command of our name", "claude_code", write(".claude/commands/ambry-resume.md", "mine"), "is not ours"},
		{"half a block", "codex", write(".codex/AGENTS.md", "<!-- ambry:begin -->\nx\n"), "has no end"},
		{"a file of TOML that is none", "codex", write(".codex/config.toml", "a = \n"), "cannot be parsed"},
		{"a table twice", "codex", write(".codex/config.toml", "[a]\n[a]\n"), "cannot be parsed"},
		{"a file of YAML that is none", "goose", write(".config/goose/config.yaml", "a: [\n"), "cannot be parsed"},
		{"two documents", "goose", write(".config/goose/config.yaml", "a: 1\n---\nb: 2\n"), "cannot be edited"},
		{"an alias", "goose", write(".config/goose/config.yaml", "x: &x {}\nextensions: *x\n"), "cannot be edited"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{
				".claude/settings.json": claudeSettings, ".codex/version": "1", ".config/goose/x": "",
			})
			tt.do(t, w.dir)
			before := w.files()
			failed := 0
			for _, part := range parts {
				if _, err := w.Install(t.Context(), tt.id, part, true); err == nil {
					continue // this part has nothing to do with that file
				}
				failed++
				_, err := w.Install(t.Context(), tt.id, part, false)
				refused(t, err, ambry.Conflict, tt.want)
			}
			if failed == 0 {
				t.Error("nothing was refused")
			}
			if diff := cmp.Diff(before, w.files()); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
			if data, err := os.ReadFile(target); err != nil || string(data) != "{}" {
				t.Errorf("outside is %s, %v", data, err)
			}
			if all, err := w.db.Installs(t.Context()); err != nil || len(all) > 0 {
				t.Errorf("there are %d records, %v", len(all), err)
			}
		})
	}
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	w := newWorld(t, map[string]string{".claude/settings.json": claudeSettings})
	if err := os.Chown(filepath.Join(w.dir, ".claude/settings.json"), 12345, -1); err != nil {
		t.Fatal(err)
	}
	_, err := w.Install(t.Context(), "claude_code", ambry.Plugin, false)
	refused(t, err, ambry.Conflict, "another user")
}

// What two agents need stays until neither needs it.
func TestSharedFilesStayWhileNeeded(t *testing.T) {
	w := newWorld(t, map[string]string{".copilot/config.json": "{}", ".config/Code/User/settings.json": "{}"})
	before := w.files()
	const skill = ".copilot/skills/ambry-memory/SKILL.md"
	for _, order := range [][]string{{"copilot_cli", "vscode"}, {"vscode", "copilot_cli"}} {
		w.install("copilot_cli", ambry.SkillText)
		w.install("vscode", ambry.SkillText)
		w.remove(order[0], ambry.SkillText)
		if got := w.status(order[1]); got != ambry.SkillInstalled || !strings.Contains(w.get(skill), "ambry-memory") {
			t.Errorf("after %s went, %s is %s", order[0], order[1], got)
		}
		w.remove(order[1], ambry.SkillText)
		if diff := cmp.Diff(before, w.files()); diff != "" {
			t.Errorf("in the order %v:\n%s", order, diff)
		}
	}
}

func TestCopiesAreKept(t *testing.T) {
	w := newWorld(t, map[string]string{".claude/settings.json": claudeSettings})
	for range 4 {
		w.install("claude_code", ambry.Plugin)
		w.remove("claude_code", ambry.Plugin)
	}
	copies, err := filepath.Glob(filepath.Join(w.Backups, "*settings.json.*"))
	if err != nil || len(copies) != 5 {
		t.Fatalf("got %q, %v; want 5", copies, err)
	}
	info, err := os.Stat(copies[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of a copy is %v, %v", info.Mode(), err)
	}
}

// A move of the program is drift, and mended in place.
func TestMovedProgramIsMended(t *testing.T) {
	w := newWorld(t, map[string]string{".claude/settings.json": claudeSettings, ".claude/CLAUDE.md": "x", ".codex/config.toml": "a = 1\n"})
	before := w.files()
	ids := []string{"claude_code", "codex"}
	for _, id := range ids {
		for _, part := range parts {
			w.install(id, part)
		}
	}
	w.Teaching.Program = "/somewhere else/Ambry's bin"
	for _, id := range ids {
		if got := w.status(id); got != ambry.Drifted {
			t.Errorf("%s is %s", id, got)
		}
		for _, part := range parts {
			w.install(id, part)
		}
		if got := w.status(id); got != ambry.PluginInstalled {
			t.Errorf("mended, %s is %s", id, got)
		}
	}
	for path, text := range w.files() {
		if strings.Contains(text, "/opt/ambry/bin/ambry mcp") || strings.Contains(text, "/opt/ambry/bin/ambry hook") {
			t.Errorf("%s has the old path:\n%s", path, text)
		}
	}
	if got := w.get(".claude/settings.json"); !strings.Contains(got, `'/somewhere else/Ambry'\\''s bin' hook claude_code Stop`) {
		t.Errorf("the hook is not quoted:\n%s", got)
	}
	for _, id := range ids {
		for _, part := range parts {
			w.remove(id, part)
		}
	}
	if diff := cmp.Diff(before, w.files()); diff != "" {
		t.Errorf("after removal:\n%s", diff)
	}
}
