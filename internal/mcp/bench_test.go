package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// busy is a memory with eight long hits.
func busy() *memory {
	m := &memory{}
	for i := range 8 {
		m.answer.Hits = append(m.answer.Hits, ambry.Hit{
			ID: fmt.Sprintf("tr_%d", i), Layer: ambry.L1, Title: "Mutex held over a call", Snippet: strings.Repeat("The mutex was held while calling back. ", 15),
			Agent: "claude_code", Project: "/home/ada/tidewatch", CreatedAt: day, Source: ambry.Source{Path: "/home/ada/.claude/projects/t/s1.jsonl", Line: 120},
		})
	}
	return m
}

func BenchmarkInitialize(b *testing.B) {
	s := serve(b, busy())
	for b.Loop() {
		id := s.ask("POST", hello("2025-11-25")).header.Get("Mcp-Session-Id")
		s.ask("DELETE", "", "Mcp-Session-Id", id)
	}
}

func BenchmarkSearch(b *testing.B) {
	b.Run("session", func(b *testing.B) {
		s := serve(b, busy())
		id := s.begin("2025-11-25")
		for b.Loop() {
			s.ask("POST", search, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
		}
	})
	b.Run("sessionless", func(b *testing.B) {
		s := serve(b, busy())
		body := modern("tools/call", `"name":"memory_search","arguments":{"query":"x"}`)
		for b.Loop() {
			s.ask("POST", body, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "memory_search")
		}
	})
}
