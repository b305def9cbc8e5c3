package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Post sends in as JSON to a path below the base address, and reads the answer
// into out.
func (a Access) Post(ctx context.Context, path string, header http.Header, in, out any) error {
	return a.try(ctx, path, header, in, func(r io.Reader, _ string) (bool, error) {
		body, err := io.ReadAll(r)
		if err != nil {
			return false, err
		}
		if complains(body) {
			return false, &Failure{Reason: Refused, Status: http.StatusOK, Says: Complaint(body, a.Key)}
		}
		if json.Unmarshal(body, out) != nil {
			return false, &Failure{Reason: NotAModel, Status: http.StatusOK}
		}
		return false, nil
	})
}

// complains reports whether an answer that should be good is an error: some
// providers give the status 200 to those too.
func complains(body []byte) bool {
	var said struct {
		Error    json.RawMessage `json:"error"`
		BaseResp struct {
			Code int `json:"status_code"`
		} `json:"base_resp"`
	}
	_ = json.Unmarshal(body, &said) // what is no JSON complains of nothing
	return said.BaseResp.Code != 0 || len(said.Error) > 0 && string(said.Error) != "null"
}

// Frames are the parts of an answer that comes piece by piece, each of them
// JSON. A provider that was asked for parts may answer in one.
type Frames func(r io.Reader, each func(data []byte) error) error

// errStop is what a reader of parts returns when it has seen the last one.
var errStop = errors.New("the last part was read")

// Done is the error by which each of [Access.Stream] says that it needs no more.
func Done() error { return errStop }

// Stream sends in as JSON to a path below the base address, and calls each with
// the parts of the answer. It fails with [CutOff] if they end before each has
// returned [Done]. begun says whether each has passed something on, after which
// the call is not repeated.
func (a Access) Stream(ctx context.Context, path string, header http.Header, in any, frames Frames, begun func() bool, each func(data []byte) error) error {
	return a.try(ctx, path, header, in, func(r io.Reader, contentType string) (bool, error) {
		parts := frames
		if strings.HasPrefix(contentType, "application/json") {
			parts = whole
		}
		err := parts(r, func(data []byte) error {
			if complains(data) {
				return &Failure{Reason: Broken, Status: http.StatusOK, Says: Complaint(data, a.Key)}
			}
			return each(data)
		})
		switch {
		case errors.Is(err, errStop):
			return begun(), nil
		case err == nil:
			err = &Failure{Reason: CutOff, cause: io.ErrUnexpectedEOF}
		}
		return begun(), err
	})
}

// whole reads an answer that did not come in parts, or comes as lines all the
// same.
func whole(r io.Reader, each func([]byte) error) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if !json.Valid(data) {
		return Lines(bytes.NewReader(data), each)
	}
	return each(data)
}

// answerReader reads the body of a good answer. passed says whether somebody
// has been given of it, so that the call cannot be repeated.
type answerReader func(body io.Reader, contentType string) (passed bool, err error)

// try makes the call, again if that can help.
func (a Access) try(ctx context.Context, path string, header http.Header, in any, read answerReader) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	limits := a.Limits.withDefaults()
	for n := 1; ; n++ {
		passed, err := a.once(ctx, path, header, data, limits, read)
		f, failed := errors.AsType[*Failure](err)
		if !failed || passed || !f.passing() || n >= limits.Attempts || ctx.Err() != nil {
			return err
		}
		pause := limits.Pause << (n - 1)
		pause = min(pause/2+rand.N(pause/2+1), limits.MaxPause) //nolint:gosec // jitter is no secret
		if f.RetryAfter > limits.MaxPause {
			return err
		}
		if wait(ctx, max(pause, f.RetryAfter)) != nil {
			return err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// errIdle is the cause of a call that ended because nothing came for too long.
var errIdle = errors.New("nothing came for too long")

// once makes the call.
func (a Access) once(ctx context.Context, path string, header http.Header, data []byte, limits Limits, read answerReader) (passed bool, err error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(limits.Idle, func() { cancel(errIdle) })
	defer idle.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(a.BaseURL, "/")+path, bytes.NewReader(data))
	if err != nil {
		return false, &Failure{Reason: Forbidden, cause: err}
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ambry")
	resp, err := a.HTTP.Do(req)
	if err != nil {
		return false, broken(outer, ctx, err)
	}
	defer resp.Body.Close()
	body := &boundedReader{r: resp.Body, left: limits.MaxBytes, idle: idle, wait: limits.Idle}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what there is of it
		return false, statusFailure(resp.StatusCode, resp.Header, text, a.Key)
	}
	passed, err = read(body, resp.Header.Get("Content-Type"))
	if _, known := errors.AsType[*Failure](err); err != nil && !known && body.err != nil && errors.Is(err, body.err) {
		err = broken(outer, ctx, err)
	}
	return passed, err
}

// maxErrorBody is how much of an error is read.
const maxErrorBody = 64 << 10

// broken is the failure of a call that got no answer, or not all of it.
func broken(outer, ctx context.Context, err error) error {
	switch {
	case outer.Err() != nil:
		if errors.Is(outer.Err(), context.Canceled) {
			return outer.Err()
		}
		return &Failure{Reason: TimedOut, cause: outer.Err()}
	case errors.Is(context.Cause(ctx), errIdle):
		return &Failure{Reason: TimedOut, cause: errIdle}
	case errors.Is(err, errTooBig):
		return &Failure{Reason: TooBig, cause: err}
	case errors.Is(err, ErrForbidden):
		return &Failure{Reason: Forbidden, cause: err}
	case errors.Is(err, ErrLocalOnly):
		return &Failure{Reason: LocalOnly, cause: err}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Failure{Reason: CutOff, cause: err}
	}
	return &Failure{Reason: Unreachable, cause: err}
}

var errTooBig = errors.New("more than is read of an answer")

// boundedReader reads so much at most, and lets the time begin anew with all
// that comes.
type boundedReader struct {
	r    io.Reader
	left int64
	idle *time.Timer
	wait time.Duration
	err  error // what ended it, but for the end
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.err = errTooBig
		return 0, b.err
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	if n > 0 {
		b.idle.Reset(b.wait)
	}
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// retryAfter is the pause that an answer asks for, 0 if it does not.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
