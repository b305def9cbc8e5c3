package learn

import (
	"fmt"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// BenchmarkClaims learns from a turn of ordinary size: a request, thirty calls
// with outputs, an answer.
func BenchmarkClaims(b *testing.B) {
	l := store.Lesson{Person: true, Project: "/work/shop", Messages: []ambry.Message{{Role: ambry.User, Text: "The importer drops rows with empty cells. Please find out why and fix it, and always keep the header."}}}
	size := len(l.Messages[0].Text)
	output := strings.Repeat("ok  \texample.com/shop/internal/cart\t0.412s\n--- PASS: TestRound (0.00s)\n", 40)
	for i := range 30 {
		m := ambry.Message{Role: ambry.Assistant, Text: "Let me look at the reader first, then at the writer. The cells are split on commas."}
		m.Calls = []ambry.ToolCall{{Name: "Bash", Input: fmt.Sprintf(`{"command":"go test ./internal/p%d"}`, i), Output: output, Done: true, Failed: i%5 == 0}}
		size += len(m.Text) + len(output)
		l.Messages = append(l.Messages, m)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		Claims(l)
	}
}
