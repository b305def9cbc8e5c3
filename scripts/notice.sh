#!/usr/bin/env bash
# Prints NOTICE: the modules that the binary contains, on any system, with their
# licences, read from the licence files of the module cache. With -texts it
# prints the licence texts instead, as releases carry them.
set -euo pipefail

modules() {
	for os in linux darwin windows; do
		GOOS=$os go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/ambry
	done | sort -u
}

# names tells licences by sentences that only they have.
names() {
	local text found=()
	text=$(tr -s ' \t\r\n' ' ' <"$1")
	has() { [[ $text == *"$1"* ]]; }
	! has "Apache License, Version 2.0" && ! has "Apache License Version 2.0" || found+=(Apache-2.0)
	! has "Permission is hereby granted, free of charge" || found+=(MIT)
	! has "Mozilla Public License" || found+=(MPL-2.0)
	! has "Permission to use, copy, modify, and" || found+=(ISC)
	if has "Redistribution and use in source and binary forms"; then
		if has "endorse or promote"; then found+=(BSD-3-Clause); else found+=(BSD-2-Clause); fi
	fi
	[ ${#found[@]} -gt 0 ] || found=(unknown)
	printf '%s\n' "${found[@]}" | paste -sd+ | sed 's/+/ and /g'
}

licences() { find "$1" -maxdepth 1 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort; }

list=$(modules)
if [ "${1:-}" = -texts ]; then
	while read -r path version dir; do
		licences "$dir" | while read -r file; do
			printf '======== %s %s: %s\n\n' "$path" "$version" "$(basename "$file")"
			cat "$file"
			echo
		done
	done <<<"$list"
	printf '======== the static embedding\n\n'
	cat internal/memory/static/SOURCES.md internal/memory/static/LICENSE-Apache-2.0.txt
	exit
fi

echo "The ambry binary contains these modules. Written by \"make notice\"; the texts"
echo "of the licences come with each release."
echo
while read -r path version dir; do
	file=$(licences "$dir" | grep -iv notice | head -1)
	licence=unknown
	[ -z "$file" ] || licence=$(names "$file")
	printf '%-48s %-40s %s\n' "$path" "$version" "$licence"
done <<<"$list"

echo
cat internal/memory/static/SOURCES.md
echo
echo "SHA-256 of words.bin: $(sha256sum <internal/memory/static/words.bin | cut -d' ' -f1)"
