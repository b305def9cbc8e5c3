// Package windsurf knows Windsurf: what there is to write into its files. Its history is not
// read.
package windsurf

import "ambry.dev/ambry/internal/agent"

const id = "windsurf"

// Agent returns Windsurf.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Windsurf", Lesson: lesson()} }
