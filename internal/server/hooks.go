package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// told is what is answered to a hook.
type told struct {
	Status int
	Body   json.RawMessage
}

func (s *Server) hook(ctx context.Context, in *struct {
	Agent string          `path:"agent" maxLength:"64"`
	Event string          `path:"event" maxLength:"64"`
	At    int64           `query:"at" minimum:"0" doc:"When it happened, in nanoseconds since 1970; what was long ago is memory_timeout, for the caller has done it itself"`
	Body  json.RawMessage `doc:"What the agent says to its hook"`
},
) (*told, error) {
	var at time.Time
	if in.At > 0 {
		at = time.Unix(0, in.At)
	}
	out, err := s.Hooks.Answer(ctx, in.Agent, in.Event, at, in.Body)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return &told{Status: http.StatusNoContent}, nil
	}
	return &told{Status: http.StatusOK, Body: out}, nil
}
