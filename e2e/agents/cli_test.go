//go:build agents

package agents

import (
	"crypto/rand"
	"fmt"
	"os/exec"
	"strings"
)

// cli is a real command line, and how it is used without a person.
type cli struct {
	name  string   // of the program
	agent string   // as Ambry calls it
	dirs  []string // and files, that connecting may write into

	// prepare makes it talk to our model.
	prepare func(w *world)

	// ask is a run with one prompt. The tool of ours may be called in it.
	ask func(w *world, prompt string) *exec.Cmd

	// servers lists MCP servers, and connected is what it says of one that works.
	servers   []string
	connected string

	// keeps is whether its hooks tell of what was asked.
	keeps bool
	// injects is whether what a hook says reaches the request with the prompt.
	injects bool
	// calls is whether our tool can be called.
	calls bool

	// end ends what it leaves running; nil if that is nothing.
	end func(w *world) *exec.Cmd
}

var clis = []cli{
	{
		name: "claude", agent: "claude_code", dirs: []string{".claude", ".claude.json"}, keeps: true, injects: true, calls: true,
		prepare: func(w *world) {
			w.write(".claude.json", `{"hasCompletedOnboarding": true, "numStartups": 3}`)
			w.write(".claude/settings.json", "{\n    \"theme\": \"dark\",\n    \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}\n}")
		},
		ask: func(w *world, prompt string) *exec.Cmd {
			return w.with(w.command("claude", "-p", prompt, "--allowedTools", "mcp__ambry__memory_search"))
		},
		servers: []string{"mcp", "list"}, connected: "ambry: ",
	},
	{
		name: "codex", agent: "codex", dirs: []string{".codex"}, keeps: true, injects: true, calls: true,
		prepare: func(w *world) {
			w.write(".codex/config.toml", fmt.Sprintf(`# mine
model_provider = "stub"
model = "stub"

[model_providers.stub]
name = "stub"
base_url = "%s/v1"
env_key = "STUB_KEY"
wire_api = "responses"

[projects."%s"]
trust_level = "trusted"
`, w.url, w.project))
		},
		ask: func(w *world, prompt string) *exec.Cmd {
			return w.with(w.command("codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", prompt))
		},
		servers: []string{"mcp", "list"}, connected: "ambry",
	},
	{
		name: "opencode", agent: "opencode", dirs: []string{".config/opencode"}, keeps: true, injects: true, calls: true,
		prepare: func(w *world) {
			w.write(".config/opencode/opencode.json", fmt.Sprintf(`{
  // mine
  "model": "stub/stub", "small_model": "stub/stub", "autoupdate": false, "share": "disabled",
  "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "%s/v1", "apiKey": "x"}, "models": {"stub": {}}}}
}
`, w.url))
		},
		ask:     func(w *world, prompt string) *exec.Cmd { return w.with(w.command("opencode", "run", prompt)) },
		servers: []string{"mcp", "list"}, connected: "ambry",
	},
	{
		name: "gemini", agent: "gemini_cli", dirs: []string{".gemini"}, keeps: true, injects: true, calls: true,
		prepare: func(w *world) {
			w.write(".gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}, "telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false}}`)
		},
		ask: func(w *world, prompt string) *exec.Cmd {
			return w.with(w.command("gemini", "--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "-p", prompt))
		},
		servers: []string{"mcp", "list"}, connected: "ambry",
	},
	{
		name: "qwen", agent: "qwen_code", dirs: []string{".qwen"}, keeps: true, injects: true, calls: true,
		prepare: func(w *world) {
			w.write(".qwen/settings.json", `{"security": {"auth": {"selectedType": "openai"}}, "telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false}}`)
		},
		ask:     func(w *world, prompt string) *exec.Cmd { return w.with(w.command("qwen", "--yolo", "-p", prompt)) },
		servers: []string{"mcp", "list"}, connected: "ambry",
	},
	{
		name: "copilot", agent: "copilot_cli", dirs: []string{".copilot"}, keeps: true, injects: true, calls: true,
		prepare: func(w *world) { w.write(".copilot/config.json", `{"banner": "never"}`) },
		ask: func(w *world, prompt string) *exec.Cmd {
			return w.with(w.command("copilot", "--allow-all-tools", "-p", prompt))
		},
		servers: []string{"mcp", "list"}, connected: "ambry",
	},
	{
		name: "hermes", agent: "hermes", dirs: []string{".hermes/config.yaml", ".hermes/skills"}, keeps: true, injects: true, calls: true,
		prepare: func(w *world) {
			w.write(".hermes/config.yaml", fmt.Sprintf("# mine\nmodel:\n  default: stub\n  provider: custom\n  base_url: %s/v1\n  api_key: %s\n", w.url, key))
		},
		ask: func(w *world, prompt string) *exec.Cmd {
			return w.with(w.command("hermes", "--accept-hooks", "--yolo", "-z", prompt))
		},
		servers: []string{"mcp", "test", "ambry"}, connected: "Connected",
	},
	{
		name: "kimi", agent: "kimi", dirs: []string{".kimi-code"}, keeps: true, injects: true, calls: true,
		prepare: func(w *world) {
			w.write(".kimi-code/config.toml", fmt.Sprintf(`# mine
default_model = "stub"
telemetry = false

[providers.stub]
type = "openai"
base_url = "%s/v1"
api_key = "%s"

[models.stub]
provider = "stub"
model = "stub"
max_context_size = 100000
`, w.url, key))
		},
		ask: func(w *world, prompt string) *exec.Cmd { return w.with(w.command("kimi", "-p", prompt)) },
	},
	{
		// With one prompt it calls the hooks of a task's begin and end only, which
		// tell nothing of what was asked and take nothing.
		name: "cline", agent: "cline", dirs: []string{".cline/skills", ".cline/data/settings/cline_mcp_settings.json", "Documents/Cline"}, calls: true,
		prepare: func(w *world) {
			w.write(".cline/data/settings/providers.json", fmt.Sprintf(`{"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": {
  "settings": {"provider": "openai-compatible", "apiKey": "%s", "model": "stub", "baseUrl": "%s/v1"}, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}}`, key, w.url))
		},
		ask: func(w *world, prompt string) *exec.Cmd { return w.with(w.command("cline", prompt)) },
		end: func(w *world) *exec.Cmd { return w.command("cline", "hub", "stop") },
	},
	{
		// It keeps tools behind one that looks for tools, which our model does not know.
		name: "openclaw", agent: "openclaw", dirs: []string{".openclaw/openclaw.json", ".openclaw/extensions", ".openclaw/skills"}, keeps: true, injects: true,
		prepare: func(w *world) {
			w.write(".openclaw/openclaw.json", fmt.Sprintf(`{
  // mine
  "agents": {"defaults": {"model": {"primary": "stub/stub"}, "workspace": "%s"}},
  "models": {"providers": {"stub": {"baseUrl": "%s/v1", "apiKey": "%s", "api": "openai-completions",
    "models": [{"id": "stub", "name": "stub", "contextWindow": 100000, "maxTokens": 4096}]}}},
}
`, w.project, w.url, key))
		},
		ask: func(w *world, prompt string) *exec.Cmd {
			return w.with(w.command("openclaw", "agent", "--local", "--session-id", rand.Text(), "--message", prompt))
		},
	},
}

// key is no secret, but looks like one to those who look.
var key = strings.Repeat("x", 16)

// with adds what leads an agent to our model, for all of them.
func (w *world) with(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(
		cmd.Env,
		"ANTHROPIC_BASE_URL="+w.url, "ANTHROPIC_API_KEY="+key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"ENABLE_TOOL_SEARCH=false", // our model does not know how to look for tools
		"STUB_KEY="+key,
		"GEMINI_API_KEY="+key, "GOOGLE_GEMINI_BASE_URL="+w.url,
		"OPENAI_API_KEY="+key, "OPENAI_BASE_URL="+w.url+"/v1", "OPENAI_MODEL=stub",
		"COPILOT_PROVIDER_BASE_URL="+w.url+"/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY="+key, "COPILOT_MODEL=stub", "COPILOT_OFFLINE=true",
	)
	return cmd
}
