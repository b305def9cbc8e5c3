#!/usr/bin/env bash
# Runs go test and says little: a line per package, the output of what failed,
# and the counts. The counts are also added to build/tests.tsv, for .ci/run.
set -euo pipefail

mkdir -p build
go test -json "$@" 2>&1 | awk -v counts=build/tests.tsv -f scripts/gotest.awk
