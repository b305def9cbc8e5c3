package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"ambry.dev/ambry/internal/supervise"
)

// sessionless is the first revision in which a server asks nothing by itself:
// what it wants to know is in its answers.
const sessionless = "2026-07-28"

// handshake is the last revision that begins with a handshake. Programs are
// spoken to in it, since older ones may not answer the question that newer ones
// begin with, and so is every upstream on behalf of a client that can be asked
// back.
const handshake = "2025-11-25"

// link is one connection to an upstream.
type link struct {
	m       *member
	down    *mcp.ServerSession // who may be asked back; nil if nobody may
	client  *mcp.Client
	session *mcp.ClientSession
	pipe    *supervise.Pipe // nil over HTTP

	life  context.Context // of what is being done over it
	end   context.CancelFunc
	cut   context.CancelFunc // ends requests over HTTP
	ended chan struct{}      // closed when the connection is gone

	order order
	fate  fate
	asks  chan struct{} // one for each question to the client
	talk  *rate.Limiter

	mu      sync.Mutex // guards what follows
	calls   []*call    // running ones, oldest first
	number  int
	dropped int
	why     string
	subs    map[string]int // subscriptions, by address
}

// fate is what the transport noticed of the end of a connection.
type fate struct {
	refused atomic.Bool // nobody took a request any more
	over    atomic.Bool // the other side ended it
}

// keyOf says which connection a session of ours uses, and what its client can.
func keyOf(session *mcp.ServerSession) (key, *mcp.ClientCapabilities) {
	caps, revision := &mcp.ClientCapabilities{}, ""
	if p := session.InitializeParams(); p != nil {
		revision = p.ProtocolVersion
		if p.Capabilities != nil {
			caps = p.Capabilities
		}
	}
	if revision < sessionless {
		return key{session: session}, caps
	}
	can, err := json.Marshal(caps)
	if err != nil || len(can) > maxMessageText {
		return key{can: "{}"}, &mcp.ClientCapabilities{}
	}
	return key{can: string(can)}, caps
}

// connect opens a connection. It can what the client behind it can.
func (m *member) connect(ctx context.Context, k key, caps *mcp.ClientCapabilities) (*link, error) {
	p := m.pool
	l := &link{
		m: m, down: k.session, ended: make(chan struct{}), asks: make(chan struct{}, maxAsks),
		talk: rate.NewLimiter(talkRate, talkBurst), subs: map[string]int{},
	}
	l.life, l.end = context.WithCancel(context.WithoutCancel(ctx))
	wire, cut := context.WithCancel(context.WithoutCancel(ctx))
	l.cut = cut
	within, cancel := context.WithTimeout(ctx, p.cfg.Timing.Connect)
	defer cancel()
	transport, pipe, err := p.open(within, wire, m.spec, &l.order, &l.fate)
	if err != nil {
		l.end()
		cut()
		return nil, err
	}
	l.pipe = pipe
	// Its answers may hang in ways that no context ends.
	defer context.AfterFunc(within, func() { l.abandon() })()
	l.client = mcp.NewClient(&mcp.Implementation{Name: "ambry", Version: p.cfg.Version}, l.options(caps))
	l.client.AddReceivingMiddleware(l.receive)
	var options *mcp.ClientSessionOptions
	if pipe != nil || k.session != nil {
		options = &mcp.ClientSessionOptions{ProtocolVersion: handshake}
	}
	l.session, err = l.client.Connect(within, transport, options)
	if err != nil && pipe == nil && options != nil && within.Err() == nil {
		l.session, err = l.client.Connect(within, transport, nil) // it may know the newest revision alone
	}
	if err != nil {
		l.abandon()
		if pipe != nil {
			pipe.Close(0)
			if ctx.Err() == nil {
				err = &fault{"ended, or did not speak MCP, when it was started (" + pipe.Ending() + ")", err}
			}
		}
		return nil, err
	}
	go l.watch()
	if k.session != nil {
		l.greet(within, k.session)
	}
	return l, nil
}

// greet tells a new connection what its client has asked for before.
func (l *link) greet(ctx context.Context, session *mcp.ServerSession) {
	if level := l.m.pool.level(session); level != "" {
		l.setLevel(ctx, level)
	}
	for _, uri := range l.m.pool.waiting(session, l.m) {
		if err := l.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err == nil {
			l.mu.Lock()
			l.subs[uri] = 1
			l.mu.Unlock()
		}
	}
}

// setLevel passes on which log messages are wanted. A server that has none
// refuses.
func (l *link) setLevel(ctx context.Context, level mcp.LoggingLevel) { //nolint:staticcheck // clients of 2025 have nothing else
	if can := l.session.InitializeResult().Capabilities; can == nil || can.Logging == nil || l.session.InitializeResult().ProtocolVersion >= sessionless { //nolint:staticcheck // servers of 2025 have nothing else
		return
	}
	_ = l.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: level}) //nolint:staticcheck // as above
}

// watch ends what is being done when the connection does.
func (l *link) watch() {
	if l.pipe != nil {
		go func() { // ends with the program
			<-l.pipe.Exited()
			l.end()
		}()
	}
	_ = l.session.Wait() // however it ended
	l.abandon()
	if l.pipe != nil {
		l.pipe.Close(l.m.pool.cfg.Timing.Grace)
	}
	close(l.ended)
}

// abandon gives up all that waits for the upstream.
func (l *link) abandon() {
	l.end()
	l.cut()
	if l.pipe != nil {
		_ = l.pipe.In.Close() // it is to end, whether or not it was told so before
		_ = l.pipe.Out.Close()
	}
}

// close closes the connection and returns when it is gone.
func (l *link) close() {
	l.end()
	late := time.AfterFunc(l.m.pool.cfg.Timing.Grace, l.abandon)
	defer late.Stop()
	if l.pipe != nil {
		l.pipe.Close(l.m.pool.cfg.Timing.Grace)
	}
	_ = l.session.Close() // it has ended, whatever it says
	<-l.ended
}

// reason says why the connection ended.
func (l *link) reason() error {
	l.mu.Lock()
	why := l.why
	l.mu.Unlock()
	switch {
	case why != "":
		return &fault{why, nil}
	case l.pipe != nil:
		return &fault{"ended (" + l.pipe.Ending() + ")", nil}
	}
	return &fault{"ended the connection", nil}
}

// blame says why the connection failed: by us, if we have cut it, or else err.
func (l *link) blame(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != "" {
		return &fault{l.why, err}
	}
	return err
}

// call is something that was asked of the upstream and is not answered yet.
type call struct {
	ctx     context.Context // of the request of our client
	cancel  context.CancelCauseFunc
	session *mcp.ServerSession
	ours    string // token of its progress, between us and the upstream
	theirs  any    // between us and the client; nil if it wants none
	timer   *time.Timer
	held    int // questions to the client that are not answered yet
}

// Why a call ended before its answer.
var (
	errSilent = errors.New("silent for too long")
	errGone   = errors.New("the connection ended")
	errUnsent = errors.New("the connection had ended before")
)

// begin begins a call. It ends when the upstream is silent for too long, or gone.
func (l *link) begin(ctx context.Context, session *mcp.ServerSession, token any) (c *call, done func()) {
	c = &call{session: session, theirs: token}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.life, func() { c.cancel(errGone) })
	l.mu.Lock()
	l.number++
	c.ours = "p" + strconv.Itoa(l.number)
	c.timer = time.AfterFunc(l.m.timeout(), func() { c.cancel(errSilent) })
	l.calls = append(l.calls, c)
	l.mu.Unlock()
	return c, func() {
		stop()
		c.timer.Stop()
		c.cancel(nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.calls = slices.DeleteFunc(l.calls, func(one *call) bool { return one == c })
	}
}

// touch notes that the upstream said something about a call.
func (l *link) touch(c *call) {
	if c.held == 0 {
		c.timer.Reset(l.m.timeout())
	}
}

// find returns the running call with a token of ours.
func (l *link) find(token any) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := fmt.Sprint(token)
	i := slices.IndexFunc(l.calls, func(c *call) bool { return c.ours == name })
	if i < 0 {
		return nil
	}
	l.touch(l.calls[i])
	return l.calls[i]
}

// latest returns the call that what an upstream says without naming one is
// taken to be about. Where several clients share the connection there has to be
// one only.
func (l *link) latest() *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.calls); n == 1 || n > 1 && l.down != nil {
		l.touch(l.calls[n-1])
		return l.calls[n-1]
	}
	return nil
}

// hold keeps a call from ending while its client thinks.
func (l *link) hold(c *call) (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.held++
	c.timer.Stop()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		c.held--
		l.touch(c)
	}
}

func (l *link) subscribed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.subs) > 0
}

// receive is between what the upstream sends by itself and those who take it.
func (l *link) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if strings.HasPrefix(method, "notifications/") {
			if isFollowed([]byte(method)) {
				defer l.order.done()
			}
			if !l.hears() {
				return nil, nil
			}
			return next(ctx, method, req)
		}
		switch p := req.GetParams().(type) {
		case *mcp.CreateMessageWithToolsParams: //nolint:staticcheck // servers of 2025 have nothing else
			return l.ask(ctx, func(ctx context.Context) (mcp.Result, error) { return l.down.CreateMessageWithTools(ctx, p) }) //nolint:staticcheck // as above
		case *mcp.ElicitParams:
			return l.ask(ctx, func(ctx context.Context) (mcp.Result, error) { return l.down.Elicit(ctx, p) })
		case *mcp.ListRootsParams: //nolint:staticcheck // as above
			return l.ask(ctx, func(ctx context.Context) (mcp.Result, error) { return l.down.ListRoots(ctx, p) }) //nolint:staticcheck // as above
		}
		return next(ctx, method, req)
	}
}

// hears reports whether one more notification may be passed on. A connection
// that says nothing but too much is cut.
func (l *link) hears() bool {
	if l.talk.Allow() {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped++
	if l.dropped == talkDropped {
		l.why = "sends far too many notifications"
		go l.abandon() // which wants the reader to stop
	}
	return false
}

// ask passes a question of the upstream on to the client, on the way of the call
// that it is about. Nobody is asked anything who has asked for nothing.
func (l *link) ask(ctx context.Context, question func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	c := l.latest()
	if l.down == nil || c == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "there is no client now that could be asked"}
	}
	select {
	case l.asks <- struct{}{}:
		defer func() { <-l.asks }()
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "too many questions at a time"}
	}
	defer l.hold(c)()
	asking, cancel := context.WithCancel(c.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return question(asking)
}
