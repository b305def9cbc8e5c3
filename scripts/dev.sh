#!/usr/bin/env bash
# Runs the service in the foreground, with its own files and an invented history
# in build/dev, both new each time.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/sample.sh

rm -rf build/dev
sample "$PWD/build/dev"
(
	for _ in $(seq 100); do
		ambry status >/dev/null 2>&1 && break
		sleep 0.1
	done
	ambry scan --allow --wait
	echo "log: build/dev/ambry/logs/service.log"
	echo "try: HOME=$PWD/build/dev/home AMBRY_HOME=$PWD/build/dev/ambry bin/ambry search why did the nightly backup fail"
) &
ambry serve --log-level debug
