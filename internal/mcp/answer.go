package mcp

import (
	"bytes"
	"net/http"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

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
