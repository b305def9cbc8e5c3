// Package kiro knows Kiro: what there is to write into its files. Its history is not
// read.
package kiro

import "ambry.dev/ambry/internal/agent"

const id = "kiro"

// Agent returns Kiro.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Kiro", Lesson: lesson()} }
