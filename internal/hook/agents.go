package hook

import (
	"slices"
	"strings"
)

// action is what is done at an event.
type action int

const (
	ignore  action = iota
	begin          // a session began
	prompt         // a person asks something
	end            // a turn has ended
	closing        // a session has ended
)

// agent is how an agent speaks of its hooks.
type agent struct {
	id    string   // as its history is read
	names []string // other names it is called by

	events      map[string]action // by the agent's own names, in the form of clean
	say         func(event, text string) any
	mute        map[string]bool // events at which it takes no context
	sameTurns   bool            // its log calls turns as its hooks do
	tellAtBegin bool            // since it takes none with a prompt

	// transcript is where the agent writes a session down, for those whose hooks
	// tell neither that nor the answer; "" if it is not there.
	transcript func(getenv func(string) string, session string) string
}

// claude are the events of Claude Code, and of the many that do as it does.
var claude = map[string]action{
	"sessionstart": begin, "userpromptsubmit": prompt, "stop": end, "precompact": end, "sessionend": closing,
}

// agents are all agents whose hooks are answered. Where the shapes are known from
// is in docs/hooks.md.
var agents = []agent{
	{id: "claude_code", names: []string{"claude"}, events: claude, say: claudeSays},
	{id: "codex", events: claude, say: claudeSays, sameTurns: true},
	{id: "qwen_code", names: []string{"qwen"}, events: claude, say: claudeSays},
	{id: "factory", names: []string{"droid"}, events: claude, say: claudeSays},
	{id: "kimi", events: claude, say: plainContext("message"), transcript: kimiTranscript},
	{id: "codebuddy", names: []string{"workbuddy"}, events: claude, say: claudeSays},
	{id: "vscode", names: []string{"vs_code"}, events: claude, say: claudeSays},
	{id: "gemini_cli", names: []string{"gemini"}, say: claudeSays, events: map[string]action{
		"sessionstart": begin, "beforeagent": prompt, "afteragent": end, "sessionend": closing,
	}},
	{id: "copilot_cli", names: []string{"copilot"}, say: plainContext("additionalContext"), events: map[string]action{
		"sessionstart": begin, "userpromptsubmitted": prompt, "agentstop": end, "sessionend": closing,
	}},
	{id: "cursor", say: plainContext("additional_context"), mute: set("beforesubmitprompt"), tellAtBegin: true, events: map[string]action{
		"sessionstart": begin, "beforesubmitprompt": prompt, "afteragentresponse": end, "stop": end, "precompact": end, "sessionend": closing,
	}},
	{id: "opencode", say: plainContext("context"), sameTurns: true, events: map[string]action{
		"sessioncreated": begin, "chatmessage": prompt, "sessionidle": end, "sessioncompacting": end, "sessiondeleted": closing,
	}},
	{id: "openclaw", names: []string{"clawdbot", "moltbot"}, say: plainContext("prependContext"), events: map[string]action{
		"beforeagentstart": prompt, "agentend": end,
	}},
	{id: "hermes", say: plainContext("context"), events: map[string]action{
		"onsessionstart": begin, "prellmcall": prompt, "postllmcall": end, "onsessionend": closing,
	}},
	{id: "cline", say: clineSays, events: map[string]action{
		"userpromptsubmit": prompt, "taskcomplete": end, "taskcancel": closing, "precompact": end,
	}},
	{id: "kiro", say: plainContext("context"), events: map[string]action{
		"agentspawn": begin, "userpromptsubmit": prompt, "stop": end,
	}},
	{id: "windsurf", events: map[string]action{"preuserprompt": prompt, "postcascaderesponse": end}},
}

func set(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

// claudeSays is how Claude Code takes context, and those that do as it does.
func claudeSays(event, text string) any {
	type specific struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	return map[string]specific{"hookSpecificOutput": {event, text}}
}

// clineSays is how Cline takes context.
func clineSays(_, text string) any {
	return struct {
		Cancel  bool   `json:"cancel"`
		Context string `json:"contextModification"`
	}{false, text}
}

// plainContext is one field that has the context.
func plainContext(field string) func(event, text string) any {
	return func(_, text string) any { return map[string]string{field: text} }
}

// clean is a name without what agents, and people, write it with differently.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case r == '-', r == '_', r == '.', r == ' ':
			return -1
		}
		return r
	}, name)
}

func find(name string) (agent, bool) {
	name = clean(name)
	i := slices.IndexFunc(agents, func(a agent) bool {
		return clean(a.id) == name || slices.ContainsFunc(a.names, func(other string) bool { return clean(other) == name })
	})
	if i < 0 {
		return agent{}, false
	}
	return agents[i], true
}

// Anywhere reports whether another process than the one that the agent has started
// can answer its hooks. It cannot where a transcript is read, which the environment
// of the agent leads to.
func Anywhere(name string) bool {
	a, found := find(name)
	return found && a.transcript == nil
}

func (a agent) action(event string) action { return a.events[clean(event)] }

// Names are the agents whose hooks are answered.
func Names() []string {
	all := make([]string, len(agents))
	for i, a := range agents {
		all[i] = a.id
	}
	return all
}
