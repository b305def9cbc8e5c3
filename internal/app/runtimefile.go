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
	lock, err := home.Acquire(h.Lock())
	if !errors.Is(err, home.ErrLocked) {
		return lock, err
	}
	rt := waitForOther(ctx, h)
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

// waitForOther returns the runtime file of the service that holds the lock,
// once that service answers; it may be just starting. The zero value means that
// it did not answer in time.
func waitForOther(ctx context.Context, h home.Home) ambry.RuntimeFile {
	ctx, cancel := context.WithTimeout(ctx, otherAnswers)
	defer cancel()
	for {
		if c, rt, err := client.Find(ctx, h.Dir()); err == nil {
			c.Close()
			return rt
		}
		select {
		case <-ctx.Done():
			return ambry.RuntimeFile{}
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
