package channel

import (
	"context"
	"sync"

	"ambry.dev/ambry"
)

// Line is what a running link sends on: once it is cut, nothing goes out any
// more. The zero value is one that is not cut.
type Line struct {
	mu    sync.Mutex
	cut   bool
	last  int
	stop  map[int]context.CancelFunc // of what is being sent
	sends sync.WaitGroup
}

// Send runs send with a context that ends when the line is cut.
func (l *Line) Send(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.mu.Lock()
	if l.cut {
		l.mu.Unlock()
		return ambry.UpstreamFailed.Errorf("the connection has ended")
	}
	if l.stop == nil {
		l.stop = map[int]context.CancelFunc{}
	}
	l.last++
	mine := l.last
	l.stop[mine] = cancel
	l.sends.Add(1)
	l.mu.Unlock()
	defer l.sends.Done()
	defer func() {
		l.mu.Lock()
		delete(l.stop, mine)
		l.mu.Unlock()
	}()
	return send(ctx)
}

// Cut ends what is being sent, and waits for it.
func (l *Line) Cut() {
	l.mu.Lock()
	l.cut = true
	for _, stop := range l.stop {
		stop()
	}
	l.mu.Unlock()
	l.sends.Wait()
}
