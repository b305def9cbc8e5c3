// Package hermes knows Hermes: what there is to write into its files. Its history is not
// read.
package hermes

import "ambry.dev/ambry/internal/agent"

const id = "hermes"

// Agent returns Hermes.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Hermes", Lesson: lesson()} }
