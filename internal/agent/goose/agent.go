// Package goose knows Goose: what there is to write into its files. Its history is not
// read.
package goose

import "ambry.dev/ambry/internal/agent"

const id = "goose"

// Agent returns Goose.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Goose", Lesson: lesson()} }
