package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/hook"
	"ambry.dev/ambry/internal/web"
)

// forgetting is between a request to the memory runtime and what hands it on:
// what is to be forgotten may also wait in files of the hooks, which the runtime
// does not know of.
type forgetting struct {
	next  http.Handler
	spool *hook.Spool
	log   *slog.Logger
}

func (s *service) newForgetting(memory *memoryRuntime, spool *hook.Spool) forgetting {
	return forgetting{web.NewProxy(web.ProxyConfig{Target: memory.target, DialContext: s.outgoing.DialContext}), spool, s.log}
}

// ServeHTTP hands the request on, in the end.
func (f forgetting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodDelete:
		f.settle(r.Context(), remembered, false)
	case r.Method == http.MethodPost && r.URL.Path == "/api/v1/memory/forget":
		data, err := io.ReadAll(r.Body)
		if err != nil {
			web.WriteError(w, r, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		var what ambry.Forget
		if json.Unmarshal(data, &what) == nil && what.Validate() == nil { // else it is refused
			f.settle(r.Context(), selected(what), what.DryRun)
		}
	}
	f.next.ServeHTTP(w, r)
}

func (f forgetting) settle(ctx context.Context, these func(ambry.Conversation, bool) bool, dry bool) {
	if err := f.spool.Settle(ctx, these, dry); err != nil {
		f.log.Warn("forget what hooks told of", "err", err) // the runtime says what is the matter with it
	}
}

// remembered selects turns that the memory was given before: it has what is left
// to say of them from the agent's log.
func remembered(_ ambry.Conversation, told bool) bool { return told }

// selected returns what selects the turns of hooks that a request means.
func selected(f ambry.Forget) func(c ambry.Conversation, told bool) bool {
	words := strings.ToLower(strings.TrimSpace(f.Words))
	return func(c ambry.Conversation, told bool) bool {
		switch {
		case words != "":
			for _, m := range c.Turns[0].Messages {
				if strings.Contains(strings.ToLower(m.Text), words) {
					return true
				}
			}
			return false
		case len(f.IDs) > 0:
			return remembered(c, told)
		case f.Project != "":
			rel, err := filepath.Rel(f.Project, c.Session.Cwd)
			return err == nil && filepath.IsLocal(rel)
		}
		return (f.SessionID == "" || f.SessionID == c.Session.ID) && (f.Agent == "" || f.Agent == c.Session.Agent)
	}
}
