package codex

import (
	"strconv"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

func messageID(kind byte, n int) string { return string(kind) + strconv.Itoa(n) }

// item takes what Codex sent to the model, or got from it.
func (r record) item(v agent.Value) {
	switch kind := string(v.Bytes("type")); kind {
	case "reasoning", "ghost_snapshot", "compaction", "context_compaction":
	case "message":
		r.message(v)
	case "agent_message":
		r.letter(v)
	default:
		r.tool(kind, v)
	}
}

// message takes a message. Those of the person hold what Codex added.
func (r record) message(v agent.Value) {
	switch string(v.Bytes("role")) {
	case "user":
		r.prompted(v)
	case "assistant":
		text := joined(v.Get("content"), "")
		if strings.HasPrefix(text, `{"author":`) && strings.Contains(text, `"recipient":`) {
			r.hide(ambry.System, text) // from another agent, in an envelope for the model
			return
		}
		r.replied(text)
	default: // developer, system
		r.hide(ambry.System, joined(v.Get("content"), "\n"))
	}
}

// prompted takes what the model was asked. Which of it a person wrote, an event
// says, if there is one; most of what is not of a person is known by its form.
func (r record) prompted(v agent.Value) {
	var texts []string
	var files []ambry.Attached
	take := func(text string) {
		mine, context := split(text)
		texts = append(texts, mine)
		r.hide(ambry.User, context)
	}
	for part := range v.List("content") {
		switch string(part.Bytes("type")) {
		case "input_image":
			files = append(files, picture(part, "image_url"))
		case "input_text", "text", "output_text":
			if text := part.Text("text"); !isImageTag(text) {
				take(text)
			}
		}
	}
	if v.Get("content").IsText() {
		take(v.Text("content"))
	}
	own := strings.Join(texts, "")
	if strings.TrimSpace(own) == "" && len(files) == 0 {
		return
	}
	if _, told := r.s.Turn.told(byUser, false, own); told {
		return
	}
	r.asks(own)
	t := &r.s.Turn
	t.tells(byUser, false, own, t.Users)
	if !t.Clean {
		r.title(byItem, own)
	}
	t.Speaking = false
	r.b.Add(ambry.Message{ID: messageID('u', t.Users), Role: ambry.User, Text: own, Files: files, Hidden: t.Clean, At: r.at()})
	t.Users++
}

// replied takes what the model said. A plan in it is told by an event of its
// own, and citations of Codex's memory by none.
func (r record) replied(text string) {
	r.needs()
	text, _ = cutOut(text, "oai-mem-citation")
	rest, plan := cutOut(text, "proposed_plan")
	for _, part := range []string{rest, plan} {
		if strings.TrimSpace(part) == "" {
			continue
		}
		if _, told := r.s.Turn.told(byModel, false, part); !told {
			r.say(false, part)
		}
	}
}

// letter takes a message of another agent. To a sub-agent, the first one is
// what it has to do.
func (r record) letter(v agent.Value) {
	r.in(v.Text("turn_id"))
	text := first(v.Text("content"), joined(v.Get("content"), ""))
	if strings.TrimSpace(text) == "" { // encrypted
		return
	}
	if r.b.Session.Relation == ambry.Subagent && v.Bool("trigger_turn") {
		r.asks(text)
		r.title(byEvent, text)
		r.b.Add(ambry.Message{ID: messageID('u', r.s.Turn.Users), Role: ambry.User, Text: text, At: r.at()})
		r.s.Turn.Users++
		r.s.Turn.Clean = true
		return
	}
	r.hide(ambry.System, text)
}

// joined returns the texts of a list of parts, or the text that is there
// instead of a list.
func joined(v agent.Value, between string) string {
	if v.IsText() {
		return v.Text()
	}
	var texts []string
	for part := range v.List() {
		if text := part.Text("text"); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, between)
}
