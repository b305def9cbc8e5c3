package channeltest

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// Wires lead to a server, and can be cut.
type Wires struct {
	Address string

	mu   sync.Mutex
	open map[*net.TCPConn]chan struct{} // by the side of the server; closed when that has ended
}

// Lay returns wires that lead to an address, to the end of the test.
func Lay(t *testing.T, to string, dial func(ctx context.Context, network, address string) (net.Conn, error)) *Wires {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wires{Address: ln.Addr().String(), open: map[*net.TCPConn]chan struct{}{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := dial(context.Background(), "tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			w.join(&all, near, far.(*net.TCPConn))
		}
	})
	t.Cleanup(func() {
		ln.Close()
		w.Cut()
		all.Wait()
	})
	return w
}

func (w *Wires) join(all *sync.WaitGroup, near net.Conn, far *net.TCPConn) {
	done := make(chan struct{})
	w.mu.Lock()
	w.open[far] = done
	w.mu.Unlock()
	all.Go(func() {
		_, _ = io.Copy(far, near) // either side may end it
		_ = far.CloseWrite()
	})
	all.Go(func() {
		_, _ = io.Copy(near, far)
		near.Close()
		_ = far.Close() // it may have ended
		w.mu.Lock()
		delete(w.open, far)
		w.mu.Unlock()
		close(done)
	})
}

// Cut ends all connections without a word, and returns when the server has
// noticed.
func (w *Wires) Cut() {
	w.mu.Lock()
	var ends []chan struct{}
	for far, done := range w.open {
		_ = far.CloseWrite() // it may have ended
		ends = append(ends, done)
	}
	w.mu.Unlock()
	for _, done := range ends {
		<-done
	}
}
