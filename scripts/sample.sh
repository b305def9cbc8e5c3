# Sourced by run.sh and dev.sh. `ambry` is the binary that was built, for the
# person who runs this; after `sample DIR` it is the same in a home in DIR that
# has an invented history, apart from the real one.

runner=(env)

ambry() { "${runner[@]}" "$PWD/bin/ambry" "$@"; }

sample() {
	[ -d "$1/home" ] || go run ./bench/sample -out "$1/home"
	runner=(env -i "HOME=$1/home" "AMBRY_HOME=$1/ambry" "PATH=$PATH" "TERM=${TERM:-dumb}")
}

# field prints the first value of a key in the JSON that ambry writes.
field() { sed -n 's/^ *"'"$1"'": *"\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' | head -1; }
