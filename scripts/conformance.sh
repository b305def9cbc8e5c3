#!/usr/bin/env bash
# The official MCP conformance suite, both ways. It needs npm, from which come the
# suite and the Node that it wants; everything stays in build/conformance.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=build/conformance
mkdir -p "$dir"
[ -f "$dir/package.json" ] || echo '{"private":true}' > "$dir/package.json"
[ -x "$dir/node_modules/.bin/conformance" ] || npm install --prefix "$dir" --no-audit --no-fund node@22 @modelcontextprotocol/conformance@0.1.16
go build -o "$dir/everything-server" github.com/modelcontextprotocol/go-sdk/conformance/everything-server
export CONFORMANCE="$PWD/$dir/node_modules/@modelcontextprotocol/conformance"
node="$PWD/$dir/node_modules/.bin/node"
root=$PWD
cd "$dir" # the suite leaves its results where it runs
"$node" "$root/scripts/conformance.mjs" server "$root/bin/ambry" "$PWD/everything-server" --suite all
for scenario in initialize tools_call elicitation-sep1034-client-defaults sse-retry; do
	"$node" "$root/scripts/conformance.mjs" client "$root/bin/ambry" --scenario "$scenario" | tail -n 6
done
