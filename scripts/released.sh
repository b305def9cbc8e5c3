#!/usr/bin/env bash
# Makes e2e/testdata/released/NAME.tar.gz: a home as the program of a commit left
# it, with the history that it read. Run it once for a commit whose schema is
# about to change, and never again for that name:
#
#	scripts/released.sh COMMIT
#
# NAME is memoryM-stateS, the versions of the two databases. TestReleasedHomes
# opens each with the program as it is now.
set -euo pipefail
cd "$(dirname "$0")/.."

commit=${1:?usage: scripts/released.sh COMMIT}
ana=/tmp/ana # a home with a name that may stand in a file that all may read
[ ! -e "$ana" ] || { echo "$ana is in the way" >&2; exit 1; }
mkdir -p build e2e/testdata/released
tree=$PWD/build/released
git worktree add --detach "$tree" "$commit" >/dev/null 2>&1
trap 'git worktree remove --force "$tree"; rm -rf "$ana"' EXIT
(cd "$tree" && go build -o "$tree/ambry-then" ./cmd/ambry)
go run ./bench/sample -out "$ana" -now 2026-11-01T12:00:00Z >/dev/null

then_ambry() { env -i HOME="$ana" PATH=/usr/bin:/bin "$tree/ambry-then" "$@"; }
# may is for what some of the commits cannot do.
may() { then_ambry "$@" >/dev/null 2>&1 || echo "  cannot: ambry $*"; }

env -i HOME="$ana" PATH=/usr/bin:/bin "$tree/ambry-then" serve >"$ana/serve.out" 2>&1 &
service=$!
for _ in $(seq 200); do then_ambry status >/dev/null 2>&1 && break; sleep 0.1; done
then_ambry scan --allow --wait >/dev/null 2>&1
then_ambry add "The lock keeper of canal nine is on leave until Thursday." --title "Lock keeper" --tag canal --project /srv/canal >/dev/null
then_ambry add "Die Schleuse braucht neue Dichtungen; 水闸需要新的密封件。" >/dev/null
then_ambry add "This note about the zeppelin hangar is forgotten again." >/dev/null
then_ambry search why did the nightly backup fail >/dev/null
may forget --yes zeppelin hangar
may token create codex
may connect --allow claude_code
mkdir "$ana/copies"
may source add "$ana/copies" --format codex
hook() { then_ambry hook claude_code "$1" >/dev/null 2>&1 || true; }
echo '{"session_id":"5e551011-0000-4000-8000-0000000000aa","cwd":"/srv/canal","prompt":"who keeps the sluice of basin four?"}' | hook UserPromptSubmit
echo '{"session_id":"5e551011-0000-4000-8000-0000000000aa","cwd":"/srv/canal","last_assistant_message":"Mira keeps it."}' | hook Stop
for _ in $(seq 50); do [ -n "$(ls "$ana/.ambry/hooks/spool" 2>/dev/null)" ] || break; sleep 0.1; done
kill "$service"
wait "$service" || true

version() { od -An -tu4 --endian=big -j60 -N4 "$1" | tr -d ' '; }
name=memory$(version "$ana/.ambry/memory.db")-state$(version "$ana/.ambry/app.db")
[ ! -e "$ana/.ambry/memory.db-wal" ] || { echo "the memory was not closed" >&2; exit 1; }
rm -rf "$ana/.ambry/logs" "$ana/.ambry/runtime.json" "$ana/.ambry"/*.lock "$ana/serve.out"
pack() { tar -C "$ana" --sort=name --owner=0 --group=0 --numeric-owner --mtime=2026-11-01 -c "${@:2}" | gzip -9n >"e2e/testdata/released/$1.tar.gz"; }
[ -e e2e/testdata/released/history.tar.gz ] || pack history .claude/projects .codex/sessions # all have read the same
pack "$name" --exclude ./.claude/projects --exclude ./.codex/sessions .
ls -l "e2e/testdata/released/$name.tar.gz"
