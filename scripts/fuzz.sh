#!/usr/bin/env bash
# Runs every fuzz target for the given time, one after the other.
set -euo pipefail

targets=$(git grep --untracked -ho '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | wc -l)
if [ "$targets" = 0 ]; then
	echo "no fuzz target found" >&2
	exit 1
fi
git grep --untracked -o '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | while IFS=: read -r file func; do
	name=${func#func }
	echo "$(dirname "$file") $name"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" "./$(dirname "$file")" </dev/null
done
