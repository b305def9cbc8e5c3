# Reads what `go test -json` prints, see `go doc test2json`.

# string returns the text of a key of this event, still escaped. A key inside
# another text has a backslash before its quotes and is not found.
function string(key,    at, rest) {
	at = index($0, "\"" key "\":\"")
	if (at == 0)
		return ""
	rest = substr($0, at + length(key) + 4)
	match(rest, /^([^"\\]|\\.)*/)
	return substr(rest, 1, RLENGTH)
}

function plain(s) {
	gsub(/\\n/, "\n", s)
	gsub(/\\t/, "\t", s)
	gsub(/\\"/, "\"", s)
	gsub(/\\u003c/, "<", s)
	gsub(/\\u003e/, ">", s)
	gsub(/\\u0026/, "\\&", s)
	gsub(/\\\\/, "\\", s)
	return s
}

function show(id,    i) {
	for (i = 1; i <= lines[id]; i++)
		printf "%s", plain(output[id, i])
}

function drop(id,    i) {
	for (i = 1; i <= lines[id]; i++)
		delete output[id, i]
	delete lines[id]
}

!/^\{/ { print; next }

{
	action = string("Action")
	package = string("Package")
	test = string("Test")
	id = package "\t" test
}

action == "build-output" { printf "%s", plain(string("Output")); next }

action == "output" {
	text = string("Output")
	if (test == "" && text ~ /^(ok  |FAIL\\t)/)
		printf "%s", plain(text)
	else
		output[id, ++lines[id]] = text
	next
}

action == "fail" && test != "" { failed++; broken[package] = 1 }
action == "pass" && test != "" { passed++ }
action == "skip" && test != "" { skipped++ }

# A package can fail although each of its tests passed, and without running any.
action == "fail" && test == "" && !broken[package] { failed++ }

action == "fail" { show(id) }
action == "fail" || action == "pass" || action == "skip" { drop(id) }

END {
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	printf "%d\t%d\t%d\n", passed, failed, skipped >> counts
	exit failed > 0
}
