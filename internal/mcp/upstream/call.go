package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

// tool returns what calls a tool of the upstream.
func (m *member) tool(t *mcp.Tool) mcp.ToolHandler {
	again := t.Annotations != nil && (t.Annotations.ReadOnlyHint || t.Annotations.IdempotentHint)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var res *mcp.CallToolResult
		err := m.do(ctx, req.Session, req.Params.GetProgressToken(), again, func(l *link, c *call) (err error) {
			params := &mcp.CallToolParams{
				Meta: meta(req.Params.Meta, c), Name: t.Name,
				InputResponses: req.Params.InputResponses, RequestState: req.Params.RequestState,
			}
			if len(req.Params.Arguments) > 0 {
				params.Arguments = req.Params.Arguments
			}
			res, err = l.session.CallTool(c.ctx, params)
			return err
		})
		if err == nil {
			trim(res)
			return res, nil
		}
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && answered(err) {
			return nil, refusal(e)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: m.failure(err)}}}, nil
	}
}

func (m *member) prompt(p *mcp.Prompt) mcp.PromptHandler {
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		var res *mcp.GetPromptResult
		err := m.do(ctx, req.Session, req.Params.GetProgressToken(), true, func(l *link, c *call) (err error) {
			params := *req.Params
			params.Meta, params.Name = meta(req.Params.Meta, c), p.Name
			res, err = l.session.GetPrompt(c.ctx, &params)
			return err
		})
		if err != nil {
			return nil, m.protocolFailure(ctx, err)
		}
		left := budget(maxText)
		res.Description = short(res.Description, maxDescription)
		for _, message := range res.Messages {
			if message != nil {
				left.content(message.Content)
			}
		}
		return res, nil
	}
}

func (m *member) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	var res *mcp.ReadResourceResult
	err := m.do(ctx, req.Session, req.Params.GetProgressToken(), true, func(l *link, c *call) (err error) {
		params := *req.Params
		params.Meta = meta(req.Params.Meta, c)
		res, err = l.session.ReadResource(c.ctx, &params)
		return err
	})
	if err != nil {
		return nil, m.protocolFailure(ctx, err)
	}
	left := budget(maxText)
	for _, c := range res.Contents {
		if c != nil {
			c.Text = left.take(c.Text)
		}
	}
	return res, nil
}

// Complete answers what the argument of a prompt or of an address could be.
func (p *Pool) Complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	none := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	ref := *req.Params.Ref
	var m *member
	switch ref.Type {
	case "ref/prompt":
		var given string
		if m, given = p.promptOf(ref.Name); m != nil {
			ref.Name = given
		}
	case "ref/resource":
		m = p.resourceOf(ref.URI)
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "ref must be a prompt or a resource"}
	}
	if m == nil {
		return none, nil
	}
	var res *mcp.CompleteResult
	err := m.do(ctx, req.Session, nil, true, func(l *link, c *call) (err error) {
		if can := l.session.InitializeResult().Capabilities; can == nil || can.Completions == nil {
			res = none
			return nil
		}
		params := *req.Params
		params.Meta, params.Ref = meta(req.Params.Meta, nil), &ref
		res, err = l.session.Complete(c.ctx, &params)
		return err
	})
	if err != nil {
		return nil, m.protocolFailure(ctx, err)
	}
	if values := res.Completion.Values; len(values) > maxValues {
		res.Completion.Values, res.Completion.HasMore = values[:maxValues], true
	}
	for i, v := range res.Completion.Values {
		res.Completion.Values[i] = short(v, maxMessageText)
	}
	return res, nil
}

// Subscribe asks the upstream that has a resource to say when it changes.
func (p *Pool) Subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	m := p.resourceOf(req.Params.URI)
	if m == nil {
		return mcp.ResourceNotFoundError(req.Params.URI)
	}
	err := m.do(ctx, req.Session, nil, true, func(l *link, c *call) error {
		l.mu.Lock()
		l.subs[req.Params.URI]++
		first := l.subs[req.Params.URI] == 1
		l.mu.Unlock()
		if !first {
			return nil
		}
		err := l.session.Subscribe(c.ctx, &mcp.SubscribeParams{URI: req.Params.URI})
		if err != nil {
			l.forget(req.Params.URI)
		}
		return err
	})
	if err != nil {
		return m.protocolFailure(ctx, err)
	}
	p.remember(req.Session, req.Params.URI, m)
	return nil
}

// Unsubscribe takes back a subscription.
func (p *Pool) Unsubscribe(ctx context.Context, req *mcp.UnsubscribeRequest) error {
	m := p.resourceOf(req.Params.URI)
	if m == nil {
		return mcp.ResourceNotFoundError(req.Params.URI)
	}
	p.remember(req.Session, req.Params.URI, nil)
	err := m.do(ctx, req.Session, nil, true, func(l *link, c *call) error {
		if !l.forget(req.Params.URI) {
			return nil
		}
		return l.session.Unsubscribe(c.ctx, &mcp.UnsubscribeParams{URI: req.Params.URI})
	})
	if err != nil {
		return m.protocolFailure(ctx, err)
	}
	return nil
}

// forget takes one subscription out and reports whether it was the last one.
func (l *link) forget(uri string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subs[uri]--; l.subs[uri] > 0 {
		return false
	}
	delete(l.subs, uri)
	return true
}

// RootsChanged tells every upstream that a session uses that the directories of
// its client are others.
func (p *Pool) RootsChanged(_ context.Context, req *mcp.RootsListChangedRequest) {
	for _, m := range p.all() {
		if l := m.existing(req.Session); l != nil {
			// The SDK tells of a change of its own list only; ours is that of the client.
			l.client.AddRoots(&mcp.Root{URI: "file:///"}) //nolint:staticcheck // as above
			l.client.RemoveRoots("file:///")              //nolint:staticcheck // as above
		}
	}
}

// Heed is between a request of a client and what answers it: which log messages
// it wants concerns the upstreams too, and lists wait for those that start.
func (p *Pool) Heed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if strings.HasSuffix(method, "/list") {
			p.settle(ctx)
		}
		res, err := next(ctx, method, req)
		session, ok := req.GetSession().(*mcp.ServerSession)
		params, isLevel := req.GetParams().(*mcp.SetLoggingLevelParams) //nolint:staticcheck // clients of 2025 have nothing else
		if err != nil || !ok || !isLevel {
			return res, err
		}
		p.know(session)
		p.mu.Lock()
		if c := p.sessions[session]; c != nil {
			c.level = params.Level
		}
		p.mu.Unlock()
		for _, m := range p.all() {
			if l := m.existing(session); l != nil {
				l.setLevel(ctx, params.Level)
			}
		}
		return res, err
	}
}

// settle waits a moment for upstreams that are being started: a client that asks
// for the lists may do so once only.
func (p *Pool) settle(ctx context.Context) {
	late := time.NewTimer(p.cfg.Timing.Settle)
	defer late.Stop()
	for _, m := range p.all() {
		select {
		case <-m.settled:
		case <-ctx.Done():
			return
		case <-late.C:
			return
		}
	}
}

// existing returns the connection for a session, nil if there is none yet.
func (m *member) existing(session *mcp.ServerSession) *link {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slots[key{session: session}]
	if s == nil || s.dead() {
		return nil
	}
	select {
	case <-s.ready:
		return s.link
	default:
		return nil
	}
}

// do asks the upstream over the connection for a session. If the connection is
// gone it is opened again; what may be asked twice is asked once more.
func (m *member) do(ctx context.Context, session *mcp.ServerSession, token any, again bool, ask func(*link, *call) error) error {
	for tries := 0; ; tries++ {
		l, release, err := m.link(ctx, session)
		if err != nil {
			return err
		}
		err = l.await(ctx, session, token, ask)
		release()
		unsent := errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, errUnsent)
		if tries > 0 || ctx.Err() != nil || !unsent && !(again && lost(err)) {
			return err
		}
		<-l.ended // what noticed that it is gone is about to end it
	}
}

// lost reports whether a call ended with the connection.
func lost(err error) bool {
	return errors.Is(err, errGone) || errors.Is(err, errUnsent) || errors.Is(err, mcp.ErrConnectionClosed) || isRejected(err)
}

// await runs a call, and returns when it is over, also when the upstream holds
// it up in a way that no context ends: then the connection is cut.
func (l *link) await(ctx context.Context, session *mcp.ServerSession, token any, ask func(*link, *call) error) error {
	if l.life.Err() != nil {
		return errUnsent
	}
	c, done := l.begin(ctx, session, token)
	defer done()
	answered := make(chan error, 1)
	go func() { answered <- ask(l, c) }()
	select {
	case err := <-answered:
		return l.outcome(c, err)
	case <-c.ctx.Done():
	}
	grace := time.NewTimer(l.m.pool.cfg.Timing.Grace)
	defer grace.Stop()
	select {
	case err := <-answered:
		return l.outcome(c, err)
	case <-grace.C:
	}
	l.abandon()
	return l.outcome(c, errors.Join(errGone, <-answered))
}

// outcome says why a call failed: the cause, where there is one, says more than
// that its context ended.
func (l *link) outcome(c *call, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(c.ctx); cause != nil && (errors.Is(cause, errSilent) || errors.Is(cause, errGone)) {
		return cause
	}
	if !answered(err) && c.ctx.Err() == nil {
		l.abandon()
		_ = l.session.Close() // so that the next call opens another
		switch {
		case l.fate.refused.Load():
			return errUnsent
		case l.fate.over.Load(), isBreak(err):
			return errors.Join(errGone, err)
		}
	}
	return err
}

// rejected is the code by which the SDK says that a request did not get through.
const rejected = -32005

func isRejected(err error) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && e.Code == rejected && e.Message == "rejected by transport"
}

// answered reports whether err is what the upstream answered.
func answered(err error) bool {
	_, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && !isRejected(err)
}

// failure says why a call failed, to an agent.
func (m *member) failure(err error) string {
	name := m.spec.ID
	switch {
	case errors.Is(err, errSilent):
		return fmt.Sprintf("%s said nothing for %v; the call was given up. Whether it did something is not known.", name, m.timeout())
	case lost(err):
		return fmt.Sprintf("%s ended before it answered. Whether it did something is not known. It is being started again.", name)
	}
	if f, ok := errors.AsType[*fault](err); ok {
		return fmt.Sprintf("%s %s.", name, f.why)
	}
	if e, ok := errors.AsType[*ambry.Error](err); ok {
		return fmt.Sprintf("%s %s.", name, e.Message)
	}
	return fmt.Sprintf("%s did not answer as MCP wants it, or with more than %d bytes.", name, maxMessage)
}

// protocolFailure is the failure of something that is no tool, and so has no
// answer that could say it.
func (m *member) protocolFailure(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && answered(err) {
		return refusal(e)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: m.failure(err)}
}

// refusal is an error that the upstream answered, cut to size.
func refusal(e *jsonrpc.Error) error {
	cut := &jsonrpc.Error{Code: e.Code, Message: short(e.Message, maxMessageText)}
	if len(e.Data) <= maxData {
		cut.Data = e.Data
	}
	return cut
}

// meta returns what goes along with a request: all that the client says, but for
// what it says to us as its server.
func meta(from mcp.Meta, c *call) mcp.Meta {
	to := mcp.Meta{}
	for name, value := range from {
		if name != "progressToken" && !strings.HasPrefix(name, "io.modelcontextprotocol/") && !strings.HasPrefix(name, "dev.ambry/") {
			to[name] = value
		}
	}
	if c != nil && c.theirs != nil {
		to["progressToken"] = c.ours
	}
	if len(to) == 0 {
		return nil
	}
	return to
}
