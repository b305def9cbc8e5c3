package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The public sets are not in this repository; these are files of their form.
const (
	someLocomo = `[{"sample_id": "conv-1", "conversation": {
		"speaker_a": "Ada", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [
			{"speaker": "Ada", "dia_id": "D1:1", "text": "I repaired the lighthouse clock."},
			{"speaker": "Ben", "dia_id": "D1:2", "text": "Lovely!", "blip_caption": "a brass gear"}],
		"session_2_date_time": "9:05 am on 1 June, 2023", "session_2": [
			{"speaker": "Ben", "dia_id": "D2:1", "text": "My ferry was late again."}]},
		"qa": [
			{"question": "Who repaired the clock?", "category": 4, "evidence": ["D1:1"]},
			{"question": "What is in the picture?", "category": 1, "evidence": ["D:1:02; D2:1"]},
			{"question": "What did Ben never say?", "category": 5, "evidence": ["D2:1"]},
			{"question": "Nobody knows", "category": 2, "evidence": ["D9:9"]}]}]`
	someChat = `[{"turns": [[
			{"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Plan my garden shed ->-> 1,2"},
			{"role": "assistant", "id": 1, "content": "Start with the foundation."}]]},
		{"turns": [[{"role": "user", "id": 2, "content": "The roof leaks."}]]}]`
	someProbes = `{"b_kind": [{"question": "What leaks?", "source_chat_ids": {"first": [2], "second": [[2, 77]]}}],
		"a_kind": [{"question": "What to start with?", "source_chat_ids": [1, 0]}, {"question": "Nothing", "source_chat_ids": []}]}`
	someSquad = `{"data": [{"paragraphs": [
		{"context": "长江是亚洲最长的河流。", "qas": [{"id": "q1", "question": "亚洲最长的河流是什么？"}]},
		{"context": "珠穆朗玛峰是世界最高峰。", "qas": [{"id": "q2", "question": "世界最高峰叫什么？"}]}]}]}`
)

func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"locomo/locomo10.json": someLocomo, "beam/100K/1/chat.json": someChat,
		"beam/100K/1/probing_questions/probing_questions.json": someProbes,
		"cmrc2018/cmrc2018_dev.json":                           someSquad, "drcd/DRCD_test.json": someSquad,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPublicSets(t *testing.T) {
	o := options{data: publicDir(t)}
	for _, c := range []struct {
		set       string
		turns     []string // of the first, as id: text
		questions []string // as id kind: evidence
	}{
		{
			"locomo",
			[]string{"D1:1: Ada: I repaired the lighthouse clock.", "D1:2: Ben: Lovely! [image: a brass gear]", "D2:1: Ben: My ferry was late again."},
			[]string{"conv-1/0 single-hop: D1:1", "conv-1/1 multi-hop: D1:2 D2:1", "conv-1/2 adversarial: D2:1"},
		},
		{
			"beam",
			[]string{"0: Plan my garden shed", "1: Start with the foundation.", "2: The roof leaks."},
			[]string{"beam100K/1/a_kind/0 a_kind: 1 0", "beam100K/1/b_kind/0 b_kind: 2"},
		},
		{"cmrc", []string{"0/0: 长江是亚洲最长的河流。", "0/1: 珠穆朗玛峰是世界最高峰。"}, []string{"q1 : 0/0", "q2 : 0/1"}},
		{"drcd", []string{"0/0: 长江是亚洲最长的河流。", "0/1: 珠穆朗玛峰是世界最高峰。"}, []string{"q1 : 0/0", "q2 : 0/1"}},
	} {
		t.Run(c.set, func(t *testing.T) {
			i := slices.IndexFunc(sets, func(s set) bool { return s.name == c.set })
			cs, err := sets[i].load(o)
			if err != nil || len(cs) != 1 {
				t.Fatalf("got %d corpora, %v", len(cs), err)
			}
			var turns, questions []string
			for _, s := range cs[0].sessions {
				for _, turn := range s.Turns {
					turns = append(turns, turn.ID+": "+turn.Messages[0].Text)
				}
			}
			for _, q := range cs[0].questions {
				questions = append(questions, q.id+" "+q.kind+": "+strings.Join(q.want, " "))
			}
			if !slices.Equal(turns, c.turns) {
				t.Errorf("turns: got %q, want %q", turns, c.turns)
			}
			if !slices.Equal(questions, c.questions) {
				t.Errorf("questions: got %q, want %q", questions, c.questions)
			}
		})
	}
}

func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sub", "report.json")
	var stdout strings.Builder
	if err := run(t.Context(), []string{"-data", publicDir(t), "-json", out, "-v"}, &stdout); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var results []saved
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	questions := map[string]int{}
	for _, r := range results {
		questions[r.Set] = len(r.Rankings)
		for _, g := range r.Groups {
			if g.Name == all && (g.R10 <= 0 || g.R10 > 100 || g.MRR <= 0 || g.MRR > 100) {
				t.Errorf("%s: got %+v", r.Set, g)
			}
			if g.Name == "sessions" && (g.Questions != 3 || g.Hit5 <= 0) {
				t.Errorf("sessions of %s: got %+v, want 3 questions and some found", r.Set, g)
			}
		}
	}
	if questions["own"] < 180 || questions["locomo"] != 3 || questions["beam"] != 2 || questions["cmrc"] != 2 || questions["drcd"] != 2 {
		t.Errorf("questions asked: %v", questions)
	}
	for _, want := range []string{"own: ", "stale first ", "context injected: ", "cmrc all, R@1", "wanted "} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in the report", want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"-set", "nothing"},
		{"-half", "left"},
		{"-set", "locomo"},
		{"-set", "locomo", "-data", t.TempDir()},
		{"-set", "beam", "-data", t.TempDir()},
		{"own"},
	} {
		var stdout strings.Builder
		if err := run(t.Context(), args, &stdout); err == nil {
			t.Errorf("quality %s: no error", strings.Join(args, " "))
		}
	}
}
