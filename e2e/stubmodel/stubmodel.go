// Package stubmodel is a language model that does not think: it answers the
// requests of agents' command lines with a fixed text, so that the real programs
// run in tests without a network. It speaks the Messages, Responses, Chat
// Completions and Gemini dialects as far as the agents need it. It is no part of
// the product.
package stubmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Model answers requests, and remembers them. The zero value is ready.
type Model struct {
	// Reply is the text of each answer; "Understood." if empty.
	Reply string

	mu       sync.Mutex // guards the rest
	requests []Request
	calls    int
}

// Request is what an agent sent.
type Request struct {
	Path string
	Body string
}

// Requests returns what was sent so far.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Forget forgets what was sent so far.
func (m *Model) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = nil
}

// Saw reports whether a request had a text in it, as it is or in JSON.
func (m *Model) Saw(text string) bool {
	quoted, _ := json.Marshal(text) // a string always can be
	return slices.ContainsFunc(m.Requests(), func(r Request) bool {
		return strings.Contains(r.Body, text) || strings.Contains(r.Body, string(quoted[1:len(quoted)-1]))
	})
}

// wish is how a prompt makes the model call a tool: "call tool memory_search with
// {...}". A tool whose name ends in that is called once, and then what it
// returned is repeated.
var wish = regexp.MustCompile(`call tool (\w+) with (\{[^{}]*\})`)

// ServeHTTP answers one request.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.requests = append(m.requests, Request{r.URL.Path, string(data)})
	m.mu.Unlock()
	var req map[string]any
	if len(data) > 0 && json.Unmarshal(data, &req) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/messages/count_tokens"):
		reply(w, object{"input_tokens": 10})
	case strings.HasSuffix(path, "/messages"):
		m.messages(w, req)
	case strings.HasSuffix(path, "/responses"):
		m.responses(w, req)
	case strings.HasSuffix(path, "/chat/completions"):
		m.chat(w, req)
	case strings.Contains(path, "eneratecontent"), strings.Contains(path, "enerateContent"):
		m.gemini(w, req, strings.Contains(path, "stream"))
	case strings.HasSuffix(path, ":countTokens"):
		reply(w, object{"totalTokens": 10})
	case strings.HasSuffix(path, "/models"):
		reply(w, object{"object": "list", "data": []any{object{"id": "stub", "object": "model"}}})
	default:
		reply(w, object{})
	}
}

type object = map[string]any

// answer is what the model says: a text, or the call of a tool.
type answer struct {
	text, tool, input, id string
}

// think decides on the answer: results are those of tools since the last prompt.
func (m *Model) think(prompt string, tools, results []string) answer {
	if len(results) > 0 {
		return answer{text: "The tool said: " + results[len(results)-1]}
	}
	prompt = strings.ReplaceAll(prompt, `\"`, `"`) // some quote what they were asked
	if w := wish.FindStringSubmatch(prompt); w != nil {
		i := slices.IndexFunc(tools, func(name string) bool { return strings.HasSuffix(name, w[1]) })
		if i >= 0 {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.calls++
			return answer{tool: tools[i], input: w[2], id: fmt.Sprintf("call_%d", m.calls)}
		}
	}
	if m.Reply == "" {
		return answer{text: "Understood."}
	}
	return answer{text: m.Reply}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the agent may have gone
}

// stream sends events, each with its type in it and before it if it has one.
func stream(w http.ResponseWriter, events ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		data, _ := json.Marshal(e) // made of what can be
		if kind, ok := e["type"].(string); ok {
			fmt.Fprintf(w, "event: %s\n", kind)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// list returns a member that is a list of objects.
func list(o object, name string) []object {
	all, _ := o[name].([]any)
	var out []object
	for _, one := range all {
		if one, ok := one.(object); ok {
			out = append(out, one)
		}
	}
	return out
}

func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

// texts returns all texts in a content of any dialect.
func texts(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, texts(one))
		}
		return strings.Join(all, "\n")
	case object:
		for _, name := range []string{"text", "content", "output", "response", "parts"} {
			if inner, ok := v[name]; ok {
				return texts(inner)
			}
		}
		data, _ := json.Marshal(v) // it came from JSON
		return string(data)
	}
	return ""
}
