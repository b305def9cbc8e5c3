#!/usr/bin/env bash
# Asks govulncheck about our code. The vulnerability database is the module
# golang.org/x/vulndb at the version of tools/go.mod, so that the answer is the
# same everywhere and needs nothing but the module proxy. Fails if our code can
# reach a known vulnerability.
set -euo pipefail

tool="go tool -modfile=tools/go.mod"
read -r version reports < <(go mod download -modfile=tools/go.mod -json golang.org/x/vulndb |
	awk -F '"' '$2 == "Version" { v = $4 } $2 == "Dir" { d = $4 } END { print v, d }')
db=$PWD/build/vulndb/$version
if [ ! -d "$db" ]; then
	rm -rf "$db.part"
	$tool indexdb -vulns "$reports/data/osv" -out "$db.part"
	mv "$db.part" "$db"
fi
$tool govulncheck -db "file://$db" ./...
