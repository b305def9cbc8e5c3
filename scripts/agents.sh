#!/usr/bin/env bash
# Installs the command lines of agents below build/ and runs them against a model
# that does not think. With arguments only those packages of npm are installed. What
# cannot be had is left out, and said so at the end: an agent's own installer that
# fetches from elsewhere, or a Python that is too old.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
	@anthropic-ai/claude-code @openai/codex opencode-ai @google/gemini-cli @qwen-code/qwen-code @github/copilot
	cline@latest @moonshot-ai/kimi-code openclaw@latest @charmland/crush
)
hermes=yes
[ $# = 0 ] || { packages=("$@") hermes=; }
dir=$PWD/build/agents
mkdir -p "$dir"
[ -f "$dir/package.json" ] || echo '{"private":true}' > "$dir/package.json"
left=()

command -v npm >/dev/null || { echo "npm is needed to install the agents"; exit 1; }

# Some want a newer Node than many have. Its package has it put in place by a
# script of its own, which npm may not run by itself.
node=$dir/node
if [ ! -x "$node/node_modules/node/bin/node" ]; then
	mkdir -p "$node"
	echo '{"private":true}' > "$node/package.json"
	(cd "$node" && npm install --no-audit --no-fund --loglevel=error node@24 && cd node_modules/node && node installArchSpecificPackage.js) >/dev/null ||
		left+=("node 24: cannot be installed; the agents run with $(node --version)")
fi
[ ! -x "$node/node_modules/node/bin/node" ] || PATH="$node/node_modules/node/bin:$PATH"

# One after the other: an agent that cannot be installed here is left out.
for package in "${packages[@]}"; do
	name=${package%@latest}
	[ -d "$dir/node_modules/$name" ] && continue
	(cd "$dir" && npm install --no-audit --no-fund --loglevel=error "$package") 2> "$dir/npm.log" ||
		left+=("$name: $(grep -m 1 -o 'Error: .*' "$dir/npm.log" || tail -n 1 "$dir/npm.log")")
done
# As Node's, the package of Claude Code.
claude="$dir/node_modules/@anthropic-ai/claude-code/install.cjs"
[ ! -e "$claude" ] || node "$claude" >/dev/null

if [ -n "$hermes" ] && [ ! -x "$dir/hermes/bin/hermes" ]; then
	{ python3 -m venv "$dir/hermes" && "$dir/hermes/bin/pip" install -q 'hermes-agent[mcp]'; } > "$dir/pip.log" 2>&1 ||
		left+=("hermes-agent: $(grep -m 1 ERROR "$dir/pip.log" || tail -n 1 "$dir/pip.log")")
fi

# Not tried: Cursor, Goose, Kiro, VS Code, Windsurf and Zed are not in these
# registries.
say() {
	local line
	for line in ${left[@]+"${left[@]}"}; do echo "left out: $line"; done
	echo "left out: Cursor, Goose, Kiro, VS Code, Windsurf, Zed: neither npm nor PyPI has them"
}
trap say EXIT
PATH="$dir/node_modules/.bin:$dir/hermes/bin:$PATH" go test -tags agents -count=1 -timeout 60m -v ./e2e/agents
