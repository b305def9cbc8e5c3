package codex_test

import (
	"testing"

	"ambry.dev/ambry/internal/agent/agenttest"
	"ambry.dev/ambry/internal/agent/codex"
)

func TestAgent(t *testing.T) {
	agenttest.Run(t, codex.Agent(), "testdata/home")
}
