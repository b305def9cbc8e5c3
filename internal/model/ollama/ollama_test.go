package ollama_test

import (
	"testing"

	"ambry.dev/ambry/internal/model/modeltest"
	"ambry.dev/ambry/internal/model/ollama"
)

func TestConformance(t *testing.T) { modeltest.Run(t, ollama.Provider(), "testdata/ollama.txtar") }
