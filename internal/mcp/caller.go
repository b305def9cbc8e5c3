package mcp

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

// caller is who asks: the log of the memory tells what each agent read and wrote.
type caller struct{ agent, session string }

// caller returns who sends a request. The name of an agent that has shown a
// token of its own is true; otherwise it is what it was started with, or what it
// calls itself.
func (s *Server) caller(req mcp.Request) caller {
	c := caller{agent: s.Agent}
	if extra := req.GetExtra(); extra != nil {
		if agent := extra.Header.Get(ambry.AgentHeader); agent != "" {
			c.agent = ambry.AgentName(agent)
		}
	}
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return c
	}
	c.session = s.Session
	if id := session.ID(); id != "" {
		// The id itself is a secret.
		digest := sha256.Sum256([]byte(id))
		c.session = "mcp_" + hex.EncodeToString(digest[:8])
	}
	if id := toldSession(req); id != "" {
		c.session = id
	}
	if p := session.InitializeParams(); c.agent == "" && p != nil && p.ClientInfo != nil {
		c.agent = ambry.AgentName(p.ClientInfo.Name)
	}
	return c
}

// sessionKeys are where agents tell, with a request, in which of their own
// sessions it is made: Codex does, and names the session so to its hooks.
var sessionKeys = []string{"sessionId", "threadId"}

// toldSession returns the session that an agent tells, or "".
func toldSession(req mcp.Request) string {
	params, ok := req.GetParams().(*mcp.CallToolParamsRaw)
	if !ok || params == nil {
		return ""
	}
	for _, key := range sessionKeys {
		if id, ok := params.Meta[key].(string); ok && ambry.SessionName(id) != "" {
			return id
		}
	}
	return ""
}

// as returns the memory as an agent is to ask it.
func (s *Server) as(c caller) Memory {
	if s.As == nil || c.agent == "" {
		return s.Memory
	}
	return s.As(c.agent)
}
