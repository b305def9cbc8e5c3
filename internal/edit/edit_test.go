package edit_test

import (
	"errors"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/edit"
)

var (
	server = edit.Object{{Key: "command", Value: "/opt/ambry"}, {Key: "args", Value: []string{"mcp"}}}
	hook   = edit.Object{{Key: "hooks", Value: []any{edit.Object{
		{Key: "type", Value: "command"}, {Key: "command", Value: "/opt/ambry hook x Stop"}, {Key: "timeout", Value: 5},
	}}}}
	entry = edit.Place{Path: []string{"servers", "ambry"}}
	item  = edit.Place{Path: []string{"hooks", "Stop"}, Mine: []string{"ambry hook x Stop"}}
	flag  = edit.Place{Path: []string{"features", "hooks"}}
)

// put applies changes until there are no more.
func put(t testing.TB, f edit.Format, text string, at edit.Place, value any) (string, error) {
	t.Helper()
	for range 20 {
		c, err := edit.Put(f, []byte(text), at, value)
		if err != nil {
			return text, err
		}
		if c.Nothing() {
			return text, nil
		}
		if !strings.HasPrefix(text[c.At:], c.Old) {
			t.Fatalf("the change does not fit: %+v", c)
		}
		text = string(c.Apply([]byte(text)))
	}
	t.Fatal("there is no end to the changes")
	return "", nil
}

func drop(t testing.TB, f edit.Format, text string, at edit.Place, made int) (string, error) {
	t.Helper()
	for range 20 {
		c, err := edit.Drop(f, []byte(text), at, made)
		if err != nil {
			return text, err
		}
		if c.Nothing() {
			return text, nil
		}
		text = string(c.Apply([]byte(text)))
	}
	t.Fatal("there is no end to the changes")
	return "", nil
}

// files are texts in each format as people write them.
var files = map[edit.Format][]string{
	edit.JSON: {
		"{}", "{}\n", "{ }\n", "{\n}\n", "", "\n", "// nothing yet\n", "{\"a\":1}", "{ \"a\": 1, \"b\": [] }\n",
		"{\n  \"a\": 1\n}\n", "{\n\t\"a\": 1, // one\n\t\"b\": {\"c\": 2}, // two\n}\n", "{\r\n    \"a\": 1e3\r\n}\r\n",
		"\xef\xbb\xbf{\n  \"servers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n",
		"{\n  \"servers\": {},\n  \"hooks\": {}\n}", "{\"servers\":{\"a\":{}},\"hooks\":{\"Stop\":[{\"hooks\":[]}]}}",
		"{\n  /* a */ \"servers\": { /* none */ },\n  \"n\": 12345678901234567890123\n}\n",
		"{\"a\":1 // x\n}", "{\n  \"a\": 1 // last\n  // after\n}\n", "{\"servers\": {\"x\": 1}, \"features\": {\"b\": false}}\n",
		"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"command\": \"mine\"}]},\n    ],\n  },\n}\n",
		"{\"a\":\"\\u00e9\\ud83d\\ude00\",\"b\":null}",
	},
	edit.JSON5: {
		"{a: 1, 'b': 'it\\'s',}\n", "// c\n{\n  servers: {\n    other: {command: 'x', n: +.5, h: 0xFF, i: -Infinity},\n  },\n}\n", "{}",
		"{\n  text: 'one \\\n two',\n}\n",
	},
	edit.TOML: {
		"", "\n", "a = 1", "a = 1\n", "# only a comment\n", "a = 1\r\nb = 2 # two\r\n", "\xef\xbb\xbfa = 1\n",
		"[servers.other]\ncommand = \"x\"\n\n[servers.other.env]\nK = \"v\"\n", "[features]\nother = true # yes\n\n[z]\n",
		"servers = { other = { command = \"x\" } }\n", "servers = {}\nfeatures = { a = 1 }\nhooks = {}\n", "servers.other.command = \"x\"\nfeatures.a = true\n",
		"[servers]\n[servers.other]\ncommand = 'x'\n", "s = \"\"\"\n[servers.ambry]\n\"\"\"\nlist = [\n  1, # one\n  2,\n]\n",
		"[[hooks.Stop]]\ncommand = \"mine\"\n\n[other]\nx = 1979-05-27T07:32:00Z\n", "[hooks]\nStop = []\n", "hooks.Stop = [ { command = \"mine\" } ]\n",
		"\"quoted key\" = 'v'\n[\"a.b\".c]\nx = 1\n[servers.\"dotted.name\"]\ny = 2",
	},
	edit.YAML: {
		"", "\n", "# nothing\n", "a: 1\n", "a: 1", "a: 1\r\nb:\r\n    c: 2\r\n", "---\na: 1\n", "---\na: 1\n...\n", "\xef\xbb\xbfa: 1\n",
		"servers:\n  other: # x\n    command: y\n\n# the end\nz: 1\n", "servers:\nhooks:\nfeatures:\n", "servers: {}\nhooks: {}\nfeatures: {}\n",
		"servers: {other: {command: \"y, z\"}} # one line\nhooks: {Stop: [{command: mine}]}\n", "hooks:\n  Stop:\n  - command: mine\n    timeout: 3\nz: 1\n",
		"hooks:\n  Stop:\n    - command: mine\n  Start: [a, b]\n", "hooks:\n  Stop: []\n", "text: |\n  servers:\n    ambry: no\n\nother: >-\n  folded\n  text\n",
		"'servers':\n    \"other\": {a: 'it''s'}\n", "base: &b\n  x: 1\nservers:\n  one:\n    <<: *b\n    y: 2\n", "list:\n- 1\n- 2\nmap: {\n  a: 1,\n  b: [1, 2]\n}\n",
		"features:\n  # a comment that is indented\n  other: true\n  # another\n", "a: \"two\n  lines\"\nb: plain\n  goes on\n", "url: http://x:1/y#z\ntime: 12:30\nbig: 12345678901234567890123\n",
		"servers: null\nhooks: ~\n",
	},
}

// lossy reports whether a text cannot be had back from what it became, but only
// with what was kept of it: nothing may have stood in several ways.
func lossy(f edit.Format, text string) bool {
	nothing := map[string]bool{"{ }\n": true, "{\n}\n": true, "": true, "\n": true, "// nothing yet\n": true}
	return nothing[text] || f == edit.TOML && !strings.HasSuffix(text, "\n") || f == edit.YAML && strings.HasPrefix(text, "servers:") && strings.Contains(text, "hooks:")
}

// all is what is written into them.
var all = []struct {
	at    edit.Place
	value any
}{{entry, server}, {item, hook}, {flag, true}}

func TestPutAndDropAreEachOthersOpposite(t *testing.T) {
	for format, texts := range files {
		for _, text := range texts {
			for _, tt := range all {
				n := edit.Missing(format, []byte(text), tt.at)
				after, err := put(t, format, text, tt.at, tt.value)
				if err != nil {
					t.Errorf("%s %q: %v", format, text, err)
					continue
				}
				if has, err := edit.Has(format, []byte(after), tt.at); err != nil || !has {
					t.Errorf("%s %q: ours is not in\n%s (%v)", format, text, after, err)
				}
				if again, err := put(t, format, after, tt.at, tt.value); err != nil || again != after {
					t.Errorf("%s %q: the second time it becomes\n%s (%v)", format, text, again, err)
				}
				back, err := drop(t, format, after, tt.at, n)
				if err != nil {
					t.Errorf("%s %q → %q: %v", format, text, after, err)
					continue
				}
				if back != text && !lossy(format, text) {
					t.Errorf("%s %q: back it is %q", format, text, back)
				}
				if !edit.SameBut(format, []byte(text), []byte(back), tt.at) {
					t.Errorf("%s %q: back it says something else: %q", format, text, back)
				}
			}
		}
	}
}

// refused are texts that are left alone.
var refused = []struct {
	format edit.Format
	text   string
	want   error
}{
	{edit.JSON, "{", edit.ErrSyntax},
	{edit.JSON, "{} {}", edit.ErrSyntax},
	{edit.JSON, "{a: 1}", edit.ErrSyntax},
	{edit.JSON, "{\"a\": 1 \"b\": 2}", edit.ErrSyntax},
	{edit.JSON, "{\"servers\": []}", edit.ErrShape},
	{edit.JSON, "[]", edit.ErrShape},
	{edit.JSON, "{\"a\": \"\x01\"}", edit.ErrSyntax},
	{edit.JSON, "\xff\xfe{\x00}\x00", edit.ErrSyntax},
	{edit.JSON, strings.Repeat("[", 5000), edit.ErrSyntax},
	{edit.YAML, "a: [", edit.ErrSyntax},
	{edit.YAML, "servers: [1]\n", edit.ErrShape},
	{edit.YAML, "servers: text\n", edit.ErrShape},
	{edit.YAML, "a: 1\n---\nb: 2\n", edit.ErrShape},
	{edit.YAML, "b: &x {q: 1}\nservers: *x\n", edit.ErrShape},
	{edit.YAML, "a: 1\n b: 2\n", edit.ErrSyntax},
	{edit.YAML, "\ta: 1\n", edit.ErrSyntax},
	{edit.TOML, "a = ", edit.ErrSyntax},
	{edit.TOML, "servers = 3\n", edit.ErrShape},
	{edit.TOML, "[[servers]]\na = 1\n", edit.ErrShape},
	{edit.TOML, "a = 1\na = 2\n", edit.ErrSyntax},
}

func TestPutRefuses(t *testing.T) {
	for _, tt := range refused {
		if c, err := edit.Put(tt.format, []byte(tt.text), entry, server); !errors.Is(err, tt.want) || !c.Nothing() {
			t.Errorf("%s %q: got %+v, %v, want %v", tt.format, tt.text, c, err, tt.want)
		}
	}
}
