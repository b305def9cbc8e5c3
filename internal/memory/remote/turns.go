package remote

import (
	"context"
	"net/http"

	"ambry.dev/ambry"
)

// OpenSession begins a session, or goes on with one.
func (c *Client) OpenSession(ctx context.Context, o ambry.SessionOpen, key string) (s ambry.SessionOpened, err error) {
	return s, c.write(ctx, http.MethodPost, "/api/v1/sessions/open", key, o, &s)
}

// CloseSession ends a session.
func (c *Client) CloseSession(ctx context.Context, id string, in ambry.SessionClose, key string) (s ambry.SessionClosed, err error) {
	if !isID(id) {
		return s, ambry.NotFound.Errorf("there is no session of that id")
	}
	return s, c.write(ctx, http.MethodPost, "/api/v1/sessions/"+id+"/close", key, in, &s)
}

// StartTurn says what the memory has on a request.
func (c *Client) StartTurn(ctx context.Context, b ambry.TurnStart, key string) (t ambry.TurnStarted, err error) {
	b.Query = passable(b.Query)
	return t, c.write(ctx, http.MethodPost, "/api/v1/turns/start", key, b, &t)
}

// CompleteTurn remembers a turn as an agent tells of it.
func (c *Client) CompleteTurn(ctx context.Context, turn string, in ambry.TurnComplete, key string) (t ambry.TurnCompleted, err error) {
	if !isID(turn) {
		return t, ambry.InvalidArgument.Errorf("turnId is no id")
	}
	in.Query, in.Answer, in.ReasoningSummary = passable(in.Query), passable(in.Answer), passable(in.ReasoningSummary)
	return t, c.write(ctx, http.MethodPost, "/api/v1/turns/"+turn+"/complete", key, in, &t)
}
