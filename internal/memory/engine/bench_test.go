package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
)

// author writes made-up sessions that are shaped like real ones: words by Zipf's
// law, identifiers, code, long outputs of tools.
type author struct {
	*rand.Rand
	words []string
	zipf  *rand.Zipf
}

func newAuthor(seed uint64) *author {
	r := rand.New(rand.NewPCG(seed, 1))
	syllables := strings.Fields("ba be bo ca ce con de di do fa fi ga in ka la li lo ma me mi mo na ne no pa pe po ra re ri ro sa se ser si so ta te ti to va ve vi tion ment ing er")
	a := &author{Rand: r, zipf: rand.NewZipf(r, 1.1, 8, 29_999)}
	for range 30_000 {
		w := ""
		for range 2 + r.IntN(3) {
			w += syllables[r.IntN(len(syllables))]
		}
		a.words = append(a.words, w)
	}
	return a
}

func (a *author) word() string { return a.words[a.zipf.Uint64()] }

// text writes about n bytes.
func (a *author) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		switch a.IntN(12) {
		case 0:
			w := a.word()
			b.WriteString(a.word() + strings.ToUpper(w[:1]) + w[1:] + "() ")
		case 1:
			b.WriteString(a.word() + "/" + a.word() + "_" + a.word() + ".go:" + fmt.Sprint(a.IntN(900)) + "\n")
		case 2:
			b.WriteString("。修改" + string(rune(0x4e00+a.IntN(2000))) + string(rune(0x4e00+a.IntN(2000))) + "接口 ")
		default:
			b.WriteString(a.word() + " ")
		}
	}
	return b.String()
}

// size is log-normal around a median.
func (a *author) size(median float64) int { return int(median * math.Exp(a.NormFloat64())) }

// session writes turns of about the given size.
func (a *author) session(id string, turns, size int) ambry.Conversation {
	c := ambry.Conversation{Session: ambry.Session{
		ID: id, Agent: []string{"claude_code", "codex"}[a.IntN(2)],
		Project: fmt.Sprint("/home/ana/work/", a.IntN(40)), StartedAt: time.Date(2026, 1, 1, a.IntN(5000), 0, 0, 0, time.UTC),
	}}
	for i := range turns {
		at := c.Session.StartedAt.Add(time.Duration(i) * time.Minute)
		t := ambry.Turn{ID: fmt.Sprint(id, "-", i), At: at, Source: ambry.Source{Path: "/home/ana/" + id, Line: i + 1, Offset: int64(i) * 1000}}
		t.Messages = append(t.Messages, ambry.Message{ID: "q", Role: ambry.User, Text: a.text(a.size(float64(size) / 60)), At: at, Line: i + 1})
		for j := range 3 {
			m := ambry.Message{ID: fmt.Sprint(j), Role: ambry.Assistant, Text: a.text(a.size(float64(size) / 40)), At: at, Line: i + 2 + j}
			m.Calls = []ambry.ToolCall{{ID: "c", Name: "shell", Input: a.text(size / 60), Output: a.text(a.size(float64(size) / 8)), Done: true}}
			t.Messages = append(t.Messages, m)
		}
		c.Turns = append(c.Turns, t)
	}
	return c
}

// library returns sessions of so many turns altogether, and the bytes of their
// text.
func (a *author) library(turns, size int) (cs []ambry.Conversation, bytes int64) {
	for n := 0; n < turns; n += 20 {
		c := a.session(fmt.Sprint("session", n), min(20, turns-n), size)
		for _, t := range c.Turns {
			for _, m := range t.Messages {
				bytes += int64(len(m.Text))
				for _, k := range m.Calls {
					bytes += int64(len(k.Input) + len(k.Output))
				}
			}
		}
		cs = append(cs, c)
	}
	return cs, bytes
}

func benchEngine(b *testing.B) *engine.Engine {
	b.Helper()
	s, err := store.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), "memory.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return engine.New(engine.Config{Store: s})
}

// fill imports cs in pieces of a few megabytes.
func fill(b *testing.B, e *engine.Engine, cs []redact.Conversation) {
	b.Helper()
	for len(cs) > 0 {
		n := min(12, len(cs))
		if _, err := e.Import(context.Background(), cs[:n]); err != nil {
			b.Fatal(err)
		}
		cs = cs[n:]
	}
}

func cleaned(cs []ambry.Conversation) []redact.Conversation {
	out := make([]redact.Conversation, len(cs))
	for i, c := range cs {
		out[i] = redact.Clean(c)
	}
	return out
}

// BenchmarkImport imports turns of 18 KB, as coding agents write them, into an
// empty memory. MB/s is text, not log: a log is about twice as large.
func BenchmarkImport(b *testing.B) {
	cs, bytes := newAuthor(1).library(600, 18_000)
	clean := cleaned(cs)
	b.SetBytes(bytes)
	for b.Loop() {
		fill(b, benchEngine(b), clean)
	}
}

// BenchmarkImportAgain imports what is known already.
func BenchmarkImportAgain(b *testing.B) {
	cs, bytes := newAuthor(1).library(600, 18_000)
	clean := cleaned(cs)
	e := benchEngine(b)
	fill(b, e, clean)
	b.SetBytes(bytes)
	for b.Loop() {
		fill(b, e, clean)
	}
}

// BenchmarkAdd adds notes from eight clients; each is on the disk when it is
// answered.
func BenchmarkAdd(b *testing.B) {
	e := benchEngine(b)
	a := newAuthor(1)
	notes := make([]redact.Note, 1000)
	for i := range notes {
		notes[i] = redact.CleanNote(ambry.Note{Content: a.text(400)})
	}
	work := make(chan redact.Note)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range work {
				if _, err := e.Add(context.Background(), n, ""); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.ResetTimer()
	for i := range b.N {
		work <- notes[i%len(notes)]
	}
	close(work)
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "adds/s")
}

// BenchmarkSearch searches memories of about 1.5 KB. Words are numbered by how
// common they are.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		if n > 10_000 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := newAuthor(1)
			cs, _ := a.library(n, 1_500)
			e := benchEngine(b)
			fill(b, e, cleaned(cs))
			w := a.words
			for _, q := range []struct{ name, query string }{
				{"rare", w[20_000]},
				{"identifier", w[3] + strings.ToUpper(w[40][:1]) + w[40][1:]},
				{"two common", w[2] + " " + w[5]},
				{"question", "why does the " + strings.Join([]string{w[3], w[50], w[400], w[3000], w[9], w[9000]}, " ")},
				{"Chinese", "修改接口"},
				{"filtered", w[20] + " " + w[300] + " agent:codex project:7"},
			} {
				b.Run(q.name, func(b *testing.B) {
					for b.Loop() {
						if _, err := e.Search(b.Context(), ambry.Query{Query: q.query}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			b.Run("overview", func(b *testing.B) {
				for b.Loop() {
					if _, err := e.Overview(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("items", func(b *testing.B) {
				for b.Loop() {
					if _, err := e.Items(b.Context(), ambry.ItemsQuery{Agent: "codex", Page: 40}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
