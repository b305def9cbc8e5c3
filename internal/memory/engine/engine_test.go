package engine_test

import (
	"path/filepath"
	"testing"

	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/memorytest"
	"ambry.dev/ambry/internal/memory/store"
)

// open returns an engine over a new store.
func open(t *testing.T) *engine.Engine {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine.New(engine.Config{Store: s, Version: "test"})
}

func TestConformance(t *testing.T) {
	memorytest.Run(t, func(t *testing.T) memory.Runtime { return open(t) })
}

func TestJournalConformance(t *testing.T) {
	memorytest.RunJournal(t, func(t *testing.T) memorytest.Journaled { return open(t) })
}

func TestTurnsConformance(t *testing.T) {
	memorytest.RunTurns(t, func(t *testing.T) memorytest.Told { return open(t) })
}

func TestInsightConformance(t *testing.T) {
	memorytest.RunInsight(t, func(t *testing.T) memorytest.Insightful { return open(t) })
}

func TestCustodyConformance(t *testing.T) {
	memorytest.RunCustody(t, func(t *testing.T) memorytest.Kept { return open(t) })
}
