// Package copilot knows GitHub Copilot CLI: what there is to write into its files. Its history is not
// read.
package copilot

import "ambry.dev/ambry/internal/agent"

const id = "copilot_cli"

// Agent returns GitHub Copilot CLI.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "GitHub Copilot CLI", Lesson: lesson()} }
