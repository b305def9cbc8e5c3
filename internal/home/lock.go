package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked is the error of [Acquire] when another process, or another part of
// this one, has the lock.
var ErrLocked = errors.New("locked by another process")

// retryLock is how long a process that waits for a lock leaves it alone.
const retryLock = 20 * time.Millisecond

// Lock is a lock held on an open file. What the file says means nothing: the
// system lets go of the lock when its process ends, however it ends. So a lock
// file that was left behind is never in the way, and is never removed.
type Lock struct{ file *flock.Flock }

// Acquire takes the lock at path, or answers [ErrLocked] at once.
func Acquire(path string) (*Lock, error) {
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := file.TryLock()
	if err == nil && !ok {
		err = ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{file}, nil
}

// AcquireWithin takes the lock at path as soon as it is free, or answers
// [ErrLocked] when ctx ends before that.
func AcquireWithin(ctx context.Context, path string) (*Lock, error) {
	for {
		l, err := Acquire(path)
		if !errors.Is(err, ErrLocked) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(retryLock):
		}
	}
}

// lettingGo is how long the lock of a process that was killed may outlive what can
// be seen of it: its threads end one after the other.
const lettingGo = time.Second

// AcquireSoon takes the lock at path for a start that may follow the end of
// another at once: [ErrLocked] means that somebody held it for a second.
func AcquireSoon(ctx context.Context, path string) (*Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lettingGo)
	defer cancel()
	return AcquireWithin(ctx, path)
}

// Release lets go of the lock. Releasing twice does no harm.
func (l *Lock) Release() error {
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("release %s: %w", l.file.Path(), err)
	}
	return nil
}
