package ambry

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says what a caller can do about an error. It is the closed list of
// error codes of the API; an error without a kind is [Internal].
type Kind string

// The kinds of error, with the HTTP status each one has at the edge.
const (
	InvalidArgument        Kind = "invalid_argument"          // 400
	VerificationFailed     Kind = "verification_failed"       // 400
	Unauthorized           Kind = "unauthorized"              // 401
	Forbidden              Kind = "forbidden"                 // 403
	ScanNotPermitted       Kind = "scan_not_permitted"        // 403
	SkillWriteNotPermitted Kind = "skill_write_not_permitted" // 403
	NotFound               Kind = "not_found"                 // 404
	MethodNotAllowed       Kind = "method_not_allowed"        // 405
	Conflict               Kind = "conflict"                  // 409
	AgentSourceUnavailable Kind = "agent_source_unavailable"  // 409
	Gone                   Kind = "gone"                      // 410
	PayloadTooLarge        Kind = "payload_too_large"         // 413
	UnsupportedMediaType   Kind = "unsupported_media_type"    // 415
	RateLimited            Kind = "rate_limited"              // 429
	Internal               Kind = "internal"                  // 500
	UpstreamFailed         Kind = "upstream_failed"           // 502
	MemoryUnavailable      Kind = "memory_unavailable"        // 503
	DeliveryUnavailable    Kind = "delivery_unavailable"      // 503
	MemoryTimeout          Kind = "memory_timeout"            // 504
	StorageFull            Kind = "storage_full"              // 507
)

var statuses = map[Kind]int{
	InvalidArgument: 400, VerificationFailed: 400,
	Unauthorized: 401,
	Forbidden:    403, ScanNotPermitted: 403, SkillWriteNotPermitted: 403,
	NotFound: 404, MethodNotAllowed: 405,
	Conflict: 409, AgentSourceUnavailable: 409,
	Gone: 410, PayloadTooLarge: 413, UnsupportedMediaType: 415, RateLimited: 429,
	Internal: 500, UpstreamFailed: 502,
	MemoryUnavailable: 503, DeliveryUnavailable: 503,
	MemoryTimeout: 504, StorageFull: 507,
}

// Status returns the HTTP status of the kind, 500 for an unknown one.
func (k Kind) Status() int {
	if s, ok := statuses[k]; ok {
		return s
	}
	return 500
}

// Valid reports whether k is one of the listed kinds.
func (k Kind) Valid() bool { _, ok := statuses[k]; return ok }

// Errorf makes an error of kind k. The text is for people: what is wrong and
// what to do about it. A ": %w" at its end wraps a cause, which stays out of the
// message that leaves the process.
func (k Kind) Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	cause, message := errors.Unwrap(err), err.Error()
	if cause != nil {
		message = strings.TrimSuffix(message, ": "+cause.Error())
	}
	return &Error{Kind: k, Message: message, cause: cause}
}

// Wrap makes an error of kind k that shows message and keeps cause for the log.
func (k Kind) Wrap(cause error, message string) error {
	return &Error{Kind: k, Message: message, cause: cause}
}

// Field is one thing that is wrong with a request: where, and why.
type Field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is an error that a caller can act on.
type Error struct {
	Kind    Kind
	Message string
	Details []Field

	// Extra holds the members that a problem document shows beside the standard
	// ones, such as the jobId of a scan that is in the way.
	Extra map[string]any

	// RetryAfter is in seconds; 0 means the caller is told nothing.
	RetryAfter int

	cause error
}

// Error returns the message, without the cause.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of the first [Error] in err's chain, else [Internal].
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}
