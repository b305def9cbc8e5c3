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
	taken chan struct{} // closed when what is being taken is; nil for nothing
}

// Taking runs take, which passes a message on and keeps that it was, or tells the service
// so. What is sent meanwhile goes out when take has ended: a message whose answer was
// seen is not to come again when we are killed then, and be answered twice. One
// goroutine at a time may be taking.
func (l *Line) Taking(take func() error) error {
	taken := make(chan struct{})
	l.mu.Lock()
	l.taken = taken
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.taken = nil
		l.mu.Unlock()
		close(taken)
	}()
	return take()
}

// Send runs send with a context that ends when the line is cut. It waits for what is
// being taken.
func (l *Line) Send(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.mu.Lock()
	if taken := l.taken; taken != nil {
		l.mu.Unlock()
		select {
		case <-taken:
		case <-ctx.Done():
			return ctx.Err()
		}
		l.mu.Lock()
	}
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
