package codex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/codex"
)

// session returns the lines of a session of n turns as they are on average: a
// few requests each, with their reasoning, a command and its output.
func session(n int) []string {
	words := strings.Repeat("the total of the cart is made from its lines, and then a coupon is taken off it; ", 12)
	code := strings.Repeat("\tif total < coupon.Amount {\n\t\treturn 0, \"nothing left\"\n\t}\n", 25)
	sealed := strings.Repeat("gAAAAABm3xampleK", 100)
	lines := []string{meta(parentID, "base_instructions", obj{"text": strings.Repeat(words, 20)})}
	for i := range n {
		turn := fmt.Sprintf("turn-%d", i)
		lines = append(lines, started(turn), line("turn_context", obj{"turn_id": turn, "cwd": "/home/ana/shop", "model": "gpt-5.5-codex"}), asked(words[:200]))
		for step := range 4 {
			call := fmt.Sprintf("call_%d_%d", i, step)
			used := obj{"input_tokens": 1000 + step, "cached_input_tokens": 900, "output_tokens": 50}
			lines = append(lines,
				item("reasoning", "summary", parts("summary_text", "**Looking**"), "content", nil, "encrypted_content", sealed),
				item("function_call", "name", "exec_command", "arguments", `{"cmd":"sed -n 1,80p src/cart.go"}`, "call_id", call),
				item("function_call_output", "call_id", call, "output", "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"+code),
				spent(used, obj{"input_tokens": 1000 * (4*i + step), "output_tokens": 50 * (4*i + step)}))
		}
		lines = append(lines, answered(words), ended(turn))
	}
	return lines
}

func BenchmarkParse(b *testing.B) {
	path := filepath.Join(b.TempDir(), "sessions", "rollout-2026-08-01T10-00-00-"+parentID+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(session(500), "\n")+"\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range codex.Agent().History.Read(b.Context(), agent.Source{Path: path}, agent.Mark{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkGenerated reads a home that the generator of histories made.
func BenchmarkGenerated(b *testing.B) {
	home := agent.Home{Dir: os.Getenv("AMBRY_GENLOGS_HOME")}
	if home.Dir == "" {
		b.Skip("AMBRY_GENLOGS_HOME names no home that the generator of histories made")
	}
	var sources []agent.Source
	size := int64(0)
	for src, err := range codex.Agent().History.Sources(b.Context(), home) {
		if err != nil {
			b.Fatal(err)
		}
		sources = append(sources, src)
		size += src.Size
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, src := range sources {
			for _, err := range codex.Agent().History.Read(b.Context(), src, agent.Mark{}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}
