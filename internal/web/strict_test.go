package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/web"
)

func TestCheckJSON(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := func(last string) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, `"name%d":%d,`, i, i)
		}
		return "{" + b.String() + last + "}"
	}
	tests := []struct {
		name, json string
		ok         bool
	}{
		{"an object", `{"a":1,"b":[true,null,"x"],"c":{"a":1}}`, true},
		{"blanks around it", " \r\n\t{} \n", true},
		{"a scalar", `"x"`, true},
		{"nothing", "", false},
		{"blanks alone", "  ", false},
		{"a byte order mark", "\xef\xbb\xbf{}", false},
		{"cut off", `{"a":`, false},
		{"a name without value", `{"a"}`, false},
		{"closed wrongly", `{"a":1]`, false},
		{"closed too often", `{}}`, false},
		{"closed first", `}`, false},
		{"a trailing comma", `[1,]`, false},
		{"two values", `{}{}`, false},
		{"junk behind", `{} x`, false},
		{"NUL behind", "{}\x00", false},

		{"64 deep", deep(64), true},
		{"65 deep", deep(65), false},
		{"objects 65 deep", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), false},

		{"a name twice", `{"a":1,"a":2}`, false},
		{"a name in two cases", `{"confirm":false,"Confirm":true}`, false},
		{"a name twice, once escaped", `{"a":1,"\u0061":2}`, false},
		{"a name in two cases, once escaped", `{"a":1,"\u0041":2}`, false},
		{"Kelvin sign for k", `{"k":1,"\u212a":2}`, false},
		{"long s for s", `{"s":1,"ſ":2}`, false},
		{"Greek sigmas", `{"σ":1,"ς":2}`, false},
		{"twice in a nested object", `{"x":{"b":1,"B":2}}`, false},
		{"twice after a nested object", `{"a":{"b":1},"A":2}`, false},
		{"the same in two objects", `[{"a":1},{"a":2},{"A":{"a":3}}]`, true},
		{"as value and name", `{"a":"b","b":"a"}`, true},
		{"names that begin alike", `{"a":1,"ab":2,"abc":3}`, true},
		{"names whose text joins alike", `{"ab":1,"c":2,"a":3,"bc":4}`, true},
		{"the empty name twice", `{"":1,"":2}`, false},
		{"many names", many(`"other":1`), true},
		{"many names, the first again", many(`"NAME0":1`), false},
		{"many names, the last again", many(`"name39":1`), false},
		{"many names, then an object", many(`"x":{"name0":1}`), true},

		{"bad UTF-8", "\"\xff\"", false},
		{"an overlong slash", "\"\xc0\xaf\"", false},
		{"a surrogate as UTF-8", "\"\xed\xa0\x80\"", false},
		{"half a surrogate pair", `"\ud800"`, false},
		{"a whole surrogate pair", `"\ud83d\ude00"`, true},
		{"NUL in a string", "\"\x00\"", false},
		{"NUL escaped", `"a\u0000"`, false},
		{"NUL escaped in a name", `{"\u0000":1}`, false},
		{"a backslash, then NUL", `"\\\u0000"`, false},
		{"a backslash and digits", `"\\u0000"`, true},
		{"a control character", "\"\n\"", false},

		{"2^53", `9007199254740992`, true},
		{"-2^53", `-9007199254740992`, true},
		{"2^53+1", `9007199254740993`, false},
		{"2^53+0.5", `9007199254740992.5`, false},
		{"2^53+2", `9007199254740994`, false},
		{"twenty digits", `99999999999999999999`, false},
		{"1e15", `1e15`, true},
		{"1e16", `1e16`, false},
		{"1e400", `1e400`, false},
		{"-1E400", `-1E400`, false},
		{"a long fraction", `0.1234567890123456789`, true},
		{"1e-400", `1e-400`, true},
		{"a leading zero", `01`, false},
		{"a plus", `+1`, false},
		{"hexadecimal", `0x10`, false},
		{"NaN", `NaN`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := web.CheckJSON([]byte(tt.json))
			if (err == nil) != tt.ok {
				t.Errorf("got %v, want ok %v", err, tt.ok)
			}
		})
	}
}

// FuzzCheckJSON: what passes is JSON to encoding/json too, means the same there
// with and without regard to case, and is refused as soon as a name is doubled.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1,"A":2}`, `[[{}]]`, `{"k":"\u0000"}`, `{"\u212a":1}`, `9007199254740993`, `{"a":{"b":[1,2,{"c":null}]}}`, "{\"a\":\"\xff\"}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if web.CheckJSON(data) != nil {
			return
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%q passed, and is no JSON: %v", data, err)
		}
		check(t, v, 0)
		trimmed := bytes.TrimSpace(data)
		if _, ok := v.(map[string]any); ok && len(trimmed) > 2 {
			twice := append(append(bytes.Clone(trimmed[:len(trimmed)-1]), ','), trimmed[1:]...)
			if web.CheckJSON(twice) == nil {
				t.Fatalf("every name twice passed: %q", twice)
			}
		}
	})
}

func check(t *testing.T, v any, depth int) {
	if depth > web.MaxDepth {
		t.Fatalf("deeper than %d", web.MaxDepth)
	}
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			t.Fatalf("NUL in %q", v)
		}
	case float64:
		if v > 1<<53 || v < -1<<53 {
			t.Fatalf("%v is too large", v)
		}
	case []any:
		for _, each := range v {
			check(t, each, depth+1)
		}
	case map[string]any:
		for name, each := range v {
			check(t, name, depth+1)
			check(t, each, depth+1)
			for other := range v {
				if other != name && strings.EqualFold(other, name) {
					t.Fatalf("%q and %q are one name", name, other)
				}
			}
		}
	}
}

func BenchmarkCheckJSON(b *testing.B) {
	var doc bytes.Buffer
	doc.WriteString(`{"turns":[`)
	for i := range 2000 {
		if i > 0 {
			doc.WriteByte(',')
		}
		fmt.Fprintf(&doc, `{"id":"turn-%d","role":"user","text":"a line of text with \"quotes\" and\nbreaks, as people write it","tokens":{"input":%d,"output":%d},"done":true,"tags":["a","bb"]}`, i, i*13, i*7)
	}
	doc.WriteString(`]}`)
	b.SetBytes(int64(doc.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if err := web.CheckJSON(doc.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
