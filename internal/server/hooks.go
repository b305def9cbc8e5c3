package server

import (
	"context"
	"encoding/json"
	"net/http"
)

// told is what is answered to a hook.
type told struct {
	Status int
	Body   json.RawMessage
}

func (s *Server) hook(ctx context.Context, in *struct {
	Agent string          `path:"agent" maxLength:"64"`
	Event string          `path:"event" maxLength:"64"`
	Body  json.RawMessage `doc:"What the agent says to its hook"`
},
) (*told, error) {
	out, err := s.Hooks.Answer(ctx, in.Agent, in.Event, in.Body)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return &told{Status: http.StatusNoContent}, nil
	}
	return &told{Status: http.StatusOK, Body: out}, nil
}
