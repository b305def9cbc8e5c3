// Package vscode knows VS Code: what there is to write into the files of its chat. Its history is not
// read.
package vscode

import "ambry.dev/ambry/internal/agent"

const id = "vscode"

// Agent returns VS Code.
func Agent() agent.Agent { return agent.Agent{ID: id, Name: "VS Code", Lesson: lesson()} }
