package claudecode_test

import (
	"testing"

	"ambry.dev/ambry/internal/agent/agenttest"
	"ambry.dev/ambry/internal/agent/claudecode"
)

func TestAgent(t *testing.T) {
	agenttest.Run(t, claudecode.Agent(), "testdata/home")
}
