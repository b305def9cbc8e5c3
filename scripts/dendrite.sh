#!/usr/bin/env bash
# The Matrix channel against a real homeserver, Dendrite, built from its module
# into build/dendrite. It is not part of `make test`: building it takes minutes
# and a C compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$PWD/build/dendrite
version=v0.13.8
if [ ! -f "$dir/$version" ]; then
	mkdir -p "$dir"
	for program in dendrite generate-keys; do
		CGO_ENABLED=1 GOBIN=$dir go install "github.com/matrix-org/dendrite/cmd/$program@$version"
	done
	touch "$dir/$version"
fi
DENDRITE=$dir go test -tags dendrite -count=1 -timeout 10m -run TestARealHomeserver -v ./internal/channel/matrix
