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
	if id := session.ID(); id != "" {
		// The id itself is a secret.
		digest := sha256.Sum256([]byte(id))
		c.session = "mcp_" + hex.EncodeToString(digest[:8])
	}
	if p := session.InitializeParams(); c.agent == "" && p != nil && p.ClientInfo != nil {
		c.agent = ambry.AgentName(p.ClientInfo.Name)
	}
	return c
}

// as returns the memory as an agent is to ask it.
func (s *Server) as(c caller) Memory {
	if s.As == nil || c.agent == "" {
		return s.Memory
	}
	return s.As(c.agent)
}
