// Package kimi knows Kimi: what there is to write into the files of Kimi Code, and of the kimi-cli before it. Its history is not
// read.
package kimi

import "ambry.dev/ambry/internal/agent"

const id = "kimi"

// Agent returns Kimi.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "Kimi", Lesson: lesson()} }
