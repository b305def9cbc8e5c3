package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"

	"ambry.dev/ambry"
)

// The services under which a keychain has entries: those of people, which
// references name, apart from our own, which nobody can name.
const (
	PersonService = "ambry"
	ownService    = "ambry service"
)

// keychainWait is how long the system may take. A keychain that is locked asks
// the person, who may not be there.
const keychainWait = 5 * time.Second

// system is the keychain of the system: that of macOS, the credentials of
// Windows, or the Secret Service of a Linux desktop.
type system struct {
	service string
	// turn lets one call in at a time. One that hangs for good keeps it, so that
	// no more than one ever hangs.
	turn chan struct{}
	wait time.Duration
}

// System returns the keychain for our own secrets and the one that references
// reach, or false if this system has none.
func System(getenv func(string) string) (own, persons Keychain, ok bool) {
	if !hasKeychain(getenv) {
		return nil, nil, false
	}
	turn := make(chan struct{}, 1)
	return system{ownService, turn, keychainWait}, system{PersonService, turn, keychainWait}, true
}

// hasKeychain reports whether there could be one. On Linux it is reached over
// the bus of the session. Without that the library would start a bus.
func hasKeychain(getenv func(string) string) bool {
	if getenv == nil {
		return false
	}
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	if getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil
}

// Works reports why a keychain cannot be used, by putting something into it
// and taking it out again.
func Works(ctx context.Context, k Keychain) error {
	id, value := "probe-"+newID(), newID()
	if err := k.Set(ctx, id, value); err != nil {
		return err
	}
	got, err := k.Get(ctx, id)
	if err == nil && got != value {
		err = errors.New("it gives back something else")
	}
	return errors.Join(err, k.Delete(ctx, id))
}

// Set puts a secret into the keychain.
func (k system) Set(ctx context.Context, id, value string) error {
	_, err := k.call(ctx, func() (string, error) { return "", keyring.Set(k.service, id, value) })
	return err
}

// Get returns a secret, or [ambry.NotFound].
func (k system) Get(ctx context.Context, id string) (string, error) {
	value, err := k.call(ctx, func() (string, error) { return keyring.Get(k.service, id) })
	if errors.Is(err, keyring.ErrNotFound) {
		return "", ambry.NotFound.Errorf("the keychain has no such entry: %w", err)
	}
	return value, err
}

// Delete takes a secret out.
func (k system) Delete(ctx context.Context, id string) error {
	_, err := k.call(ctx, func() (string, error) { return "", keyring.Delete(k.service, id) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// call calls the library, which knows no context, and waits for it only so long.
func (k system) call(ctx context.Context, f func() (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, k.wait)
	defer cancel()
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("the keychain is busy: %w", ctx.Err())
	}
	type result struct {
		value string
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		<-k.turn
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return "", fmt.Errorf("the keychain does not answer: %w", ctx.Err())
	}
}
