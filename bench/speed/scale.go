package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// scale fills one memory step by step and measures at each step what must not
// grow with it: search, the panel's pages, adds, the start, the memory that the
// runtime takes.
func (b *bench) scale(ctx context.Context, steps []int) error {
	data := filepath.Join(b.work, "scale")
	w := newWriter()
	for _, turns := range steps {
		s, err := b.start(ctx, data, b.work)
		if err != nil {
			return err
		}
		if err := b.fill(ctx, s, w, turns); err != nil {
			return errors.Join(err, s.stop())
		}
		if err := s.stop(); err != nil {
			return fmt.Errorf("stop: %w", err)
		}
		if err := b.atScale(ctx, data, w, turns); err != nil {
			return err
		}
	}
	return nil
}

// atScale measures a service that is started on so many turns.
func (b *bench) atScale(ctx context.Context, data string, w *writer, turns int) error {
	s, err := b.start(ctx, data, b.work)
	if err != nil {
		return err
	}
	defer s.stop()
	at := "at " + short(turns) + ": "
	b.add(at+"start to health", ms(s.health), "ms", "<= 150", "")
	b.add(at+"start to runtime ready", ms(s.ready), "ms", "<= 400", "")
	goal := map[int]string{10_000: "<= 4, 12", 100_000: "<= 12, 35", 1_000_000: "p99 <= 90"}[turns]
	for _, set := range []struct {
		name, goal string
		query      func() ambry.Query
	}{
		{"a question right after the start", "", func() ambry.Query { return ambry.Query{Query: w.question()} }},
		{"a question", goal, func() ambry.Query { return ambry.Query{Query: w.question()} }},
		{"a question in a project", goal, func() ambry.Query { return ambry.Query{Query: w.question(), Project: w.project(w.IntN(w.sessions))} }},
		{"a rare word", "<= 3", func() ambry.Query { return ambry.Query{Query: w.rare()} }},
		{"two common words", "<= 15", func() ambry.Query { return ambry.Query{Query: w.common() + " " + w.common()} }},
	} {
		if set.goal != "" {
			if err := s.loaded(ctx); err != nil {
				return err
			}
		}
		hits, before := 0, s.usage()
		took, err := repeat(300, func() error {
			a, err := s.Search(ctx, set.query())
			hits += len(a.Hits)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		b.add(at+"search, "+set.name+", p50", ms(quantile(took, .5)), "ms", set.goal, fmt.Sprintf("p99 %.2f, %.2f CPU-ms, %.1f hits",
			ms(quantile(took, .99)), ms(s.usage().minus(before).cpu)/float64(len(took)), float64(hits)/float64(len(took))))
	}
	for _, page := range []string{"overview", "items", "items?layer=L1&page=2", "sessions", "tasks", "analysis"} {
		took, err := repeat(50, func() error { return s.Panel(ctx, page, nil) })
		if err != nil {
			return fmt.Errorf("panel/%s: %w", page, err)
		}
		b.add(at+"panel/"+page+", p50", ms(quantile(took, .5)), "ms", "<= 20", fmt.Sprintf("p99 %.2f", ms(quantile(took, .99))))
	}
	if err := b.adds(ctx, s); err != nil {
		return err
	}
	b.memory(at, s)
	return b.hooks(ctx, at, s, w)
}

// memory tells what the processes take after all that.
func (b *bench) memory(at string, s *service) {
	for i, name := range []string{"service", "runtime"} {
		pids := s.pids()
		if i >= len(pids) {
			continue
		}
		status := fmt.Sprintf("/proc/%d/status", pids[i])
		anon, file := value(status, "RssAnon:")*1024, value(status, "RssFile:")*1024
		b.add(at+"memory of the "+name, float64(anon+file)/1e6, "MB", map[string]string{"runtime": "<= 250"}[name], fmt.Sprintf("%.0f without mapped files", float64(anon)/1e6))
	}
}

// fill imports sessions until the memory holds so many turns.
func (b *bench) fill(ctx context.Context, s *service, w *writer, turns int) error {
	before, had := s.usage(), w.turns
	began := time.Now()
	lines, in := io.Pipe()
	go func() { in.CloseWithError(w.write(in, turns)) }()
	done, err := s.Import(ctx, lines)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if done.Turns != turns-had {
		return fmt.Errorf("imported %d turns, not %d", done.Turns, turns-had)
	}
	used := s.usage().minus(before)
	b.add("import up to "+short(turns)+" turns", float64(turns-had)/used.cpu.Seconds(), "1/CPU-s", "", fmt.Sprintf("%.0f CPU-s, %.0f s", used.cpu.Seconds(), time.Since(began).Seconds()))
	if err := s.settle(ctx); err != nil {
		return err
	}
	used = s.usage().minus(before)
	b.add("at rest with "+short(turns)+" turns", float64(turns-had)/used.cpu.Seconds(), "1/CPU-s", "", fmt.Sprintf("learned from and embedded, %.0f CPU-s, %.0f s in all", used.cpu.Seconds(), time.Since(began).Seconds()))
	if info, err := os.Stat(filepath.Join(s.home, "memory.db")); err == nil {
		b.add("file with "+short(turns)+" turns", float64(info.Size())/1e6, "MB", "", fmt.Sprintf("%.0f bytes a turn", float64(info.Size())/float64(turns)))
	}
	return nil
}

// repeat runs f and tells how long each run took.
func repeat(times int, f func() error) (took []time.Duration, err error) {
	for range times {
		began := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

func short(n int) string {
	switch {
	case n%1_000_000 == 0:
		return strconv.Itoa(n/1_000_000) + "M"
	case n%1000 == 0:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

// parseSteps reads the sizes of a memory, as in 10k,100k,1M.
func parseSteps(s string) (steps []int, err error) {
	for field := range strings.SplitSeq(s, ",") {
		unit := 1
		for suffix, n := range map[string]int{"k": 1000, "M": 1_000_000} {
			if rest, ok := strings.CutSuffix(field, suffix); ok {
				field, unit = rest, n
				break
			}
		}
		n, err := strconv.Atoi(field)
		if err != nil || n <= 0 || len(steps) > 0 && n*unit <= steps[len(steps)-1] {
			return nil, fmt.Errorf("the steps are growing numbers of turns, as in 10k,100k, not %q", s)
		}
		steps = append(steps, n*unit)
	}
	return steps, nil
}

// function are the words that stand in every text; the index of a question
// leaves them out.
var function = strings.Fields("the to of and a in is it that for on with as this be at by not are from or an we you but can do if so was have")

// writer makes up sessions. Words are as frequent as Zipf's law says, after those
// that every text has; one in eight is an identifier or a path.
type writer struct {
	*rand.Rand
	words           []string
	zipf            *rand.Zipf
	sessions, turns int
	asked           []string // turns to ask for
}

const (
	vocabulary = 150_000
	perSession = 20
	keptAsked  = 2000
)

func newWriter() *writer {
	r := rand.New(rand.NewPCG(11, 12))
	w := &writer{Rand: r, zipf: rand.NewZipf(r, 1.07, 10, vocabulary-1)}
	for i := range vocabulary {
		word := invent(r)
		if i >= 3000 { // rarer words are longer, and there are more of them
			word += invent(r)
		}
		w.words = append(w.words, word)
	}
	return w
}

func (w *writer) word() string { return w.words[w.zipf.Uint64()] }

// text is so many words, two of five of which say nothing.
func (w *writer) text(n int) string {
	var b strings.Builder
	for range n {
		switch w.IntN(40) {
		case 0, 1, 2:
			word := w.word()
			b.WriteString(w.word() + strings.ToUpper(word[:1]) + word[1:])
		case 3, 4:
			b.WriteString("internal/" + w.word() + "/" + w.word() + ".go:" + strconv.Itoa(w.IntN(900)))
		case 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20:
			b.WriteString(function[w.IntN(len(function))])
		default:
			b.WriteString(w.word())
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func (w *writer) project(session int) string { return "/work/p" + strconv.Itoa(session%60) }

// write writes sessions as lines of JSON until there are so many turns.
func (w *writer) write(out io.Writer, turns int) error {
	buffered := bufio.NewWriterSize(out, 1<<20)
	lines := json.NewEncoder(buffered)
	for w.turns < turns {
		n := min(perSession, turns-w.turns)
		if err := lines.Encode(w.session(n)); err != nil {
			return err
		}
		w.turns += n
		w.sessions++
	}
	return buffered.Flush()
}

func (w *writer) session(turns int) ambry.Conversation {
	id := fmt.Sprintf("5eed1000-0000-4000-8000-%012d", w.sessions)
	at := time.Date(2024, 1, 1, 0, w.sessions*20, 0, 0, time.UTC)
	c := ambry.Conversation{Session: ambry.Session{ID: id, Agent: []string{"claude_code", "codex"}[w.sessions%2], Project: w.project(w.sessions), StartedAt: at}}
	for i := range turns {
		at = at.Add(time.Minute)
		asked := w.text(10 + w.IntN(30))
		if len(w.asked) < keptAsked {
			w.asked = append(w.asked, asked)
		} else if w.IntN(100) == 0 {
			w.asked[w.IntN(keptAsked)] = asked
		}
		c.Turns = append(c.Turns, ambry.Turn{
			ID: fmt.Sprintf("%s-%d", id, i), At: at, Source: ambry.Source{Path: "/home/ana/" + id + ".jsonl", Line: i + 1, Offset: int64(i) * 1000},
			Messages: []ambry.Message{
				{ID: "q", Role: ambry.User, Text: asked, At: at, Line: i + 1},
				{ID: "a", Role: ambry.Assistant, Text: w.text(40 + w.IntN(80)), At: at, Line: i + 2, Calls: []ambry.ToolCall{
					{ID: "c", Name: "shell", Input: "go test ./internal/" + w.word(), Output: w.text(10 + w.IntN(40)), Done: true},
				}},
			},
		})
	}
	return c
}

// question is what somebody would ask who remembers a turn: some of its words.
func (w *writer) question() string {
	words := strings.Fields(w.asked[w.IntN(len(w.asked))])
	at := w.IntN(max(1, len(words)-14))
	return strings.Join(words[at:min(at+14, len(words))], " ")
}

func (w *writer) rare() string   { return w.words[vocabulary/3+w.IntN(vocabulary*2/3)] }
func (w *writer) common() string { return w.words[w.IntN(30)] }
