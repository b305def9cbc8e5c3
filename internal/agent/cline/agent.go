// Package cline knows Cline: what there is to write into its files. Its history is not
// read.
package cline

import "ambry.dev/ambry/internal/agent"

const id = "cline"

// Agent returns Cline.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Cline", Lesson: lesson()} }
