package host

import (
	"context"
	"encoding/json"
	"net/http"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// custodyRoutes are how things leave a memory for good and come back. All but
// the first are for the service alone: it hands on nothing below admin.
func custodyRoutes(h *host) []web.Route {
	return []web.Route{
		web.Post("/api/v1/memory/forget", "Forget a session, a project, an agent, or all that matches words", h.forgetAll).
			Tag("memory").Describe(forgetDescription),
		web.Post("/api/v1/admin/scrub", "Overwrite what was deleted", h.scrub).Tag("admin"),
		web.Post("/api/v1/admin/wipe", "Empty the memory", h.wipe).Tag("admin"),
		web.Post("/api/v1/admin/backup", "Copy the memory into the backups", h.backup).Tag("admin"),
		web.Post("/api/v1/admin/rebuild", "Make the text index anew", h.rebuild).Tag("admin"),
		web.Handle("/api/v1/admin/export", "The whole memory, as lines of JSON", http.HandlerFunc(h.export), http.MethodGet).Tag("admin"),
		web.Handle("/api/v1/admin/restore/{policy}", "Add what an export wrote", http.HandlerFunc(h.restore), http.MethodPost).
			Lines().Tag("admin"),
	}
}

const forgetDescription = "What is forgotten is deleted with the turns it is of, all or nothing, also when the process is killed. " +
	"Only digests are kept, so that no scan brings it back. scrubbed says whether its bytes are overwritten already; otherwise that follows."

func (h *host) forgetAll(ctx context.Context, in *struct {
	Keyed
	Body ambry.Forget
},
) (*web.JSON[ambry.ForgottenAll], error) {
	return reply(h.memory.ForgetAll(ctx, in.Body, in.Key))
}

func (h *host) scrub(ctx context.Context, in *struct {
	Body struct {
		Deep bool `json:"deep,omitempty"`
	}
},
) (*web.JSON[ambry.Scrubbed], error) {
	return reply(h.memory.Scrub(ctx, in.Body.Deep))
}

func (h *host) wipe(ctx context.Context, in *struct {
	Body struct {
		All bool `json:"all,omitempty"`
	}
},
) (*web.JSON[ambry.Wiped], error) {
	return reply(h.memory.Wipe(ctx, in.Body.All))
}

func (h *host) backup(ctx context.Context, _ *web.None) (*web.JSON[ambry.BackupMade], error) {
	return reply(h.memory.Backup(ctx))
}

type rebuilt struct {
	OK bool `json:"ok"`
}

func (h *host) rebuild(ctx context.Context, _ *web.None) (*web.JSON[rebuilt], error) {
	return reply(rebuilt{OK: true}, h.memory.Rebuild(ctx))
}

// begun is an answer that has an error as its status until its first byte.
type begun struct {
	http.ResponseWriter
	any bool
}

func (b *begun) Write(p []byte) (int, error) {
	if !b.any {
		b.any = true
		b.Header().Set("Content-Type", "application/x-ndjson")
	}
	return b.ResponseWriter.Write(p)
}

// export ends with an empty line: without it, what came is not the whole.
func (h *host) export(w http.ResponseWriter, r *http.Request) {
	out := &begun{ResponseWriter: w}
	err := h.memory.Export(r.Context(), out)
	switch {
	case err == nil:
		_, _ = out.Write([]byte("\n"))
	case !out.any:
		web.WriteError(w, r, err)
	}
}

func (h *host) restore(w http.ResponseWriter, r *http.Request) {
	done, err := h.memory.Restore(r.Context(), r.Body, ambry.RestorePolicy(r.PathValue("policy")))
	if err != nil {
		web.WriteError(w, r, err)
		return
	}
	data, err := json.Marshal(done)
	if err != nil {
		web.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // a caller who is gone needs no answer
}
