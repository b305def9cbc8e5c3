package mcp

import (
	"context"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// narrate tells a client that asked for it how a call goes: progress, if it
// gave a token, and log messages from the level it set. Neither holds anything
// of what was asked or answered.
func narrate(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		params, isCall := req.GetParams().(*mcp.CallToolParamsRaw)
		session, ok := req.GetSession().(*mcp.ServerSession)
		if !isCall || !ok || params == nil || !slices.Contains(ownTools, params.Name) {
			return next(ctx, method, req)
		}
		begin := time.Now()
		progress(ctx, session, params, 0, "asking the memory")
		res, err := next(ctx, method, req)
		level, message := "debug", "answered"
		if answer, ok := res.(*mcp.CallToolResult); err != nil || ok && answer.IsError {
			level, message = "warning", "not answered"
		}
		progress(ctx, session, params, 1, message)
		record(ctx, session, level, map[string]any{"tool": params.Name, "message": message, "tookMs": time.Since(begin).Milliseconds()})
		return res, err
	}
}

// A client who is gone needs neither of these.

func progress(ctx context.Context, session *mcp.ServerSession, params *mcp.CallToolParamsRaw, done float64, message string) {
	token := params.GetProgressToken()
	if token == nil {
		return
	}
	_ = session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 1, Message: message})
}

func record(ctx context.Context, session *mcp.ServerSession, level string, data any) {
	//nolint:staticcheck // clients of the 2025 revisions have nothing else
	_ = session.Log(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(level), Logger: "ambry", Data: data})
}
