#!/usr/bin/env bash
# Sees to it that there is a C compiler, which only the race detector needs.
set -euo pipefail

cc=$(go env CC)
if command -v "${cc%% *}" >/dev/null; then
	exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing gcc, for the race detector"
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends gcc libc6-dev >/dev/null
	exit 0
fi
echo "The tests run with the race detector, which needs a C compiler: install gcc (or clang) and try again." >&2
echo "Without one, \"go test ./...\" runs the same tests unraced." >&2
exit 1
