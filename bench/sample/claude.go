package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

const (
	claudeVersion = "2.1.239"
	claudeModel   = "claude-sonnet-5"
)

// claudeRow is a line of a session file of Claude Code, see docs/formats.
type claudeRow struct {
	ParentUUID        *string `json:"parentUuid"`
	LogicalParentUUID *string `json:"logicalParentUuid,omitempty"`
	IsSidechain       bool    `json:"isSidechain"`
	UserType          string  `json:"userType"`
	Cwd               string  `json:"cwd"`
	SessionID         string  `json:"sessionId"`
	Version           string  `json:"version"`
	GitBranch         string  `json:"gitBranch"`
	AgentID           string  `json:"agentId,omitempty"`
	Type              string  `json:"type"`
	Subtype           string  `json:"subtype,omitempty"`
	Content           string  `json:"content,omitempty"`
	IsCompactSummary  bool    `json:"isCompactSummary,omitempty"`
	Message           any     `json:"message,omitempty"`
	RequestID         string  `json:"requestId,omitempty"`
	DurationMs        int     `json:"durationMs,omitempty"`
	CompactMetadata   any     `json:"compactMetadata,omitempty"`
	ToolUseResult     any     `json:"toolUseResult,omitempty"`
	UUID              string  `json:"uuid"`
	Timestamp         string  `json:"timestamp"`
}

// claudeFile is a session file, or that of a sub-agent.
type claudeFile struct {
	scribe
	home    *home
	story   story
	session string
	agentID string
	dir     string
	parent  *string
}

var outsideSlug = regexp.MustCompile(`[^A-Za-z0-9-]`)

func (h *home) claude(s story) error {
	f := &claudeFile{scribe: scribe{seed: s.agent + s.cwd + s.title, now: s.at}, home: h, story: s}
	f.session = f.uuid(false)
	f.dir = path.Join(".claude/projects", outsideSlug.ReplaceAllString(s.cwd, "-"))
	if err := f.steps(s.steps); err != nil {
		return err
	}
	title := object{"type": "ai-title", "aiTitle": s.title, "sessionId": f.session}
	if err := f.row(title); err != nil {
		return err
	}
	return h.save(path.Join(f.dir, f.session+".jsonl"), f.buf.Bytes(), f.now)
}

func (f *claudeFile) line(r claudeRow) error {
	r.UserType, r.Cwd, r.SessionID, r.Version, r.GitBranch = "external", f.story.cwd, f.session, claudeVersion, f.story.branch
	r.ParentUUID, r.AgentID, r.IsSidechain = f.parent, f.agentID, f.agentID != ""
	r.UUID = f.uuid(false)
	if r.Timestamp == "" {
		r.Timestamp = f.pause(1, 4)
	}
	f.parent = &r.UUID
	return f.row(r)
}

// steps writes what is said and done. A thought and an answer belong to the same
// message as the tools that follow them, a line for each.
func (f *claudeFile) steps(steps []step) error {
	var blocks []object
	for i, s := range steps {
		var err error
		switch s.mark {
		case '>':
			err = f.line(claudeRow{Type: "user", Timestamp: f.pause(40, 200), Message: object{"role": "user", "content": s.text}})
		case '?':
			blocks = append(blocks, object{"type": "thinking", "thinking": s.text, "signature": f.id("Er")})
		case '<':
			blocks = append(blocks, object{"type": "text", "text": s.text})
			if i+1 == len(steps) || strings.IndexByte(">~", steps[i+1].mark) >= 0 {
				err = f.finish(blocks)
				blocks = nil
			}
		case '~':
			err = f.compact(s.text)
		default:
			err = f.tool(s, blocks)
			blocks = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *claudeFile) finish(blocks []object) error {
	if err := f.assistant(blocks, "end_turn"); err != nil {
		return err
	}
	return f.line(claudeRow{Type: "system", Subtype: "turn_duration", DurationMs: f.number(9_000, 240_000)})
}

func (f *claudeFile) assistant(blocks []object, stop string) error {
	id, request, input, output := f.id("msg_01"), f.id("req_011"), f.number(3_000, 90_000), f.number(60, 900)
	for i, block := range blocks {
		var reason any
		if i == len(blocks)-1 {
			reason = stop
		}
		message := object{
			"id": id, "type": "message", "role": "assistant", "model": claudeModel, "content": []object{block}, "stop_reason": reason,
			"usage": object{"input_tokens": 4, "cache_read_input_tokens": input, "cache_creation_input_tokens": input / 20, "output_tokens": output},
		}
		if err := f.line(claudeRow{Type: "assistant", RequestID: request, Timestamp: f.pause(3, 15), Message: message}); err != nil {
			return err
		}
	}
	return nil
}

func (f *claudeFile) tool(s step, blocks []object) error {
	id := f.id("toolu_01")
	name, input, result, detail, err := f.call(s)
	if err != nil {
		return err
	}
	blocks = append(blocks, object{"type": "tool_use", "id": id, "name": name, "input": input})
	if err := f.assistant(blocks, "tool_use"); err != nil {
		return err
	}
	block := object{"type": "tool_result", "tool_use_id": id, "content": result}
	if s.exit != 0 {
		block["is_error"] = true
		block["content"] = fmt.Sprintf("Exit code %d\n%s", s.exit, result)
	}
	return f.line(claudeRow{Type: "user", Message: object{"role": "user", "content": []object{block}}, ToolUseResult: detail})
}

// call returns the tool of a step, what it was given and what came back.
func (f *claudeFile) call(s step) (name string, input object, result string, detail any, err error) {
	file := path.Join(f.story.cwd, s.text)
	switch s.mark {
	case '$':
		return "Bash", object{"command": s.text}, s.output(),
			object{"stdout": s.output(), "stderr": "", "interrupted": false, "isImage": false}, nil
	case '@':
		var numbered strings.Builder
		for i, line := range s.lines {
			fmt.Fprintf(&numbered, "%6d\t%s\n", i+1, line)
		}
		return "Read", object{"file_path": file}, numbered.String(),
			object{"type": "text", "file": object{"filePath": file, "content": s.output(), "numLines": len(s.lines)}}, nil
	case '+':
		removed, added := s.change()
		before, after := strings.Join(removed, "\n"), strings.Join(added, "\n")
		if len(removed) == 0 {
			return "Write", object{"file_path": file, "content": after}, "File created successfully at: " + file,
				object{"type": "create", "filePath": file, "content": after}, nil
		}
		return "Edit", object{"file_path": file, "old_string": before, "new_string": after}, "The file " + file + " has been updated.",
			object{"filePath": file, "oldString": before, "newString": after}, nil
	}
	agent, report, err := f.subagent(s)
	return "Task", object{"description": s.text, "prompt": s.inner[0].text, "subagent_type": "general-purpose"}, report,
		object{"status": "completed", "agentId": agent, "content": []object{{"type": "text", "text": report}}}, err
}

// subagent writes the file of a sub-agent and returns its id and its last words.
func (f *claudeFile) subagent(s step) (id, report string, err error) {
	child := &claudeFile{scribe: scribe{seed: f.seed + s.text, now: f.now}, home: f.home, story: f.story, session: f.session}
	child.agentID = child.id("a")[:8]
	if err := child.steps(s.inner); err != nil {
		return "", "", err
	}
	f.now = child.now
	name := path.Join(f.dir, f.session, "subagents", "agent-"+child.agentID)
	if err := f.home.save(name+".jsonl", child.buf.Bytes(), child.now); err != nil {
		return "", "", err
	}
	meta := []byte(`{"agentType":"general-purpose","spawnDepth":1}` + "\n")
	return child.agentID, s.inner[len(s.inner)-1].text, f.home.save(name+".meta.json", meta, child.now)
}

func (f *claudeFile) compact(summary string) error {
	last := f.parent
	f.parent = nil
	boundary := claudeRow{
		Type: "system", Subtype: "compact_boundary", Content: "Conversation compacted",
		LogicalParentUUID: last, CompactMetadata: object{"trigger": "auto", "preTokens": f.number(150_000, 170_000)},
	}
	if err := f.line(boundary); err != nil {
		return err
	}
	text := "This session is being continued from a previous conversation that ran out of context. Summary:\n" + summary
	return f.line(claudeRow{Type: "user", IsCompactSummary: true, Message: object{"role": "user", "content": text}})
}
