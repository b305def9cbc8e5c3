package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
)

var wordPattern = regexp.MustCompile(`[a-z]{4,14}`)

// words takes queries from what people and agents wrote in the histories of a
// home: words that stand in one or two texts, pairs of the most common ones,
// and beginnings of requests.
func words(home string) (rare, common, questions []string, err error) {
	counts := map[string]int{}
	err = filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		return eachText(path, func(text string) {
			seen := map[string]bool{}
			found := wordPattern.FindAllString(strings.ToLower(text), 400)
			for _, w := range found {
				if !seen[w] {
					seen[w] = true
					counts[w]++
				}
			}
			if len(found) >= 8 && len(questions) < 200 {
				questions = append(questions, strings.Join(found[:8], " "))
			}
		})
	})
	var all []string
	for w := range counts {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for _, w := range all {
		if counts[w] <= 2 && len(w) >= 6 {
			rare = append(rare, w)
		}
	}
	if len(all) < 80 || len(rare) < 20 || len(questions) == 0 {
		return nil, nil, nil, fmt.Errorf("the histories hold too few words to ask for")
	}
	for i := range 30 {
		common = append(common, all[i]+" "+all[i+20])
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(rare), func(i, k int) { rare[i], rare[k] = rare[k], rare[i] })
	return rare[:min(len(rare), 200)], common, questions, err
}

// eachText calls f with the texts of messages, as both formats have them.
func eachText(path string, f func(string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var record struct {
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
			Payload struct {
				Message string `json:"message"`
			} `json:"payload"`
		}
		if json.Unmarshal(lines.Bytes(), &record) != nil {
			continue
		}
		var text string
		if json.Unmarshal(record.Message.Content, &text) == nil && text != "" {
			f(text)
		}
		if record.Payload.Message != "" {
			f(record.Payload.Message)
		}
	}
	return lines.Err()
}

// makeHome writes Claude Code sessions of about size bytes in all: invented
// words, tool calls and results, in the proportions of real sessions.
func makeHome(home string, size int64) error {
	r := rand.New(rand.NewPCG(7, 7))
	vocabulary := make([]string, 30000)
	for i := range vocabulary {
		vocabulary[i] = invent(r)
	}
	zipf := rand.NewZipf(r, 1.1, 8, uint64(len(vocabulary)-1))
	prose := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(vocabulary[zipf.Uint64()])
			b.WriteByte(' ')
		}
		return b.String()
	}
	at := time.Now().AddDate(0, 0, -60)
	for session := 0; size > 0; session++ {
		id := fmt.Sprintf("5eed0000-0000-4000-8000-%012d", session)
		dir := filepath.Join(home, ".claude", "projects", fmt.Sprintf("-work-p%d", session%12))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		s := transcript{id: id, cwd: fmt.Sprintf("/work/p%d", session%12), at: at.Add(time.Duration(session) * time.Hour)}
		for range 20 {
			s.row("user", prose(30))
			for step := range 4 {
				call := fmt.Sprintf("%s-%d-%d", id, s.n, step)
				s.row("assistant", []any{
					map[string]any{"type": "text", "text": prose(60)},
					map[string]any{"type": "tool_use", "id": call, "name": "Bash", "input": map[string]any{"command": "go test ./" + prose(6)}},
				})
				s.row("user", []any{map[string]any{"type": "tool_result", "tool_use_id": call, "content": prose(250 + r.IntN(400))}})
			}
			s.row("assistant", []any{map[string]any{"type": "text", "text": prose(120)}})
		}
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), s.text, 0o644); err != nil {
			return err
		}
		size -= int64(len(s.text))
	}
	return nil
}

func invent(r *rand.Rand) string {
	var b strings.Builder
	for range 2 + r.IntN(3) {
		b.WriteByte("bcdfghklmnprstvz"[r.IntN(16)])
		b.WriteByte("aeiou"[r.IntN(5)])
	}
	return b.String()
}

// transcript is a session being written.
type transcript struct {
	id, cwd string
	at      time.Time
	n       int
	text    []byte
}

func (t *transcript) row(kind string, content any) {
	t.n++
	t.at = t.at.Add(7 * time.Second)
	message := map[string]any{"role": kind, "content": content}
	if kind == "assistant" {
		message["id"] = fmt.Sprintf("msg_%s_%d", t.id, t.n)
		message["model"] = "invented-1"
		message["usage"] = map[string]any{"input_tokens": 900, "output_tokens": 120}
	}
	line, _ := json.Marshal(map[string]any{
		"type": kind, "uuid": fmt.Sprintf("%s-%d", t.id, t.n), "sessionId": t.id, "cwd": t.cwd,
		"gitBranch": "main", "version": "2.1.0", "timestamp": t.at.UTC().Format(time.RFC3339Nano), "message": message,
	})
	t.text = append(append(t.text, line...), '\n')
}

// largeFiles reads a home with a line of 64 MB and a file of 2 GB.
func (b *bench) largeFiles(ctx context.Context) error {
	home := filepath.Join(b.work, "large")
	dir := filepath.Join(home, ".claude", "projects", "-large")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	line := transcript{id: "5eed0000-0000-4000-8000-0000000000f1", cwd: "/large", at: time.Now()}
	line.row("user", []any{
		map[string]any{"type": "text", "text": "what is on this picture, largeneedle"},
		map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": strings.Repeat("iVBORw0K", 8<<20)}},
	})
	if err := os.WriteFile(filepath.Join(dir, line.id+".jsonl"), line.text, 0o644); err != nil {
		return err
	}
	if err := largeFile(filepath.Join(dir, "5eed0000-0000-4000-8000-0000000000f2.jsonl"), 2e9); err != nil {
		return err
	}
	s, err := b.start(ctx, filepath.Join(b.work, "ambry-large"), home)
	if err != nil {
		return err
	}
	defer s.stop()
	permission := ambry.PermissionScan
	if _, err := s.PatchOnboarding(ctx, ambry.OnboardingPatch{ScanPermission: &permission}); err != nil {
		return err
	}
	peak := s.watchPeak()
	before := s.usage()
	if _, err := scan(ctx, s, ambry.Full); err != nil {
		return err
	}
	used := s.usage().minus(before)
	b.add("peak memory, 64 MB line and 2 GB file", peak.stop().whole(), "MB", "<= 200", fmt.Sprintf("%.0f CPU-s", used.cpu.Seconds()))
	return found(ctx, s, "largeneedle")
}

// largeFile writes one long session.
func largeFile(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	r := rand.New(rand.NewPCG(3, 3))
	t := transcript{id: strings.TrimSuffix(filepath.Base(path), ".jsonl"), cwd: "/large", at: time.Now().AddDate(-1, 0, 0)}
	for size > 0 {
		t.text = t.text[:0]
		t.row("user", "request "+invent(r)+" "+invent(r))
		t.row("assistant", []any{map[string]any{"type": "text", "text": strings.Repeat(invent(r)+" "+invent(r)+" ", 400)}})
		n, err := w.Write(t.text)
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return w.Flush()
}
