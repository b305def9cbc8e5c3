package upstream

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// options says what a connection can, and who takes the notifications.
func (l *link) options(caps *mcp.ClientCapabilities) *mcp.ClientOptions {
	changed := func() { signal(l.m.changed) }
	o := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		// What a newer server asks in its answer is passed on in ours.
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed() },
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) { changed() },
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) { changed() },
		ResourceUpdatedHandler:      l.resourceUpdated,
		LoggingMessageHandler:       l.log, //nolint:staticcheck // clients of 2025 have nothing else
		ProgressNotificationHandler: l.progress,
		ElicitationCompleteHandler:  l.elicited,
	}
	if caps != nil {
		o.Capabilities.Sampling, o.Capabilities.Elicitation, o.Capabilities.RootsV2 = caps.Sampling, caps.Elicitation, caps.RootsV2 //nolint:staticcheck // clients of 2025 have nothing else
	}
	return o
}

// Who is gone needs none of these.

func (l *link) progress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	c := l.find(req.Params.ProgressToken)
	if c == nil || c.theirs == nil {
		return
	}
	_ = c.session.NotifyProgress(c.ctx, &mcp.ProgressNotificationParams{
		ProgressToken: c.theirs, Progress: req.Params.Progress, Total: req.Params.Total, Message: short(req.Params.Message, maxMessageText),
	})
}

func (l *link) log(_ context.Context, req *mcp.LoggingMessageRequest) {
	p := *req.Params
	if !fits(p.Data, maxData) {
		return
	}
	p.Logger = short(p.Logger, 128)
	if text, ok := p.Data.(string); ok {
		p.Data = short(text, maxData)
	}
	ctx, to := l.life, l.down
	if c := l.latest(); c != nil {
		ctx, to = c.ctx, c.session
	}
	if to != nil {
		_ = to.Log(ctx, &p) //nolint:staticcheck // as above
	}
}

func (l *link) resourceUpdated(ctx context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
	l.mu.Lock()
	wanted := l.subs[req.Params.URI] > 0
	l.mu.Unlock()
	if wanted {
		_ = l.m.pool.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: req.Params.URI})
	}
}

func (l *link) elicited(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
	if l.down != nil {
		_ = l.down.NotifyElicitationComplete(l.life, req.Params)
	}
}
