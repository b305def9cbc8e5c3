//go:build agents

package agents

import (
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

	// injects is whether what a hook says reaches the request with the prompt.
	injects bool
	// calls is whether our tool can be called.
	calls bool
}

var clis = []cli{
	{
		name: "claude", agent: "claude_code", dirs: []string{".claude", ".claude.json"}, injects: true, calls: true,
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
		name: "codex", agent: "codex", dirs: []string{".codex"}, injects: true, calls: true,
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
		name: "opencode", agent: "opencode", dirs: []string{".config/opencode"}, injects: true, calls: true,
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
		name: "gemini", agent: "gemini_cli", dirs: []string{".gemini"}, injects: true, calls: true,
		prepare: func(w *world) {
			w.write(".gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}, "telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false}}`)
		},
		ask: func(w *world, prompt string) *exec.Cmd {
			return w.with(w.command("gemini", "--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "-p", prompt))
		},
		servers: []string{"mcp", "list"}, connected: "ambry",
	},
	{
		name: "qwen", agent: "qwen_code", dirs: []string{".qwen"}, injects: true, calls: true,
		prepare: func(w *world) {
			w.write(".qwen/settings.json", `{"security": {"auth": {"selectedType": "openai"}}, "telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false}}`)
		},
		ask:     func(w *world, prompt string) *exec.Cmd { return w.with(w.command("qwen", "--yolo", "-p", prompt)) },
		servers: []string{"mcp", "list"}, connected: "ambry",
	},
	{
		name: "copilot", agent: "copilot_cli", dirs: []string{".copilot"}, injects: true, calls: true,
		prepare: func(w *world) { w.write(".copilot/config.json", `{"banner": "never"}`) },
		ask: func(w *world, prompt string) *exec.Cmd {
			return w.with(w.command("copilot", "--allow-all-tools", "-p", prompt))
		},
		servers: []string{"mcp", "list"}, connected: "ambry",
	},
}

// with adds what leads an agent to our model, for all of them.
func (w *world) with(cmd *exec.Cmd) *exec.Cmd {
	key := strings.Repeat("x", 16)
	cmd.Env = append(
		cmd.Env,
		"ANTHROPIC_BASE_URL="+w.url, "ANTHROPIC_API_KEY="+key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"STUB_KEY="+key,
		"GEMINI_API_KEY="+key, "GOOGLE_GEMINI_BASE_URL="+w.url,
		"OPENAI_API_KEY="+key, "OPENAI_BASE_URL="+w.url+"/v1", "OPENAI_MODEL=stub",
		"COPILOT_PROVIDER_BASE_URL="+w.url+"/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY="+key, "COPILOT_MODEL=stub", "COPILOT_OFFLINE=true",
	)
	return cmd
}
