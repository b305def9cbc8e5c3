// Package gemini knows Gemini CLI: what there is to write into its files. Its history is not
// read.
package gemini

import "ambry.dev/ambry/internal/agent"

const id = "gemini_cli"

// Agent returns Gemini CLI.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Gemini CLI", Lesson: lesson()} }
