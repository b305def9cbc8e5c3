package remote_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/host"
	"ambry.dev/ambry/internal/redact"
)

// forgetful is a memory that stores nothing, so that only the wall costs.
type forgetful struct{ host.Memory }

func (forgetful) Import(context.Context, []redact.Conversation) (ambry.Imported, error) {
	return ambry.Imported{}, nil
}

// BenchmarkImport sends 4 MB of source code at a time through the wall: encoding,
// HTTP, decoding and cleaning of both processes.
func BenchmarkImport(b *testing.B) {
	cs, size := codeTalks(b, 4<<20)
	there, _ := wall(b, forgetful{})
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, err := there.Import(b.Context(), cs); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClean is the part of BenchmarkImport that takes secrets out again.
func BenchmarkClean(b *testing.B) {
	cs, size := codeTalks(b, 4<<20)
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, c := range cs {
			redact.Clean(c.Conversation())
		}
	}
}

// codeTalks makes conversations about the files of the neighbouring packages.
func codeTalks(b *testing.B, size int) (cs []redact.Conversation, total int) {
	b.Helper()
	files, err := filepath.Glob("../*/*.go")
	if err != nil || len(files) == 0 {
		b.Fatalf("no files: %v", err)
	}
	for i := 0; total < size; i++ {
		var texts []string
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			for part := range slices.Chunk(data, 1500) { // bytes of a message, on average
				texts = append(texts, string(part))
				total += len(part)
			}
		}
		cs = append(cs, talk(fmt.Sprint("code-", i), texts...))
	}
	return cs, total
}
