#!/usr/bin/env bash
# Runs the benchmarks of the tests here and in another commit, taking turns on
# this machine, and compares: numbers of different machines or hours say nothing
# about each other.
set -euo pipefail

base=$1
out=$PWD/build/bench
rounds=${ROUNDS:-6} # fewer, and benchstat sees no difference
mkdir -p "$out"
rm -f "$out"/*.txt

packages() { git grep --untracked -l '^func Benchmark' -- '*_test.go' | xargs -r -n1 dirname | sed 's|^|./|' | sort -u; }

run() { # where, which
	(cd "$1" && go test -run '^$' -bench . -benchmem -benchtime 200ms $(packages)) | tee -a "$out/$2.txt"
}

if [ -z "$(packages)" ]; then
	echo "no benchmark found" >&2
	exit 1
fi
git worktree add -f --detach "$out/base" "$base" >/dev/null
trap 'git worktree remove --force "$out/base"' EXIT
for ((i = 0; i < rounds; i++)); do
	run "$PWD" head
	run "$out/base" base
done
echo
go tool -modfile=tools/go.mod benchstat base="$out/base.txt" head="$out/head.txt"
