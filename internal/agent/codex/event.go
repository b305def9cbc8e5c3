package codex

import (
	"path"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// event takes what Codex told its user interface.
func (r record) event(v agent.Value) {
	switch kind := string(v.Bytes("type")); kind {
	case "token_count":
		r.spend(v.Get("info"))
	case "user_message":
		r.asked(v.Text("message"), pictures(v))
	case "agent_message":
		r.answered(v.Text("message"))
	case "item_completed":
		r.in(v.Text("turn_id"))
		r.completed(v.Get("item"))
	case "task_started", "turn_started":
		r.starts(v.Text("turn_id"))
	case "task_complete", "turn_complete":
		r.ends(v)
	case "turn_aborted":
		r.ends(v)
		r.note(ambry.System, "Turn aborted: "+first(v.Text("reason"), "unknown reason"))
	case "error":
		r.note(ambry.System, "Error: "+v.Text("message"))
	case "entered_review_mode":
		r.note(ambry.System, "Review: "+first(v.Text("user_facing_hint"), v.JSON(agent.MaxTitle, "target")))
	case "thread_rolled_back":
		if v.Int("num_turns") > 0 {
			r.b.Hide()
			r.s.Turn.Ended = true
		}
	case "thread_name_updated":
		if thread := v.Text("thread_id"); thread == "" || thread == r.b.Session.ID {
			r.title(byName, v.Text("thread_name"))
		}
	default:
		r.tool(kind, v)
	}
}

// ends notes that the open turn is over.
func (r record) ends(v agent.Value) {
	if native := v.Text("turn_id"); native == "" || r.s.Turn.Native == "" || native == r.s.Turn.Native {
		r.s.Turn.Ended = true
		r.b.Vouch()
	}
}

// asked takes what a person wrote, as the event tells it: as it was written.
// What the items of the turn made of it, and what they added, is hidden.
func (r record) asked(text string, files []ambry.Attached) {
	own, context := split(text)
	if strings.TrimSpace(own) == "" && len(files) == 0 {
		r.hide(ambry.User, context)
		return
	}
	r.asks(own)
	t := &r.s.Turn
	if !t.Clean {
		t.Clean = true
		for n := range t.Users {
			r.b.Change(messageID('u', n), func(m *ambry.Message) { m.Hidden = true })
		}
	}
	t.Speaking = false
	r.title(byEvent, own)
	if n, told := t.told(byUser, true, own); told {
		r.b.Change(messageID('u', n), func(m *ambry.Message) {
			m.Hidden, m.Text = false, own
			if len(m.Files) == 0 {
				m.Files = files
			}
		})
		return
	}
	t.tells(byUser, true, own, t.Users)
	r.b.Add(ambry.Message{ID: messageID('u', t.Users), Role: ambry.User, Text: own, Files: files, At: r.at()})
	t.Users++
}

// answered takes what the model said, as an event tells it.
func (r record) answered(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	r.needs()
	if _, told := r.s.Turn.told(byModel, true, text); !told {
		r.say(true, text)
	}
}

// say adds a message of the model that is told for the first time.
func (r record) say(event bool, text string) {
	t := &r.s.Turn
	t.tells(byModel, event, text, t.Said)
	r.b.Add(ambry.Message{ID: messageID('a', t.Said), Role: ambry.Assistant, Text: text, Model: r.s.Model, At: r.at()})
	t.Said++
	t.Speaking = true
}

// completed takes an item of a turn, as the events of newer versions tell it.
func (r record) completed(v agent.Value) {
	switch kind := string(v.Bytes("type")); kind {
	case "UserMessage":
		text, files := written(v)
		r.asked(text, files)
	case "AgentMessage":
		r.answered(joined(v.Get("content"), ""))
	case "Plan":
		r.answered(v.Text("text"))
	default:
		r.tool(kind, v)
	}
}

// written returns what a person gave: texts and pictures.
func written(v agent.Value) (text string, files []ambry.Attached) {
	var texts []string
	for part := range v.List("content") {
		switch string(part.Bytes("type")) {
		case "text":
			texts = append(texts, part.Text("text"))
		case "image":
			files = append(files, picture(part, "image_url"))
		case "local_image":
			files = append(files, ambry.Attached{Kind: "image", Name: base(part.Text("path"))})
		}
	}
	return strings.Join(texts, ""), files
}

// pictures returns those that an event tells of.
func pictures(v agent.Value) (files []ambry.Attached) {
	for image := range v.List("images") {
		files = append(files, picture(image))
	}
	for image := range v.List("local_images") {
		files = append(files, ambry.Attached{Kind: "image", Name: base(image.Text())})
	}
	return files
}

// picture describes a picture by its address, which may be all of its bytes.
func picture(v agent.Value, path ...string) ambry.Attached {
	url := v.Bytes(path...)
	data, inline := strings.CutPrefix(string(url[:min(len(url), 128)]), "data:")
	if !inline {
		return ambry.Attached{Kind: "image", Name: agent.Cap(v.Text(path...), agent.MaxTitle)}
	}
	mime, _, _ := strings.Cut(data, ",")
	head := len("data:") + len(mime) + len(",")
	mime, _, _ = strings.Cut(mime, ";")
	return ambry.Attached{Kind: "image", Mime: strings.ToValidUTF8(mime, ""), Bytes: agent.DataSize(url[min(head, len(url)):])}
}

// base returns the last part of a path of any system.
func base(name string) string {
	if name == "" {
		return ""
	}
	return agent.Cap(path.Base(strings.ReplaceAll(name, `\`, "/")), agent.MaxTitle)
}
