package server

import (
	"net/http"
	"slices"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// DocumentPath is the path of the OpenAPI document, without its extension.
const DocumentPath = "/api/openapi"

// BridgePath is where agents speak MCP over HTTP.
const BridgePath = "/mcp/bridge"

// maxHook is how much an agent says of what happens in it, in bytes at most.
const maxHook = 8 << 20

// Routes is the whole of the local API.
func (s *Server) Routes() []web.Route {
	mcpToken := web.Token{Header: ambry.MCPTokenHeader, Secret: s.MCPToken}
	return slices.Concat([]web.Route{
		web.Fixed("/api/health", "Whether the service answers", alive{OK: true, Service: "ambry-local-api"}).Open().Tag("app"),

		web.Get("/api/app/bootstrap", "What a front end needs at its start", s.bootstrap).Tag("app"),
		web.Patch("/api/app/settings", "Change the settings of the application", s.patchSettings).Tag("app"),
		web.Patch("/api/app/privacy", "Change what may leave the machine", s.patchPrivacy).Tag("app"),
		web.Patch("/api/app/scan-preferences", "Change when histories are read unasked", s.patchScanPreferences).Tag("app"),
		web.Patch("/api/app/onboarding", "Change the first steps, and the consent to read histories", s.patchOnboarding).Tag("app"),
		web.Get("/api/app/model-config", "The models that are chosen; a stored key never leaves", s.modelConfig).Tag("models"),
		web.Put("/api/app/model-config", "Choose the models", s.putModelConfig).Tag("models"),
		web.Post("/api/app/model-config/test", "Whether a model answers; nothing is kept", s.testModel).Tag("models"),
		web.Get("/api/app/token-usage", "Today's use of models, beside the budget of the day", s.tokenUsage).Tag("models"),
		web.Get("/api/app/byok-token-usage/summary", "What calls of models have used since the beginning", s.usageSummary).Tag("models"),
		web.Post("/api/app/byok-token-usage/events", "Report a call that was made elsewhere", s.recordUsage).Tag("models"),

		web.Post("/api/account/send-code", "Send a code to a mail address", s.sendCode).Accepted().Tag("account"),
		web.Post("/api/account/verify-code", "Log in with the code", s.verifyCode).Tag("account"),
		web.Get("/api/account/session", "Who is logged in", s.session).Tag("account"),
		web.Post("/api/account/logout", "Log out; also if nobody is logged in, and offline", s.logout).Tag("account"),

		web.Stream("/api/events", "Follow what happens", s.Events).TokenInQuery().Tag("events"),

		web.Get("/api/agent-sources", "Agents on this machine", s.listSources).Tag("agent sources"),
		web.Post("/api/agent-sources/scan", "Read the agents' histories", s.startScan).Accepted().Tag("agent sources"),
		web.Get("/api/agent-sources/scan/status", "How far a scan is, and how the last one ended", s.scanStatus).Quiet().Tag("agent sources"),
		web.Post("/api/agent-sources/scan/stop", "Stop reading; scanning again goes on", s.stopScan).Tag("agent sources"),
		web.Post("/api/agent-sources/scan/cancel", "The same as stop: what was read stays", s.stopScan).Tag("agent sources"),
		web.Post("/api/agent-sources/manual", "Add a directory with a copy of an agent's history", s.addSource).Tag("agent sources"),
		web.Delete("/api/agent-sources/{sourceId}", "Remove a directory that was added; what was read stays", s.removeSource).Tag("agent sources"),
		web.Post("/api/agent-sources/{sourceId}/skill", "Teach an agent to use the memory", s.installSkill).Tag("agent sources"),
		web.Delete("/api/agent-sources/{sourceId}/skill", "Take what teaches an agent out of its files", s.removeSkill).Tag("agent sources"),
		web.Post("/api/agent-sources/{sourceId}/plugin", "Connect an agent: hooks, MCP server and command", s.installPlugin).Tag("agent sources"),
		web.Delete("/api/agent-sources/{sourceId}/plugin", "Take hooks, MCP server and command out of an agent's files", s.removePlugin).Tag("agent sources"),

		web.Post("/api/hooks/{agent}/{event}", "Answer a hook of an agent; ambry hook asks this", s.hook).MaxBody(maxHook).Quiet().Tag("agent sources"),

		web.Get("/api/agent-tokens", "The tokens of agents", s.listTokens).Tag("agent tokens"),
		web.Post("/api/agent-tokens", "Make a token by which an agent is known; it is shown once", s.createToken).Tag("agent tokens"),
		web.Delete("/api/agent-tokens/{id}", "Revoke a token, or all of an agent", s.revokeToken).Tag("agent tokens"),

		web.Get("/api/v1/integrations/capabilities", "What Ambry is connected with, and how that is", s.capabilities).Tag("integrations"),

		web.Get("/api/v1/channels/definitions", "The services on which people can write to Ambry", s.channelDefinitions).Tag("channels"),
		web.Get("/api/v1/channels/connections", "Those that were connected, and how they are", s.channelConnections).Tag("channels"),
		web.Post("/api/v1/channels/{provider}/connect", "Connect a channel; the service is asked first", s.connectChannel).Tag("channels"),
		web.Post("/api/v1/channels/{provider}/disconnect", "End a channel, and forget what belongs to it", s.disconnectChannel).Tag("channels"),
		web.Post("/api/v1/channels/{provider}/pair", "Draw a code by which somebody may be paired", s.pairChannel).Tag("channels"),
		web.Post("/api/v1/channels/{provider}/unpair", "Take somebody's permission to write", s.unpairChannel).Tag("channels"),

		web.Get("/api/local-data", "What our directory takes, part by part", s.dataSizes).Tag("local data"),
		web.Delete("/api/local-data", "Delete everything", s.deleteData).Tag("local data"),
		web.Post("/api/local-data/reveal", "Show our directory in the file manager", s.revealData).Tag("local data"),
		web.Post("/api/local-data/export", "Write everything to a new file or folder", s.exportData).Tag("local data"),
		web.Post("/api/local-data/import", "Add an export, or what another program remembers", s.importData).Tag("local data"),
		web.Post("/api/local-data/verify", "Look whether words stand anywhere in our files", s.checkData).Tag("local data"),
		web.Post("/api/local-data/backup", "Copy the memory into its backups", s.backupData).Tag("local data"),
		web.Post("/api/local-data/rebuild", "Make what is derived from the memories anew", s.rebuildData).Tag("local data"),

		web.Proxy("/api/v1/memory/", "The memory runtime: search, add, read, forget", s.Memory).ForAgents(memoryForAgents).Tag("memory"),
		web.Proxy("/api/v1/panel/", "The memory runtime: what the panel shows", s.Memory).ForAgents(panelForAgents).Tag("memory"),
		web.Proxy("/api/v1/sessions/", "The memory runtime: sessions while they happen", s.Memory).ForAgents(toldByAgents).Tag("memory"),
		web.Proxy("/api/v1/turns/", "The memory runtime: turns while they happen", s.Memory).ForAgents(toldByAgents).Tag("memory"),
		web.Handle("/api/v1/health", "How the memory runtime is", s.Memory, http.MethodGet).Quiet().Tag("memory"),

		web.Stream(BridgePath, "Listen to a session, or go on with a broken stream (MCP)", s.Bridge).WithToken(mcpToken).ForAgents(anything).Tag("mcp"),
		web.Handle(BridgePath, "Speak MCP over streamable HTTP", s.Bridge, http.MethodPost, http.MethodDelete).WithToken(mcpToken).ForAgents(anything).Tag("mcp"),
	}, s.Internal)
}

// alive says nothing but that the service answers: it is open to everybody.
type alive struct {
	OK      bool   `json:"ok"`
	Service string `json:"service"`
}
