package remote_test

import (
	"testing"

	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/memory/memorytest"
)

// TestConformance runs the suite of every runtime on the memory that Ambry has,
// behind the wall.
func TestConformance(t *testing.T) {
	memorytest.Run(t, func(t *testing.T) memory.Runtime {
		there, _ := wall(t, real(t))
		return there
	})
}

func TestJournalConformance(t *testing.T) {
	memorytest.RunJournal(t, func(t *testing.T) memorytest.Journaled {
		there, _ := wall(t, real(t))
		return there
	})
}

func TestTurnsConformance(t *testing.T) {
	memorytest.RunTurns(t, func(t *testing.T) memorytest.Told {
		there, _ := wall(t, real(t))
		return there
	})
}

func TestInsightConformance(t *testing.T) {
	memorytest.RunInsight(t, func(t *testing.T) memorytest.Insightful {
		there, _ := wall(t, real(t))
		return there
	})
}

func TestCustodyConformance(t *testing.T) {
	memorytest.RunCustody(t, func(t *testing.T) memorytest.Kept {
		there, _ := wall(t, real(t))
		return there
	})
}
