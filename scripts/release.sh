#!/usr/bin/env bash
# Makes a release in this clone: moves the unreleased entries into CHANGELOG.md,
# commits and tags that, builds dist/, and builds one binary again to see that the
# bytes are the same. It pushes nothing.
set -euo pipefail

version=${1:-}
fail() {
	echo "release: $*" >&2
	exit 1
}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || fail "say which, as in make release V=1.2.3"
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "v$version exists"
entries=(changelog/unreleased/*.md)
[ -e "${entries[0]}" ] || fail "changelog/unreleased/ has no entry"

section() {
	echo "## $version ($(date -u +%F))"
	for kind in Security Change New Fix; do
		for entry in "${entries[@]}"; do
			[[ $(head -1 "$entry") == "$kind: "* ]] || continue
			echo
			sed '1s/^/### /' "$entry"
		done
	done
}

for entry in "${entries[@]}"; do
	[[ $(head -1 "$entry") =~ ^(Security|Change|New|Fix):\  ]] || fail "$entry does not begin with Security, Change, New or Fix"
done
mkdir -p build
{
	sed '/^<!-- releases -->$/q' CHANGELOG.md
	echo
	section
	sed '1,/^<!-- releases -->$/d' CHANGELOG.md
} >build/CHANGELOG.md
mv build/CHANGELOG.md CHANGELOG.md
mkdir -p "changelog/$version"
git mv "${entries[@]}" "changelog/$version/"
git commit -q -m "release: $version" -- CHANGELOG.md changelog
git tag -a -m "$version" "v$version"

rm -rf dist
make cross V="$version"

# The same bytes must come from another folder and with an empty cache.
echo "building dist/ambry-linux-amd64 once more, from nothing"
again=$PWD/build/again
git worktree add -f --detach "$again" "v$version" >/dev/null
trap 'git worktree remove --force "$again"' EXIT
(cd "$again" && GOCACHE=$again/cache make cross V="$version" TARGETS=linux/amd64 >/dev/null)
cmp "$again/dist/ambry-linux-amd64" dist/ambry-linux-amd64 || fail "two builds differ"

cp NOTICE dist/
scripts/notice.sh -texts >dist/LICENCES-OF-MODULES
(cd dist && sha256sum -- * >SHA256SUMS)
cat dist/SHA256SUMS
echo "v$version is tagged and in dist/; push with: git push --follow-tags"
