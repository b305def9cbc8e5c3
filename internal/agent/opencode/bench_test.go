package opencode_test

import (
	"fmt"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/opencode"
)

// usual fills a database as people do: a prompt, some answers to it with a tool
// each, outputs of some kilobytes.
func usual(b *testing.B, s *store, kind string, sessions, prompts int) {
	b.Helper()
	s.exec(`BEGIN`)
	text := strings.Repeat("the error of a handler is in this function and its test fails\n", 10)
	output := strings.Repeat("ok\tshop/cart\t0.012s coverage: 81.2% of \"statements\"\n", 60)
	for i := range sessions {
		id := fmt.Sprintf("ses_%s%05d", kind, i)
		for n := range prompts {
			message := fmt.Sprintf("msg_%s%05d_%04d", kind, i, n)
			s.ask(id, message, text)
			for k := range 3 {
				answer := fmt.Sprintf("%s_%d", message, k)
				s.answer(id, answer, text)
				s.exec(`INSERT INTO part VALUES (?1, ?2, ?3, 1, 1, json_object('type', 'tool', 'tool', 'bash', 'callID', ?1, 'state',
					json_object('status', 'completed', 'input', json_object('command', 'go test ./...'), 'output', ?4, 'metadata', json_object('exit', 0))))`,
					"prt_x"+answer, answer, id, output)
			}
		}
	}
	s.exec(`COMMIT`)
	s.exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
}

func drain(b *testing.B, src agent.Source, from agent.Mark) (last agent.Mark, turns int) {
	b.Helper()
	for item, err := range opencode.Agent().History.Read(b.Context(), src, from) {
		if err != nil {
			b.Fatal(err)
		}
		last = item.Next
		turns += len(item.Conversation.Turns)
	}
	return last, turns
}

func BenchmarkRead(b *testing.B) {
	s := newStore(b)
	usual(b, s, "", 20, 40)
	src := s.source()
	b.SetBytes(src.Size)
	b.ReportAllocs()
	for b.Loop() {
		if _, turns := drain(b, src, agent.Mark{}); turns != 800 {
			b.Fatalf("%d turns", turns)
		}
	}
}

// BenchmarkChange is what a change costs while somebody works: the last part of
// a session of many is written again.
func BenchmarkChange(b *testing.B) {
	s := newStore(b)
	usual(b, s, "short", 1000, 2)
	usual(b, s, "long", 1, 500)
	mark, _ := drain(b, s.source(), agent.Mark{})
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		s.change("msg_long00000_0499_2", fmt.Sprint("changed ", n))
		src := s.source()
		b.StartTimer()
		turns := 0
		if mark, turns = drain(b, src, mark); turns != 1 {
			b.Fatalf("%d turns", turns)
		}
	}
}

// BenchmarkIdleTree looks for changes in a tree of 2,000 sessions of 20 messages.
func BenchmarkIdleTree(b *testing.B) {
	h := agent.Home{Dir: b.TempDir()}
	for i := range 2000 {
		id := fmt.Sprintf("ses_%05d", i)
		scatter(b, h, id, "ask")
		for n := range 19 {
			put(b, database(h, fmt.Sprintf("storage/message/%s/msg_%s_%02d.json", id, id, n)), `{"role":"assistant"}`)
			put(b, database(h, fmt.Sprintf("storage/part/msg_%s_%02d/prt_1.json", id, n)), `{"type":"text","text":"x"}`)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(sources(b, h)); n != 2000 {
			b.Fatalf("%d sources", n)
		}
	}
}
