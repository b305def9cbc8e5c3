// Package qwen knows Qwen Code: what there is to write into its files. Its history is not
// read.
package qwen

import "ambry.dev/ambry/internal/agent"

const id = "qwen_code"

// Agent returns Qwen Code.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Qwen Code", Lesson: lesson()} }
