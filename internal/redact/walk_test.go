package redact_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

var planted = "gh" + "p_" + fake(500, alnums, 36)

// fill sets every string that v holds to a text with the planted secret, makes
// one element of every list, and returns the paths of the strings.
func fill(v reflect.Value, path string) []string {
	switch v.Kind() {
	case reflect.String:
		v.SetString("a " + planted + " b")
		return []string{path}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), path+"[0]")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), path)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		var paths []string
		for i := range v.NumField() {
			paths = append(paths, fill(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
		return paths
	case reflect.Map, reflect.Interface:
		panic("fill cannot set " + path)
	}
	return nil
}

func TestCleanCleansEveryString(t *testing.T) {
	var c ambry.Conversation
	paths := fill(reflect.ValueOf(&c).Elem(), "Conversation")
	if len(paths) < 25 {
		t.Fatalf("%d strings in a conversation, want more: %q", len(paths), paths)
	}
	before := jsonOf(c)
	clean := redact.Clean(c)
	checkWalk(t, clean.Conversation(), paths, clean.Found())
	if jsonOf(c) != before {
		t.Errorf("Clean changed its argument")
	}
	checkWalk(t, clean, paths, clean.Found())

	var read redact.Conversation
	if err := json.Unmarshal([]byte(before), &read); err != nil {
		t.Fatal(err)
	}
	checkWalk(t, read.Conversation(), paths, read.Found())
	if diff := cmp.Diff(clean.Conversation(), read.Conversation()); diff != "" {
		t.Errorf("reading JSON cleans otherwise (-Clean +UnmarshalJSON):\n%s", diff)
	}
}

func TestCleanNoteCleansEveryString(t *testing.T) {
	var n ambry.Note
	paths := fill(reflect.ValueOf(&n).Elem(), "Note")
	if len(paths) < 8 {
		t.Fatalf("%d strings in a note, want more: %q", len(paths), paths)
	}
	before := jsonOf(n)
	clean := redact.CleanNote(n)
	checkWalk(t, clean.Note(), paths, clean.Found())
	if jsonOf(n) != before {
		t.Errorf("CleanNote changed its argument")
	}
}

// checkWalk fails if the secret is anywhere in what v is as JSON, or if not each
// of the strings was cleaned.
func checkWalk(t *testing.T, v any, paths []string, found int) {
	t.Helper()
	text := jsonOf(v)
	if strings.Contains(text, planted) {
		t.Errorf("the secret survives in %s", text)
	}
	if n := strings.Count(text, "[REDACTED:github-token]"); n != len(paths) || found != len(paths) {
		t.Errorf("%d secrets replaced and %d counted, want %d: %q", n, found, len(paths), paths)
	}
}

// Ids say which turn is the same, so they must not change.
func TestCleanKeepsWhatHasNoSecret(t *testing.T) {
	code := 1
	at := time.Date(2026, 3, 3, 18, 26, 51, 0, time.UTC)
	c := ambry.Conversation{
		Session: ambry.Session{
			ID: "019cab4b-dc76-7f56-a7a7-65b78b1e0bfa", Agent: "claude_code", ParentID: "ses_7f3a9c2d1e0bffeXYZ0123456789",
			Relation: ambry.Subagent, Title: "fix the token refresh", Cwd: "/home/ana/work/api", Project: "/home/ana/work/api",
			Branch: "fix/token-refresh-3f78685", Model: "claude-opus-4-8", Version: "2.1.3", StartedAt: at,
		},
		Turns: []ambry.Turn{{
			ID: "rollout-2026-03-03T18-26-51-019cb4f3-ee6b-7ba2-a7f4-7076954c820c#12", At: at, Part: 1,
			Cwd: `C:\Users\ana\work`, Source: ambry.Source{Path: "/home/ana/.claude/projects/-home-ana-work/8f2e.jsonl", Line: 7, Row: "bubbleId:1b2c:3d4e"},
			Messages: []ambry.Message{{
				ID: "msg_01XFDUDYJgAACzvnptvVoYEL", Role: ambry.Assistant, Text: strings.Join(lookalikes, "\n"),
				Calls: []ambry.ToolCall{{
					ID: "toolu_01A09q90qw90lq917835lq9", Name: "mcp__github__get_file", Input: `{"path":"a.go","max_tokens":4096}`,
					Output: "ok", ExitCode: &code, Session: "agent-a1b2c3d", At: at,
				}},
				Files: []ambry.Attached{{Kind: "image", Mime: "image/png", Name: "shot 2026-03-03.png", Bytes: 9}},
			}},
		}},
	}
	clean := redact.Clean(c)
	if diff := cmp.Diff(c, clean.Conversation()); diff != "" || clean.Found() != 0 {
		t.Errorf("%d found (-want +got):\n%s", clean.Found(), diff)
	}
	var read redact.Conversation
	if err := json.Unmarshal([]byte(jsonOf(clean)), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, read.Conversation()); diff != "" {
		t.Errorf("through JSON (-want +got):\n%s", diff)
	}
}

func TestCleanKeepsEmptyAndAbsent(t *testing.T) {
	for _, c := range []ambry.Conversation{{}, {Turns: []ambry.Turn{}}, {Turns: []ambry.Turn{{Messages: []ambry.Message{}}}}} {
		if diff := cmp.Diff(c, redact.Clean(c).Conversation()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Who still has the argument cannot put a secret into what is clean.
func TestCleanDoesNotShareWithItsArgument(t *testing.T) {
	c := ambry.Conversation{Turns: []ambry.Turn{{ID: "1", Messages: []ambry.Message{{Text: "x", Calls: []ambry.ToolCall{{Name: "y"}}}}}}}
	clean := redact.Clean(c)
	c.Turns[0].Messages[0].Text = planted
	c.Turns[0].Messages[0].Calls[0].Name = planted
	if text := fmt.Sprint(clean.Conversation()); strings.Contains(text, planted) {
		t.Errorf("a change of the argument is in the clean conversation: %s", text)
	}
}
