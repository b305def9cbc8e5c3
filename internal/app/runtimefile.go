package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/home"
)

// newToken returns 32 random bytes as text.
func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func writeRuntimeFile(h home.Home, rt ambry.RuntimeFile) error {
	data, err := json.MarshalIndent(rt, "", "  ")
	if err != nil {
		return err
	}
	return home.WriteFile(h.RuntimeFile(), append(data, '\n'), 0o600)
}

// The times that a second start spends on the first one.
const (
	otherAnswers = 1500 * time.Millisecond
	otherStops   = 20 * time.Second
)

// claim takes the lock of the home. If another service holds it, that one is
// told to end (with replace) or is the error.
func claim(ctx context.Context, h home.Home, replace bool) (*home.Lock, error) {
	lock, rt, err := lockOrOther(ctx, h)
	if !errors.Is(err, home.ErrLocked) {
		return lock, err
	}
	if !replace {
		return nil, &RunningError{BaseURL: rt.BaseURL}
	}
	if rt.BaseURL == "" {
		return nil, fmt.Errorf("another ambry holds this home but does not answer; end it by hand")
	}
	if err := endProcess(rt.PID); err != nil {
		return nil, fmt.Errorf("end the running ambry (process %d): %w", rt.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, otherStops)
	defer cancel()
	return home.AcquireWithin(ctx, h.Lock())
}

// lockOrOther takes the lock of the home, or returns [home.ErrLocked] and the
// runtime file of the service that holds it, once that answers: it may be just
// starting. It may as well be just ending, and a process that was killed answers
// no more a while before the system lets go of its lock, so the lock is tried
// again all the time. No address means that there was neither in time.
func lockOrOther(ctx context.Context, h home.Home) (*home.Lock, ambry.RuntimeFile, error) {
	within, cancel := context.WithTimeout(ctx, otherAnswers)
	defer cancel()
	for {
		lock, err := home.Acquire(h.Lock())
		if !errors.Is(err, home.ErrLocked) {
			return lock, ambry.RuntimeFile{}, err
		}
		if c, rt, err := client.Find(within, h.Dir()); err == nil {
			c.Close()
			return nil, rt, home.ErrLocked
		}
		select {
		case <-within.Done():
			return nil, ambry.RuntimeFile{}, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// removeRuntimeFile takes the runtime file away, if it is there.
func removeRuntimeFile(h home.Home) error {
	if err := os.Remove(h.RuntimeFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
