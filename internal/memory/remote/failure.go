package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"

	"ambry.dev/ambry"
)

// broken reports whether err is about a connection, and not that something took
// too long or could not be encoded.
func broken(err error) bool {
	if _, ok := errors.AsType[encodingError](err); ok {
		return false
	}
	timeout, isNet := errors.AsType[net.Error](err)
	return !isNet || !timeout.Timeout()
}

// unreachable is the error of a request that got no answer, or half of one.
func unreachable(ctx context.Context, err error) error {
	if encoding, ok := errors.AsType[encodingError](err); ok {
		return encoding
	}
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("ask the memory: %w", context.Cause(ctx))
	case ctx.Err() != nil, isNet && timeout.Timeout():
		return ambry.MemoryTimeout.Wrap(err, "the memory did not answer in time; try again")
	}
	return ambry.MemoryUnavailable.Wrap(err, `the memory does not answer; see "ambry doctor"`)
}

// foreign is the error of an answer that no memory of ours gives.
func foreign(cause error) error {
	return ambry.UpstreamFailed.Wrap(cause, `the memory does not answer as it should; see "ambry doctor"`)
}

// problem is the error that an answer of failure tells of, as RFC 9457 and
// package web write it.
func problem(ctx context.Context, res *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	if err != nil {
		return unreachable(ctx, err)
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	var told struct {
		Fault struct {
			Code    ambry.Kind    `json:"code"`
			Message string        `json:"message"`
			Details []ambry.Field `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &told); err != nil || kind != "application/problem+json" || !told.Fault.Code.Valid() {
		return foreign(fmt.Errorf("it answers %s", res.Status))
	}
	if told.Fault.Code == ambry.Unauthorized {
		return foreign(errors.New("it refuses our token")) // ours, not the caller's
	}
	e := &ambry.Error{Kind: told.Fault.Code, Message: told.Fault.Message, Details: told.Fault.Details}
	e.RetryAfter, _ = strconv.Atoi(res.Header.Get("Retry-After"))
	e.Extra = extra(data)
	return e
}

// extra returns the members of a problem document beyond those that all have.
func extra(data []byte) map[string]any {
	var members map[string]any
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	for _, name := range []string{"type", "title", "status", "detail", "error", "$schema"} {
		delete(members, name)
	}
	if len(members) == 0 {
		return nil
	}
	return members
}
