package host

import (
	"cmp"
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// turnRoutes are the routes by which agents tell of their sessions while they
// happen.
func turnRoutes(h *host) []web.Route {
	return []web.Route{
		web.Post("/api/v1/sessions/open", "Begin a session, or go on with one", h.openSession).Tag("sessions"),
		web.Post("/api/v1/sessions/{id}/close", "End a session", h.closeSession).Tag("sessions"),
		web.Post("/api/v1/turns/start", "Say what a person asks, and get what the memory has on it", h.startTurn).MaxBody(maxNote).Tag("sessions"),
		web.Post("/api/v1/turns/{turnId}/complete", "Say how a turn went", h.completeTurn).MaxBody(maxNote).Tag("sessions"),
	}
}

func (h *host) openSession(ctx context.Context, in *struct {
	Keyed
	Body *ambry.SessionOpen
},
) (*web.JSON[ambry.SessionOpened], error) {
	var body ambry.SessionOpen
	if in.Body != nil {
		body = *in.Body
	}
	return reply(h.memory.OpenSession(ctx, body, cmp.Or(in.Key, body.Key("session.open"))))
}

func (h *host) closeSession(ctx context.Context, in *struct {
	ByID
	Keyed
	Body *ambry.SessionClose
},
) (*web.JSON[ambry.SessionClosed], error) {
	var body ambry.SessionClose
	if in.Body != nil {
		body = *in.Body
	}
	return reply(h.memory.CloseSession(ctx, in.ID, body, cmp.Or(in.Key, body.Key("session.close"))))
}

func (h *host) startTurn(ctx context.Context, in *struct {
	Keyed
	Body ambry.TurnStart
},
) (*web.JSON[ambry.TurnStarted], error) {
	return reply(h.memory.StartTurn(ctx, in.Body, cmp.Or(in.Key, in.Body.Key("turn.start"))))
}

func (h *host) completeTurn(ctx context.Context, in *struct {
	Keyed
	Turn string `path:"turnId" pattern:"^[A-Za-z0-9_.:-]{1,128}$" patternDescription:"an id"`
	Body ambry.TurnComplete
},
) (*web.JSON[ambry.TurnCompleted], error) {
	return reply(h.memory.CompleteTurn(ctx, in.Turn, in.Body, cmp.Or(in.Key, in.Body.Key("turn.complete"))))
}
