package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// Reason is why a call failed.
type Reason string

// The reasons. The text of each is for people.
const (
	Forbidden   Reason = "this address may never be called"
	LocalOnly   Reason = "local-only mode is on: no other machine is called"
	Unreachable Reason = "nobody answers at this address"
	TimedOut    Reason = "the answer takes too long"
	Redirected  Reason = "the address redirects to another one, which is not followed; set the final address"
	KeyRefused  Reason = "the key is refused"
	NotFound    Reason = "there is no such model, or the address is not that of the API"
	RateLimited Reason = "the provider asks to slow down"
	Spent       Reason = "the account has no credit left"
	Refused     Reason = "the request is refused"
	Broken      Reason = "the provider has a fault"
	NotAModel   Reason = "the answer is not that of a model; check the address"
	TooBig      Reason = "the answer is too big"
	CutOff      Reason = "the answer breaks off"
)

// The causes that a transport names when it may not connect.
var (
	ErrForbidden = errors.New("an address that may never be called")
	ErrLocalOnly = errors.New("an address of another machine, in local-only mode")
)

// Failure is a call that failed. It never holds the key.
type Failure struct {
	Reason     Reason
	Status     int           // of HTTP, 0 if there was none
	Says       string        // what the provider says about it: one line, at most 200 characters
	RetryAfter time.Duration // what the provider asks for

	cause error
}

// Error is for people.
func (f *Failure) Error() string {
	text := string(f.Reason)
	if f.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", f.Status)
	}
	if f.Says != "" {
		text += ": " + f.Says
	}
	return text
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.cause }

// passing reports whether the same call may succeed in a while.
func (f *Failure) passing() bool {
	switch f.Reason {
	case RateLimited, Broken, CutOff:
		return true
	case Unreachable:
		return !errors.Is(f.cause, context.Canceled)
	}
	return false
}

// statusFailure is the failure of an answer that is not a good one.
func statusFailure(status int, header http.Header, body []byte, key string) *Failure {
	f := &Failure{Status: status, Says: Complaint(body, key), RetryAfter: retryAfter(header, time.Now())}
	switch {
	case status >= 300 && status < 400:
		return &Failure{Reason: Redirected, Status: status}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.Reason = KeyRefused
	case status == http.StatusPaymentRequired, status == http.StatusTooManyRequests && spent(body):
		f.Reason = Spent
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		f.Reason = NotFound
	case status == http.StatusTooManyRequests:
		f.Reason = RateLimited
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		f.Reason = Broken
	default:
		f.Reason = Refused
	}
	return f
}

// spent reports whether an answer that looks like "slow down" means "pay".
func spent(body []byte) bool {
	text := strings.ToLower(string(body))
	for _, word := range []string{"insufficient_quota", "insufficient balance", "billing"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// Complaint returns what an answer in JSON says that is wrong, "" if it does not
// say so in a way that providers do. The key is taken out. Nothing else of an
// answer is shown to anybody: the address may be one that is not a model.
func Complaint(body []byte, key string) string {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0] // as Google answers streams
	}
	var said struct {
		Error    json.RawMessage `json:"error"`
		Message  any             `json:"message"`
		ErrorMsg any             `json:"error_msg"`
		BaseResp struct {
			Code int    `json:"status_code"`
			Msg  string `json:"status_msg"`
		} `json:"base_resp"`
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	var plain string
	_ = json.Unmarshal(said.Error, &inner) // one of the two fits, or none
	_ = json.Unmarshal(said.Error, &plain)
	texts := []any{inner.Message, plain, said.Message, said.ErrorMsg}
	if said.BaseResp.Code != 0 {
		texts = append(texts, said.BaseResp.Msg)
	}
	for _, t := range texts {
		if text, ok := t.(string); ok && text != "" {
			return clean(text, key)
		}
	}
	return ""
}

const maxComplaint = 200

// clean makes one short line of a text, without the key.
func clean(text, key string) string {
	if key != "" {
		text = strings.ReplaceAll(text, key, "***")
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxComplaint {
		runes = append(runes[:maxComplaint-1], '…')
	}
	return string(runes)
}
