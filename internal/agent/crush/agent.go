// Package crush knows Crush: what there is to write into its files. Its history is not
// read.
package crush

import "ambry.dev/ambry/internal/agent"

const id = "crush"

// Agent returns Crush.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Crush", Lesson: lesson()} }
