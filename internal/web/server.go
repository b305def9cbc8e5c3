package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// The limits of a connection.
const (
	headerWait  = 5 * time.Second  // to send the headers
	requestWait = 30 * time.Second // to send the whole request
	answerWait  = time.Minute      // to take the whole answer
	idleWait    = time.Minute      // between two requests
	maxHeaders  = 64 << 10
	// MaxConnections is how many connections are served at a time. More wait in
	// the kernel until one ends.
	MaxConnections = 512
)

// Listen listens on a free port of 127.0.0.1, and nowhere else.
func Listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	return ln, nil
}

// Server serves a handler on one listener, within the limits of this package.
type Server struct {
	Handler http.Handler
	Log     *slog.Logger

	// Grace is how long requests may take to end after the server was told to
	// stop; 5 seconds if zero. Streams are told at once.
	Grace time.Duration
}

// Serve serves ln until ctx ends. Then it takes no more connections, ends the
// streams, waits for the other requests, and returns when all handlers have.
// Those that are not done after Grace lose their connection. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	drain, startDraining := context.WithCancel(context.Background())
	defer startDraining()
	base, cut := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), drainKey{}, drain))
	defer cut()
	var running sync.WaitGroup
	server := s.httpServer(base, &running)

	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(&limitListener{Listener: ln, slots: make(chan struct{}, MaxConnections), closed: make(chan struct{})})
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}

	startDraining()
	grace := s.Grace
	if grace == 0 {
		grace = 5 * time.Second
	}
	patience, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer stop()
	err := server.Shutdown(patience)
	if errors.Is(err, context.DeadlineExceeded) {
		cut()
		err = server.Close()
	}
	<-ended
	running.Wait()
	return err
}

func (s *Server) httpServer(base context.Context, running *sync.WaitGroup) *http.Server {
	log := s.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			running.Add(1)
			defer running.Done()
			s.Handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout:            headerWait,
		ReadTimeout:                  requestWait,
		WriteTimeout:                 answerWait,
		IdleTimeout:                  idleWait,
		MaxHeaderBytes:               maxHeaders,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true, // OPTIONS * has to pass the guard, too
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return base },
	}
}

type drainKey struct{}

// draining returns a context that ends when the server begins to shut down.
func draining(ctx context.Context) context.Context {
	if drain, ok := ctx.Value(drainKey{}).(context.Context); ok {
		return drain
	}
	return ctx
}

// limitListener accepts no connection while as many as it has slots are open.
type limitListener struct {
	net.Listener
	slots     chan struct{}
	closed    chan struct{}
	closeOnce sync.Once
}

func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limitListener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}
