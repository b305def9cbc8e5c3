package channel

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"ambry.dev/ambry"
)

// Library is a client for libraries that bring their own requests. As with
// [Access.Ask], what is read has an end, and what fails names the host alone.
// How long it may take is up to the context.
func (a Access) Library() Library { return Library{a.HTTP} }

// Library is what [Access.Library] returns.
type Library struct{ client *http.Client }

// Do asks.
func (l Library) Do(r *http.Request) (*http.Response, error) {
	answer, err := l.client.Do(r)
	if err != nil {
		return nil, Unreachable(r.URL.Host, err)
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	return answer, nil
}

// tries is how often a message is sent that a service does not want yet, and
// maxPatience what is waited for between.
const (
	tries       = 4
	maxPatience = time.Minute
)

// Later is the error of a service that wants to be asked again after a while.
func Later(service string, wait time.Duration) error {
	return &ambry.Error{
		Kind: ambry.UpstreamFailed, Message: service + " asks to slow down",
		RetryAfter: max(1, int(math.Ceil(min(wait.Seconds(), math.MaxInt32)))),
	}
}

// Patiently tries something, and again after what [Later] says, a few times.
func Patiently(ctx context.Context, try func(context.Context) error) error {
	for n := 1; ; n++ {
		err := try(ctx)
		e, ok := errors.AsType[*ambry.Error](err)
		if !ok || e.RetryAfter == 0 || n == tries {
			return err
		}
		wait := time.Duration(e.RetryAfter) * time.Second
		if wait > maxPatience {
			return err
		}
		if Pause(ctx, wait) != nil {
			return err
		}
	}
}
