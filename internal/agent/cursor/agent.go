// Package cursor knows Cursor: what there is to write into its files. Its history is not
// read.
package cursor

import "ambry.dev/ambry/internal/agent"

const id = "cursor"

// Agent returns Cursor.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Cursor", Lesson: lesson()} }
