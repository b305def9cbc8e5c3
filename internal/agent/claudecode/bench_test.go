package claudecode_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/claudecode"
)

// BenchmarkRead reads sessions as people have them: half of the bytes are what
// tools got and gave, a fifth is progress, and every message is in three records.
func BenchmarkRead(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	files := map[string]string{}
	for i := range 8 {
		files[fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)] = usual(r, i, 4<<20)
	}
	home := write(b, files)
	size := int64(0)
	history := claudecode.Agent().History
	for src, err := range history.Sources(b.Context(), home) {
		if err != nil {
			b.Fatal(err)
		}
		size += src.Size
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		turns := 0
		for src, err := range history.Sources(b.Context(), home) {
			if err != nil {
				b.Fatal(err)
			}
			for item, err := range history.Read(b.Context(), src, agent.Mark{}) {
				if err != nil {
					b.Fatal(err)
				}
				turns += len(item.Conversation.Turns)
			}
		}
		if turns == 0 {
			b.Fatal("nothing was read")
		}
	}
}

// usual returns a session of about size bytes.
func usual(r *rand.Rand, session, size int) string {
	var out strings.Builder
	words := strings.Fields("the error of a handler is in this function and its test fails because the cache returns a stale value after the migration\tand \"quotes\" <tags> über naïve 设计 ограничение")
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteByte(" \n"[min(1, r.IntN(14)/13)])
		}
		return b.String()
	}
	for n := 0; out.Len() < size; n++ {
		id := func(kind string) string { return fmt.Sprintf("%s-%d-%d", kind, session, n) }
		if n%5 == 0 {
			out.WriteString(prompt(id("u"), clock(n/3600%24, n/60%60, n%60), text(200)))
		}
		when, message, call := clock(n/3600%24, n/60%60, n%60), id("m"), id("t")
		out.WriteString(reply(id("a"), when, message, map[string]any{"type": "thinking", "thinking": text(500), "signature": strings.Repeat("c2ln", 90)}, [3]int{5, 40_000, 1}))
		out.WriteString(reply(id("b"), when, message, says(text(300)), [3]int{5, 40_000, 1}))
		out.WriteString(reply(id("c"), when, message, map[string]any{"type": "tool_use", "id": call, "name": "Edit", "input": map[string]any{"file_path": "/home/ana/app/cart.go", "old_string": text(400), "new_string": text(500)}}, [3]int{5, 40_000, 300}))
		for range r.IntN(4) {
			out.WriteString(row("progress", id("p"), when, "data", map[string]any{"type": "bash_progress", "output": text(800), "fullOutput": ""}))
		}
		output := text(1000 + r.IntN(4000))
		out.WriteString(prompt(id("r"), when, results(call, output), "toolUseResult", map[string]any{"stdout": output[:len(output)/2], "stderr": "", "interrupted": false}))
	}
	return out.String()
}
