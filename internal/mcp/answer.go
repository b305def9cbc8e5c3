package mcp

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// look reads the few members of a message that decide who answers it. Names
// count in their one spelling only.
func look(data []byte) message {
	var envelope struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
		Params jsontext.Value `json:"params"`
	}
	if json.Unmarshal(data, &envelope) != nil {
		return message{}
	}
	m := message{id: []byte(envelope.ID), method: envelope.Method, modern: envelope.Method == "server/discover"}
	var params struct {
		Meta map[string]jsontext.Value `json:"_meta"`
	}
	if json.Unmarshal(envelope.Params, &params) == nil && params.Meta["io.modelcontextprotocol/protocolVersion"] != nil {
		m.modern = true
	}
	return m
}

// answer gives the refusals of the SDK, which are plain text, the one form that
// all failures of the API have. All else goes through as it is.
type answer struct {
	http.ResponseWriter
	refused int // the status of a refusal whose text is still to come
	text    bytes.Buffer
}

// WriteHeader sends the status, unless it begins a refusal in plain text.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.refused = status
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write sends data, or keeps it if it says why the request was refused.
func (a *answer) Write(data []byte) (int, error) {
	if a.refused == 0 {
		return a.ResponseWriter.Write(data)
	}
	return a.text.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// finish sends a refusal, if there was one.
func (a *answer) finish(r *http.Request) {
	if a.refused == 0 {
		return
	}
	text := short(strings.TrimSpace(ambry.Plain(a.text.String())), 200)
	web.WriteError(a.ResponseWriter, r, kindOf(a.refused).Errorf("%s", text))
}

func kindOf(status int) ambry.Kind {
	for _, kind := range []ambry.Kind{
		ambry.Forbidden, ambry.NotFound, ambry.MethodNotAllowed, ambry.Conflict, ambry.PayloadTooLarge, ambry.UnsupportedMediaType,
	} {
		if kind.Status() == status {
			return kind
		}
	}
	if status >= http.StatusInternalServerError {
		return ambry.Internal
	}
	return ambry.InvalidArgument
}

// short cuts text that a caller chose.
func short(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}
