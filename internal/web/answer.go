package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
	"uuid"

	"ambry.dev/ambry"
)

// writeWait is how long one write of an answer may take.
const writeWait = 30 * time.Second

// answer is a ResponseWriter that gives every answer the headers it must have,
// at the last moment so that no handler can lose them, and remembers what the
// access log wants to know.
type answer struct {
	w       http.ResponseWriter
	id      string
	pattern string
	agent   string // whose token it was, if it was an agent's
	origin  string // allowed Origin of the page that asks
	start   time.Time
	status  int
	bytes   int64
	err     error
	quiet   bool
	rolling bool // each write has a deadline of its own
	plain   bool // the caller knows nothing of problem+json
}

func newAnswer(w http.ResponseWriter, r *http.Request) *answer {
	return &answer{
		w: w, pattern: "none", id: requestID(r.Header["X-Request-Id"]), start: time.Now(),
		plain: !acceptsProblem(r.Header["Accept"]),
	}
}

// acceptsProblem reports whether a caller takes a problem document for what it
// is. Programs that do not say what they take, or only JSON, were written for
// services whose errors are plain JSON, and look for that type.
func acceptsProblem(accept []string) bool {
	for _, value := range accept {
		if strings.Contains(value, problemType) || strings.Contains(value, "application/*") || strings.Contains(value, "*/*") {
			return true
		}
	}
	return false
}

// answerOf finds the answer behind w.
func answerOf(w http.ResponseWriter) *answer {
	for {
		if a, ok := w.(*answer); ok {
			return a
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = u.Unwrap()
	}
}

// RequestID returns the id of the request that w answers, as the log and the
// caller see it.
func RequestID(w http.ResponseWriter) string {
	if a := answerOf(w); a != nil {
		return a.id
	}
	return ""
}

// requestID is the caller's, if it is one, else a new one.
func requestID(given []string) string {
	if len(given) == 1 && plainID(given[0]) {
		return given[0]
	}
	return uuid.NewV7().String()
}

func plainID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// The values of the headers that every answer has: no cache keeps it, no
// browser guesses its type, sends its address elsewhere, or runs anything in it.
var (
	noStore    = []string{"no-store"}
	noSniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	noContent  = []string{"default-src 'none'"}
	varyOrigin = []string{"Origin"}
	exposed    = []string{"X-Request-Id, Retry-After, ETag, Idempotent-Replayed, Mcp-Session-Id, Mcp-Protocol-Version"}
)

func (a *answer) Header() http.Header {
	if a.w == nil {
		return http.Header{}
	}
	return a.w.Header()
}

func (a *answer) WriteHeader(status int) {
	// An upstream's 1xx would bring headers of its own past the proxy's list.
	if status < http.StatusOK || a.status != 0 {
		return
	}
	a.status = status
	h := a.w.Header()
	h["X-Request-Id"] = []string{a.id}
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = noContent
	if a.plain && h.Get("Content-Type") == problemType {
		h.Set("Content-Type", jsonType)
	}
	if a.origin != "" {
		h["Access-Control-Allow-Origin"] = []string{a.origin}
		h["Access-Control-Expose-Headers"] = exposed
		h["Vary"] = varyOrigin
	}
	a.roll()
	a.w.WriteHeader(status)
}

// roll gives the next write its deadline. The one that net/http set at the
// beginning may be over when a long-working handler answers.
func (a *answer) roll() {
	if a.rolling {
		_ = http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(writeWait))
	}
}

func (a *answer) Write(p []byte) (int, error) {
	switch {
	case a.status == 0:
		a.WriteHeader(http.StatusOK)
	case a.bytes > 0:
		a.roll()
	}
	n, err := a.w.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.w }

// finish is deferred around every request: it turns a panic into an answer and
// writes the line of the access log. The route's pattern stands for the URL,
// which may hold a token or what somebody searched for.
func (a *answer) finish(log *slog.Logger, r *http.Request) {
	abort := false
	if cause := recover(); cause != nil {
		abort = a.recovered(log, cause, r)
	}
	if a.status == 0 && !abort {
		a.WriteHeader(http.StatusOK)
	}
	a.log(log, r, abort)
	if abort {
		panic(http.ErrAbortHandler) // net/http closes the connection, and says nothing
	}
}

// recovered answers a panic, and reports whether the connection must be cut.
func (a *answer) recovered(log *slog.Logger, cause any, r *http.Request) (abort bool) {
	if cause == http.ErrAbortHandler {
		return true
	}
	log.Error("panic", "route", a.pattern, "request", a.id, "panic", cause, "stack", string(debug.Stack()))
	if a.status != 0 {
		return true
	}
	clear(a.w.Header())
	WriteError(a, r, errPanic)
	return false
}

// errPanic is an internal error like any other; its log line has been written.
var errPanic = internalError("panic")

type internalError string

func (e internalError) Error() string { return string(e) }

// hungUp is what the log calls the status of a failure that nobody read. No
// answer has it.
const hungUp = 499

// logged returns the status for the log. A caller who leaves makes handlers fail
// in the ways that cancelled work fails, which is no fault of ours.
func (a *answer) logged(r *http.Request) int {
	if a.status >= http.StatusInternalServerError && r.Context().Err() != nil && a.err != error(errPanic) {
		return hungUp
	}
	return a.status
}

func (a *answer) log(log *slog.Logger, r *http.Request, cut bool) {
	status := a.logged(r)
	level := slog.LevelInfo
	switch {
	case a.quiet && status < 400, status == hungUp:
		level = slog.LevelDebug
	case status == http.StatusInternalServerError:
		level = slog.LevelError
	case status == http.StatusServiceUnavailable: // told to those who ask; the part that is down logs why
		level = slog.LevelDebug
	case status > http.StatusInternalServerError:
		level = slog.LevelWarn
	}
	ctx := context.WithoutCancel(r.Context())
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("route", a.pattern), slog.String("method", method(r)), slog.Int("status", status),
		slog.Duration("took", time.Since(a.start)), slog.Int64("bytes", a.bytes), slog.String("request", a.id),
	}
	if cut {
		attrs = append(attrs, slog.Bool("cut", true))
	}
	if a.status >= 500 && a.err != nil && a.err != error(errPanic) {
		attrs = append(attrs, slog.String("err", causes(a.err)))
	}
	log.LogAttrs(ctx, level, "request", attrs...)
}

// causes is the text of err with the cause that an [ambry.Error] keeps to
// itself. Errors of callers are not logged: they may repeat what was sent.
func causes(err error) string {
	known, ok := errors.AsType[*ambry.Error](err)
	if !ok || known.Unwrap() == nil {
		return err.Error()
	}
	return err.Error() + ": " + known.Unwrap().Error()
}

// method is the request's, unless it is one that nobody knows: a caller must not
// write into our log.
func method(r *http.Request) string {
	switch r.Method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return r.Method
	}
	return "other"
}
