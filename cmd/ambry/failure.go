package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// Exit codes, as root's help tells them.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// errSaid ends a command that has said already, in its answer, what is wrong.
var errSaid = errors.New("said already")

// usageError says that a command was called in a way that makes no sense.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// hinted is an error with what to do about it.
type hinted struct {
	error
	hints []string
}

// Unwrap returns the error without the hints.
func (h hinted) Unwrap() error { return h.error }

func withHint(err error, format string, args ...any) error {
	return hinted{err, []string{fmt.Sprintf(format, args...)}}
}

// failure is an error as programs read it, with the code that the API uses.
type failure struct {
	Code    ambry.Kind    `json:"code"`
	Message string        `json:"message"`
	Details []ambry.Field `json:"details,omitempty"`
	Hints   []string      `json:"hints"`
}

// finish says what went wrong, if something did, and returns the exit code.
func (p *program) finish(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errSaid) {
		return exitError
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(p.err, "ambry: interrupted")
		return exitInterrupted
	}
	f, code := describe(err), exitError
	if _, usage := errors.AsType[usageError](err); usage || !p.understood {
		f.Code, code = ambry.InvalidArgument, exitUsage
		f.Hints = append(f.Hints, `"ambry --help" shows how it is used`)
	}
	// Text that came from elsewhere is shown without what steers a terminal.
	fmt.Fprintf(p.err, "ambry: %s\n", ambry.Plain(f.Message))
	for _, d := range f.Details {
		fmt.Fprintf(p.err, "  %s: %s\n", ambry.Plain(d.Field), ambry.Plain(d.Message))
	}
	for _, h := range f.Hints {
		fmt.Fprintf(p.err, "hint: %s\n", h)
	}
	if p.json {
		if err := p.printJSON(map[string]failure{"error": f}); err != nil {
			return exitError
		}
	}
	return code
}

// describe finds out what a person has to know of err.
func describe(err error) failure {
	f := failure{Code: ambry.KindOf(err), Message: strings.TrimSpace(err.Error()), Hints: []string{}}
	known, fromService := errors.AsType[*ambry.Error](err)
	if fromService {
		f.Details = known.Details
	}
	if h, ok := errors.AsType[hinted](err); ok {
		f.Hints = append(f.Hints, h.hints...)
		return f
	}
	switch {
	case errors.Is(err, client.ErrNotRunning):
		f.Hints = append(f.Hints, `"ambry serve" starts it`)
	case f.Code == ambry.ScanNotPermitted:
		f.Hints = append(f.Hints, `"ambry scan --allow" permits Ambry to read the histories, and says what it will read`)
	case f.Code == ambry.SkillWriteNotPermitted:
		f.Hints = append(f.Hints, `"ambry connect AGENT --allow" permits it; with --dry-run it only shows what it would write`)
	case f.Code == ambry.Unauthorized:
		f.Hints = append(f.Hints, "the service was restarted meanwhile; try again")
	case fromService && f.Code.Status() >= 500:
		f.Hints = append(f.Hints, `"ambry doctor" looks for the cause`)
	}
	return f
}
