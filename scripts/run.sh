#!/usr/bin/env bash
# The README's first command, after the build: starts the service, reads what the
# agents of this machine have kept, and searches once. With AMBRY_SAMPLE=1, or
# where no agent has kept anything, it does so with an invented history.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/sample.sh

# has_history asks a service of its own, which reads nothing and leaves no trace.
has_history() {
	local probe=$PWD/build/probe found=0
	ambry --home "$probe" scan >/dev/null 2>&1 || true # not permitted, but it starts the service
	ambry --home "$probe" status --json | grep -q '"available": true' || found=1
	stop --home "$probe"
	rm -rf "$probe"
	return $found
}

# stop ends the service that runs, if one does.
stop() {
	local pid
	pid=$(ambry "$@" status --json | field pid || true)
	[ -n "$pid" ] || return 0
	kill "$pid"
	while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}

query=${QUERY:-why did it fail}
if [ "${AMBRY_SAMPLE:-}" = 1 ] || ! has_history; then
	echo "This is a sample: the invented history of a person with two agents, in build/sample."
	sample "$PWD/build/sample"
	query=${QUERY:-why did the nightly backup fail}
	prefix="HOME=$PWD/build/sample/home AMBRY_HOME=$PWD/build/sample/ambry "
else
	echo "Ambry now reads the histories that coding agents keep on this machine, and goes on"
	echo "as they grow. Running this command is your consent to that. Nothing leaves the machine;"
	echo "AMBRY_SAMPLE=1 make run shows the same with an invented history."
	prefix=
fi
echo

running=$(ambry status --json | field version || true)
if [ -n "$running" ] && [ "$running" != "$(ambry version --json | field version)" ]; then
	stop
fi
ambry scan --allow --wait
echo
echo "\$ ambry search $query"
ambry search --limit 3 "$query"
echo
status=$(ambry status --json)
echo "API:     $(field baseUrl <<<"$status") (the token is in $(field home <<<"$status")/runtime.json)"
echo "search:  ${prefix}bin/ambry search WORDS"
echo "stop:    kill $(field pid <<<"$status")"
