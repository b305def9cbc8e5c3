package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"ambry.dev/ambry"
)

const (
	jsonType  = "application/json"
	linesType = "application/x-ndjson"
)

// readWait is how long a body that is read as it comes may pause.
const readWait = 30 * time.Second

// takeBody reads and checks the body as the route wants it, so that the handler
// meets one that is whole, in time, within its limit, and JSON beyond doubt.
func (op *operation) takeBody(a *answer, r *http.Request) error {
	if r.ContentLength == 0 && !op.claimsJSON(r) {
		return nil
	}
	if encoding := r.Header.Values("Content-Encoding"); len(encoding) > 0 && !(len(encoding) == 1 && encoding[0] == "identity") {
		return ambry.UnsupportedMediaType.Errorf("send the body without a Content-Encoding")
	}
	lines, err := op.mediaType(r.Header["Content-Type"])
	if err != nil {
		return err
	}
	if lines {
		control := http.NewResponseController(a)
		_ = control.EnableFullDuplex() // the answer may begin, or refuse, before the last line
		r.Body = &patientBody{ReadCloser: r.Body, control: control}
		return nil
	}
	data, err := op.readBody(a, r)
	if err != nil {
		return err
	}
	if err := op.checkBody(data); err != nil {
		return err
	}
	r.ContentLength, r.TransferEncoding = int64(len(data)), nil
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	r.Body, _ = r.GetBody()
	if len(data) > 0 {
		r.Header["Content-Type"] = []string{jsonType} // in the one spelling that huma knows
	}
	return nil
}

// claimsJSON holds for a write through the proxy that says it has a JSON body
// and has none. The runtime would refuse it; here nobody needs to be asked.
func (op *operation) claimsJSON(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return op.route.intake == intakeAny && r.Header.Get("Content-Type") != ""
	}
	return false
}

// mediaType reports whether the body is lines of JSON; otherwise it is JSON.
func (op *operation) mediaType(values []string) (lines bool, err error) {
	want := jsonType
	if op.route.intake == intakeLines {
		want = linesType
	}
	if len(values) == 1 {
		kind, params, err := mime.ParseMediaType(values[0])
		charset, given := params["charset"]
		switch {
		case err != nil, given && !strings.EqualFold(charset, "utf-8"):
		case kind == linesType && op.route.intake >= intakeLines:
			return true, nil
		case kind == jsonType && op.route.intake != intakeLines:
			return false, nil
		}
	}
	return false, ambry.UnsupportedMediaType.Errorf("the body must be %s in UTF-8", want)
}

func (op *operation) readBody(a *answer, r *http.Request) ([]byte, error) {
	limit := op.route.maxBody
	if limit == 0 {
		limit = DefaultMaxBody
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	var data bytes.Buffer
	// The length is a claim; memory is given as bytes arrive.
	data.Grow(int(min(max(r.ContentLength, 0)+bytes.MinRead, 64<<10)))
	_, err := data.ReadFrom(http.MaxBytesReader(a.w, r.Body, limit))
	if err == nil {
		return data.Bytes(), nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, ambry.InvalidArgument.Errorf("the body did not arrive in time")
	}
	return nil, ambry.InvalidArgument.Errorf("the body ended early or is not framed as HTTP says")
}

func (op *operation) checkBody(data []byte) error {
	if len(data) == 0 && op.route.intake == intakeJSON {
		return nil // whether there must be one, the schema knows
	}
	if err := CheckJSON(data); err != nil {
		return invalidField("body", err.Error())
	}
	text := bytes.TrimSpace(data)
	if string(text) == "null" {
		return invalidField("body", "is null")
	}
	if op.route.intake == intakeNothing && !emptyObject(text) {
		return invalidField("body", "this route takes none")
	}
	if op.route.intake == intakeAny && text[0] != '{' {
		return invalidField("body", "is no object")
	}
	return nil
}

func emptyObject(text []byte) bool {
	return len(text) >= 2 && text[0] == '{' && len(bytes.TrimSpace(text[1:])) == 1
}

// patientBody gives each read the time that is otherwise given to a whole body.
type patientBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(readWait))
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		// What is left of the deadline would end the request's context.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// extendTime lifts the deadlines that a connection has for one short request.
// Without it the read deadline would end the context of a handler that works
// for longer, though the body is there.
func (op *operation) extendTime(a *answer, r *http.Request) (*http.Request, func()) {
	control := http.NewResponseController(a.w)
	if _, streaming := r.Body.(*patientBody); !streaming {
		_ = control.SetReadDeadline(time.Time{})
	}
	if !op.route.stream {
		a.rolling = true
		return r, func() {}
	}
	_ = control.SetWriteDeadline(time.Time{})
	ctx, stop := context.WithCancel(r.Context())
	release := context.AfterFunc(draining(ctx), stop)
	return r.WithContext(ctx), func() { release(); stop() }
}
