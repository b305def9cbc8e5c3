// Package zed knows Zed: what there is to write into its files. Its history is not
// read.
package zed

import "ambry.dev/ambry/internal/agent"

const id = "zed"

// Agent returns Zed.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Zed", Lesson: lesson()} }
