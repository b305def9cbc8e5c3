package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ambry.dev/ambry"
)

type humaAPI = huma.API

// adjustHuma sets the three knobs that huma has as package variables. Nothing
// else in the program uses huma, and it must happen before the first request.
var adjustHuma = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.NewErrorWithContext = problemOf
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return problemOf(nil, status, msg, errs...)
	}
})

func newTable(cfg Config) *table {
	adjustHuma()
	t := &table{cfg: cfg, mux: http.NewServeMux(), endpoints: map[string]*endpoint{}}
	t.mux.HandleFunc("/", notFound)
	format := huma.Format{Marshal: marshal, Unmarshal: unmarshal}
	t.api = huma.NewAPI(huma.Config{
		OpenAPI:       newOpenAPI(cfg),
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
	}, adapter{t})
	return t
}

// routeKey is where an operation keeps its route among huma's metadata.
const routeKey = "route"

// adapter lets huma register its operations in our table instead of a mux, so
// that a wrong method is found after the path, with our error and Allow.
type adapter struct{ *table }

func (a adapter) Handle(op *huma.Operation, handle func(huma.Context)) {
	repeatable := map[string]bool{}
	for _, p := range op.Parameters {
		repeatable[p.Name] = p.In == "query" && p.Explode != nil && *p.Explode
	}
	a.handle(op.Metadata[routeKey].(*Route), op.Method, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkQuery(r.URL.RawQuery, repeatable); err != nil {
			WriteError(w, r, err)
			return
		}
		pending := &pendingAnswer{w: w}
		handle(humago.NewContext(op, r, pending))
		pending.begin()
	}))
}

func (a adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// checkQuery refuses what one reader of a query would see otherwise than
// another: broken escapes, semicolons, a parameter twice.
func checkQuery(raw string, repeatable map[string]bool) error {
	if raw == "" {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return ambry.InvalidArgument.Errorf("the query is not well-formed")
	}
	for name, values := range query {
		if len(values) > 1 && !repeatable[name] {
			return invalidField("query."+clip(name), "given more than once")
		}
	}
	return nil
}

func invalidField(field, message string) error {
	return &ambry.Error{
		Kind: ambry.InvalidArgument, Message: field + ": " + message,
		Details: []ambry.Field{{Field: field, Message: message}},
	}
}

// operation is the route as huma wants it. The guard has read the body, within
// its limit and in time, so huma is told to mind neither: its own time limit
// would end the request's context with it.
func (r *Route) operation(cfg Config) huma.Operation {
	op := r.documented(r.methods[0], cfg)
	op.DefaultStatus = r.status
	op.BodyReadTimeout = -1
	op.MaxBodyBytes = -1
	op.Metadata = map[string]any{routeKey: r}
	return op
}

// pendingAnswer keeps the status until there is something of the body: huma says
// it before, and by then no header can be added that tells the length.
type pendingAnswer struct {
	w      http.ResponseWriter
	status int // 0 when it was sent, or when there is none
}

func (p *pendingAnswer) Header() http.Header { return p.w.Header() }

func (p *pendingAnswer) WriteHeader(status int) { p.status = status }

// begin sends the status.
func (p *pendingAnswer) begin() {
	if status := p.status; status != 0 {
		p.status = 0
		p.w.WriteHeader(status)
	}
}

func (p *pendingAnswer) Write(data []byte) (int, error) {
	p.begin()
	return p.w.Write(data)
}

// FlushError is for [http.ResponseController].
func (p *pendingAnswer) FlushError() error {
	p.begin()
	return http.NewResponseController(p.w).Flush()
}

// Unwrap lets [http.ResponseController] reach the connection.
func (p *pendingAnswer) Unwrap() http.ResponseWriter { return p.w }

// encoded are buffers for answers.
var encoded = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// maxEncoded bounds the buffers that are kept.
const maxEncoded = 64 << 10

// marshal encodes before it writes, so that an error is one of encoding, and
// whoever reads the answer knows how long it is. A caller who is gone needs none.
func marshal(w io.Writer, v any) error {
	data := encoded.Get().(*bytes.Buffer)
	data.Reset()
	encoder := json.NewEncoder(data)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	if p, ok := w.(*pendingAnswer); ok && p.status != 0 {
		p.Header().Set("Content-Length", strconv.Itoa(data.Len()))
	}
	_, _ = w.Write(data.Bytes())
	if data.Cap() <= maxEncoded {
		encoded.Put(data)
	}
	return nil
}

func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("%s cannot be a %s like this", wrong.Field, wrong.Value)
	}
	if err != nil {
		return errors.New("a value does not have the form it must have")
	}
	return nil
}

// problemOf makes our problem document of what went wrong within huma, or in a
// handler: huma calls that an unexpected error with one cause.
func problemOf(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
	var a *answer
	if ctx != nil {
		_, w := humago.Unwrap(ctx)
		a = answerOf(w)
	}
	if a == nil {
		a = &answer{}
	}
	err := refusal(status, msg, errs)
	a.err = err
	p, headers := describe(err, a.id)
	for name, value := range headers {
		a.Header().Set(name, value)
	}
	return p
}

const maxDetails = 100

func refusal(status int, msg string, errs []error) error {
	if status >= http.StatusInternalServerError && len(errs) == 1 {
		return errs[0]
	}
	if status >= http.StatusInternalServerError {
		return errors.New(msg)
	}
	e := &ambry.Error{Kind: kindOf(status), Message: msg}
	for _, err := range errs[:min(len(errs), maxDetails)] {
		e.Details = append(e.Details, field(err))
	}
	if len(errs) > 0 {
		e.Message = e.Details[0].Field + ": " + e.Details[0].Message
	}
	if len(errs) > 1 {
		e.Message += fmt.Sprintf(" (and %d more; see details)", len(errs)-1)
	}
	return e
}

// kindOf is the kind for a status of huma's; it answers 422 where the API says 400.
func kindOf(status int) ambry.Kind {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return ambry.PayloadTooLarge
	case http.StatusUnsupportedMediaType:
		return ambry.UnsupportedMediaType
	}
	return ambry.InvalidArgument
}

// field names what is wrong, without repeating the value: it may be a secret.
func field(err error) ambry.Field {
	detailer, ok := err.(huma.ErrorDetailer)
	if !ok {
		return ambry.Field{Field: "body", Message: err.Error()}
	}
	d := detailer.ErrorDetail()
	f := ambry.Field{Field: clip(d.Location), Message: d.Message}
	if name, ok := strings.CutPrefix(d.Message, "expected required property "); ok {
		if name, ok := strings.CutSuffix(name, " to be present"); ok {
			return ambry.Field{Field: f.Field + "." + name, Message: "is required"}
		}
	}
	return f
}

func clip(s string) string {
	if len(s) <= 128 {
		return s
	}
	return strings.ToValidUTF8(s[:128], "") + "…"
}
