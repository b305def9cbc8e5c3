package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"ambry.dev/ambry"
)

// problemType is the media type of every failure, from RFC 9457.
const problemType = "application/problem+json"

const internalMessage = "something went wrong inside; the log has the cause under this request id"

// problem is an answer of failure, from RFC 9457, with our code and details.
type problem struct {
	_      struct{}     `additionalProperties:"true"`
	Type   string       `json:"type" doc:"Always about:blank; error.code says what it is"`
	Title  string       `json:"title" doc:"Name of the status"`
	Status int          `json:"status"`
	Detail string       `json:"detail" doc:"What is wrong and what to do about it, for people"`
	Fault  problemFault `json:"error"`

	extra map[string]any
}

type problemFault struct {
	Code      ambry.Kind    `json:"code" doc:"What is wrong, for programs" enum:"invalid_argument,verification_failed,unauthorized,forbidden,scan_not_permitted,skill_write_not_permitted,not_found,method_not_allowed,conflict,agent_source_unavailable,gone,payload_too_large,unsupported_media_type,rate_limited,internal,upstream_failed,memory_unavailable,delivery_unavailable,memory_timeout,storage_full"`
	Message   string        `json:"message" doc:"The same as detail"`
	RequestID string        `json:"requestId" doc:"The log has more under this id"`
	Details   []ambry.Field `json:"details,omitempty" doc:"Every field that is wrong"`
}

// Error, GetStatus and ContentType make it an error of huma's.
func (p *problem) Error() string { return p.Detail }

func (p *problem) GetStatus() int { return p.Status }

func (p *problem) ContentType(string) string { return problemType }

// MarshalJSON puts the extra members beside the others.
func (p *problem) MarshalJSON() ([]byte, error) {
	type plain problem
	data, err := json.Marshal((*plain)(p))
	if err != nil || len(p.extra) == 0 {
		return data, err
	}
	members := map[string]any{}
	for name, value := range p.extra {
		switch name {
		case "type", "title", "status", "detail", "error":
		default:
			members[name] = value
		}
	}
	more, err := json.Marshal(members)
	if err != nil || len(members) == 0 {
		return data, err
	}
	return append(append(data[:len(data)-1], ','), more[1:]...), nil
}

// describe makes the problem document of err, and the headers that go with it.
// An error without a kind is internal, and shows nothing of itself.
func describe(err error, requestID string) (*problem, map[string]string) {
	e := &ambry.Error{Kind: ambry.Internal}
	if known, ok := errors.AsType[*ambry.Error](err); ok && known.Kind.Valid() {
		e = known
	} else if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		e = tooLarge(big.Limit)
	}
	message := e.Message
	if e.Kind == ambry.Internal {
		message = internalMessage
	}
	status := e.Kind.Status()
	p := &problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: message,
		Fault: problemFault{Code: e.Kind, Message: message, RequestID: requestID, Details: e.Details},
		extra: e.Extra,
	}
	if e.RetryAfter > 0 {
		return p, map[string]string{"Retry-After": strconv.Itoa(e.RetryAfter)}
	}
	return p, nil
}

func tooLarge(limit int64) *ambry.Error {
	return &ambry.Error{
		Kind:    ambry.PayloadTooLarge,
		Message: "the body is larger than " + strconv.FormatInt(limit, 10) + " bytes",
	}
}

// WriteError answers err as a problem document: with the status of its kind,
// its details, extra members and Retry-After. The cause of an internal error
// goes to the log only. If the answer has begun already, the connection is cut
// instead, so that half an answer does not pass as whole.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	a := answerOf(w)
	if a == nil {
		a = newAnswer(w, r)
	}
	a.err = err
	if a.status != 0 {
		panic(http.ErrAbortHandler)
	}
	p, headers := describe(err, a.id)
	data, jsonErr := json.Marshal(p)
	if jsonErr != nil {
		p.extra = nil
		data, _ = json.Marshal(p)
	}
	h := a.Header()
	for name, value := range headers {
		h.Set(name, value)
	}
	h.Set("Content-Type", problemType)
	h.Set("Content-Length", strconv.Itoa(len(data)+1))
	a.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = a.Write(append(data, '\n')) // a caller who is gone needs no answer
	}
}
