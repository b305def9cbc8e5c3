package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lastWords is how long requests may still be answered after the input ended.
const lastWords = 10 * time.Second

// patient is a transport that tells of the end of the input only when all
// requests that came before it are answered. Without it the SDK cancels them,
// and "ambry mcp < requests" would answer nothing.
type patient struct{ mcp.Transport }

// Connect opens the transport.
func (t *patient) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &patientConn{Connection: c, open: map[jsonrpc.ID]bool{}, idle: make(chan struct{})}, nil
}

type patientConn struct {
	mcp.Connection

	mu    sync.Mutex
	open  map[jsonrpc.ID]bool // requests without an answer
	ended bool
	idle  chan struct{} // closed when nothing is open after the end
}

// Read returns the next message, or the end of the input when it is time.
func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	c.mu.Lock()
	if req, ok := msg.(*jsonrpc.Request); err == nil && ok && req.IsCall() {
		c.open[req.ID] = true
	}
	if err != nil {
		c.ended = true
		c.settle()
	}
	c.mu.Unlock()
	if err == nil {
		return msg, nil
	}
	within, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	select {
	case <-c.idle:
	case <-within.Done():
	}
	return nil, err
}

// Write sends a message.
func (c *patientConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if resp, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, resp.ID)
		c.settle()
		c.mu.Unlock()
	}
	return err
}

// settle closes idle once the input has ended and nothing is open.
func (c *patientConn) settle() {
	if !c.ended || len(c.open) > 0 {
		return
	}
	select {
	case <-c.idle:
	default:
		close(c.idle)
	}
}
