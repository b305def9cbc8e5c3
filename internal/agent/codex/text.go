package codex

import "strings"

// fragments are what Codex puts into messages of role user by itself, each in
// an element of this name (codex-rs/core/src/context).
var fragments = []string{
	"environment_context", "user_instructions", "INSTRUCTIONS", "permissions instructions", "collaboration_mode",
	"turn_aborted", "subagent_notification", "user_shell_command", "user_action", "skill", "hook_prompt",
	"model_switch", "personality_spec", "realtime_conversation", "apps_instructions", "skills_instructions",
	"plugins_instructions", "goal_context", "codex_internal_context", "app-context", "token_budget",
	"agents_md", "multi_agent_mode", "recommended_plugins",
}

// warnings are what it puts there without one.
var warnings = []string{"Warning: apply_patch was requested via ", "Warning: The maximum number of unified exec processes"}

const (
	instructions = "# AGENTS.md instructions"
	ideContext   = "# Context from my IDE setup:"
	ideRequest   = "## My request for Codex:"
)

// split tells what a person wrote from the context that was put before it.
func split(text string) (own, context string) {
	own = text
	for {
		trimmed := strings.TrimLeft(own, " \t\r\n")
		n := fragment(trimmed)
		if n == 0 {
			break
		}
		own = trimmed[n:]
	}
	if n := len(text) - len(own); n > 0 {
		context, own = text[:n], strings.TrimLeft(own, " \t\r\n")
	}
	if strings.HasPrefix(own, ideContext) {
		if before, request, ok := strings.Cut(own, ideRequest); ok {
			own, context = strings.TrimSpace(request), context+before
		}
	}
	return own, context
}

// fragment returns the length of the context that text begins with, or 0.
func fragment(text string) int {
	if text == "" {
		return 0
	}
	if strings.HasPrefix(text, instructions) {
		return endOf(text, "INSTRUCTIONS")
	}
	for _, w := range warnings {
		if strings.HasPrefix(text, w) {
			return len(text)
		}
	}
	if text[0] != '<' {
		return 0
	}
	for _, name := range fragments {
		if strings.HasPrefix(text[1:], name) && len(text) > len(name)+1 && strings.IndexByte("> \n", text[len(name)+1]) >= 0 {
			return endOf(text, name)
		}
	}
	return 0
}

// endOf returns where the element of a name ends in text: at the end, if it is
// not closed.
func endOf(text, name string) int {
	end := "</" + name + ">"
	if i := strings.Index(text, end); i >= 0 {
		return i + len(end)
	}
	return len(text)
}

// cutOut takes the elements of a name out of text.
func cutOut(text, name string) (rest, inside string) {
	begin, end := "<"+name+">", "</"+name+">"
	if !strings.Contains(text, begin) {
		return text, ""
	}
	var outer, inner strings.Builder
	for {
		before, after, found := strings.Cut(text, begin)
		element, behind, closed := strings.Cut(after, end)
		if !found || !closed {
			outer.WriteString(text)
			return outer.String(), strings.TrimSpace(inner.String())
		}
		outer.WriteString(before)
		inner.WriteString(element)
		text = behind
	}
}

// isImageTag reports whether text is the mark that Codex puts around a picture.
func isImageTag(text string) bool {
	text = strings.TrimSpace(text)
	return text == "</image>" || strings.HasPrefix(text, "<image") && strings.HasSuffix(text, ">") && !strings.Contains(text, "\n")
}
