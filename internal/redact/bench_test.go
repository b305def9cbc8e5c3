package redact_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

// transcript makes texts of about n bytes together, of the kinds that agents
// leave: prose in two languages, sources, diffs, output of tests, listings and
// JSON. A part of them speaks of tokens and keys; none has a secret.
func transcript(n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	nouns := strings.Fields("cache index parser handler request response session token worker queue buffer reader schema cursor " +
		"snapshot timeout config flag branch commit fixture endpoint route client server socket stream lock thread pool batch window " +
		"replica record row column page hook plugin memory vector graph node tree hash signature key bucket password module type")
	verbs := strings.Fields("reads writes parses flushes merges splits retries cancels resumes scans decodes encodes checks loads opens closes")
	chinese := []string{"这个测试在 CI 上偶尔失败。", "请先看一下日志再决定怎么改。", "把缓存的过期时间改成十分钟。", "解析器遇到超长的行就会崩溃。"}
	kinds := []func() string{
		func() string {
			return fmt.Sprintf("The %s %s the %s before the %s is closed, so %s.go:%d is wrong.\n", pick(nouns), pick(verbs), pick(nouns), pick(nouns), pick(nouns), r.IntN(900))
		},
		func() string { return pick(chinese) + "\n" },
		func() string {
			return fmt.Sprintf("\tif err := %s.%s(ctx, %s); err != nil {\n\t\treturn fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n", pick(nouns), pick(verbs), pick(nouns), pick(verbs), pick(nouns))
		},
		func() string {
			return fmt.Sprintf("%6d\t\t%s := new%s(opts.%s, %d) // %s\n", r.IntN(2000), pick(nouns), pick(nouns), pick(nouns), r.IntN(100), pick(verbs))
		},
		func() string {
			return fmt.Sprintf("--- FAIL: Test_%s_%s (%.2fs)\n    %s_test.go:%d: got %d, want %d\n", pick(nouns), pick(nouns), r.Float64(), pick(nouns), r.IntN(900), r.IntN(100), r.IntN(100))
		},
		func() string {
			return fmt.Sprintf("ok  \texample.com/%s/%s\t%.3fs\n", pick(nouns), pick(nouns), r.Float64())
		},
		func() string {
			return fmt.Sprintf("-    %s: %s,\n+    %s: %s(%s),\n", pick(nouns), pick(nouns), pick(nouns), pick(verbs), pick(nouns))
		},
		func() string {
			return fmt.Sprintf("%016x%016x%08x %s/%s.ts\n", r.Uint64(), r.Uint64(), r.Uint32(), pick(nouns), pick(nouns))
		},
		func() string {
			return jsonOf(map[string]any{"id": r.Uint32(), "about": pick(nouns), "path": "/home/ana/" + pick(nouns) + ".py", "note": pick(chinese)}) + "\n"
		},
	}
	var texts []string
	for n > 0 {
		var b strings.Builder
		kind := r.IntN(len(kinds))
		for size := 200 + r.IntN(4000); b.Len() < size; {
			if r.IntN(4) == 0 {
				kind = r.IntN(len(kinds))
			}
			b.WriteString(kinds[kind]())
		}
		texts = append(texts, b.String())
		n -= b.Len()
	}
	return texts
}

const benchBytes = 8 << 20

func BenchmarkText(b *testing.B) {
	texts := transcript(benchBytes)
	for _, text := range texts {
		if clean, found := redact.Text(text); found > 0 {
			b.Fatalf("the corpus has secrets: %q became %q", text, clean)
		}
	}
	measure(b, texts, func() {
		for _, text := range texts {
			redact.Text(text)
		}
	})
}

// One text in twenty has a secret, which is many.
func BenchmarkTextWithSecrets(b *testing.B) {
	texts := transcript(benchBytes)
	list := shapes()
	for i := 0; i < len(texts); i += 20 {
		texts[i] += list[i/20%len(list)].text
	}
	measure(b, texts, func() {
		for _, text := range texts {
			redact.Text(text)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	texts := transcript(benchBytes)
	var turn ambry.Turn
	for i, text := range texts {
		turn.Messages = append(turn.Messages, ambry.Message{
			ID: fmt.Sprint("msg_", i), Role: ambry.Assistant, Text: text,
			Calls: []ambry.ToolCall{{ID: fmt.Sprint("toolu_", i), Name: "Bash", Input: `{"command":"go test ./..."}`}},
		})
	}
	c := ambry.Conversation{Session: ambry.Session{ID: "1", Agent: "claude_code"}, Turns: []ambry.Turn{turn}}
	measure(b, texts, func() { redact.Clean(c) })
}

// measure runs f, which reads the texts, and reports how many bytes a second of
// a processor is enough for: unlike MB/s it says the same on a busy machine.
func measure(b *testing.B, texts []string, f func()) {
	bytes := len(strings.Join(texts, ""))
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	begin := cpuTime()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(bytes)*float64(b.N)/1e6/(cpuTime()-begin).Seconds(), "MB/cpu-s")
}
