package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The limits of a connection.
const (
	headerWait  = 5 * time.Second  // to send the headers
	requestWait = 30 * time.Second // to send the whole request
	answerWait  = time.Minute      // to take an answer that no route extends
	idleWait    = time.Minute      // between two requests
	maxHeaders  = 64 << 10
	// MaxConnections is how many connections are served at a time. More wait in
	// the kernel until one ends.
	MaxConnections = 512
)

// Listen listens on a free port of 127.0.0.1, and nowhere else.
func Listen(ctx context.Context) (net.Listener, error) { return ListenAt(ctx, 0) }

// ListenAt listens on a port of 127.0.0.1; 0 is one that is free.
func ListenAt(ctx context.Context, port int) (net.Listener, error) {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp4", "127.0.0.1:"+strconv.Itoa(port))
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
	go func() { ended <- server.Serve(newLimitListener(ln)) }()
	var broken error
	select {
	case err := <-ended:
		broken = fmt.Errorf("serve %s: %w", ln.Addr(), err)
		ended <- nil
	case <-ctx.Done():
	}

	startDraining()
	err := s.shutdown(context.WithoutCancel(ctx), server)
	if errors.Is(err, context.DeadlineExceeded) {
		cut()
		err = server.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	running.Wait()
	return errors.Join(broken, err)
}

func (s *Server) shutdown(ctx context.Context, server *http.Server) error {
	grace := s.Grace
	if grace == 0 {
		grace = 5 * time.Second
	}
	patience, stop := context.WithTimeout(ctx, grace)
	defer stop()
	return server.Shutdown(patience)
}

func (s *Server) httpServer(base context.Context, running *sync.WaitGroup) *http.Server {
	log := s.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      s.Handler,
		ReadHeaderTimeout:            headerWait,
		ReadTimeout:                  requestWait,
		WriteTimeout:                 answerWait,
		IdleTimeout:                  idleWait,
		MaxHeaderBytes:               maxHeaders,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true, // OPTIONS * has to pass the guard, too
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return base },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state { // the goroutine of a connection, and its handler, live between these two
			case http.StateNew:
				running.Add(1)
			case http.StateClosed:
				running.Done()
			}
		},
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

func newLimitListener(ln net.Listener) *limitListener {
	return &limitListener{Listener: ln, slots: make(chan struct{}, MaxConnections), closed: make(chan struct{})}
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

// CloseWrite lets net/http say that an answer is whole before it closes on a
// caller who still sends, who might otherwise lose the answer to a reset.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}
