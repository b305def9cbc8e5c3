#!/usr/bin/env bash
# Installs the command lines of agents below build/ and runs them against a model
# that does not think. With arguments only those packages are installed.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(@anthropic-ai/claude-code @openai/codex opencode-ai @google/gemini-cli @qwen-code/qwen-code @github/copilot)
[ $# = 0 ] || packages=("$@")
dir=build/agents
mkdir -p "$dir"

command -v npm >/dev/null || { echo "npm is needed to install the agents"; exit 1; }
# One after the other: an agent that cannot be installed here is left out, and said so.
for package in "${packages[@]}"; do
	[ -d "$dir/node_modules/$package" ] && continue
	npm install --prefix "$dir" --no-audit --no-fund --loglevel=error "$package" || echo "left out: $package cannot be installed"
done
# The package of Claude Code has the program put in place by a script of its own,
# which npm may not run by itself.
claude="$dir/node_modules/@anthropic-ai/claude-code/install.cjs"
[ ! -e "$claude" ] || node "$claude" >/dev/null

PATH="$PWD/$dir/node_modules/.bin:$PATH" go test -tags agents -count=1 -timeout 30m -v ./e2e/agents
