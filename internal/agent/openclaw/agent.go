// Package openclaw knows OpenClaw: what there is to write into its files. Its history is not
// read.
package openclaw

import "ambry.dev/ambry/internal/agent"

const id = "openclaw"

// Agent returns OpenClaw.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "OpenClaw", Lesson: lesson()} }
