package agent

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// decoded returns the values of a line as JSON, and whether all of it was good.
func decoded(line string, torn bool) (got []string, ok bool) {
	var d Decoder
	_, ok = d.decode([]byte(line), torn, func(v Value) { got = append(got, v.JSON(1<<20)) })
	return got, ok
}

func TestDecode(t *testing.T) {
	nul := strings.Repeat("\x00", 100)
	for name, c := range map[string]struct {
		line string
		want []string
		ok   bool
	}{
		"one":                       {`{"a":1}`, []string{`{"a":1}`}, true},
		"nothing":                   {"", nil, true},
		"blanks":                    {" \t\r\n", nil, true},
		"glued":                     {`{"a":1}{"b":2}`, []string{`{"a":1}`, `{"b":2}`}, true},
		"glued with a blank":        {`{"a":1} {"b":2}`, []string{`{"a":1}`, `{"b":2}`}, true},
		"NULs before":               {nul + `{"a":1}`, []string{`{"a":1}`}, true},
		"NULs behind":               {`{"a":1}` + nul, []string{`{"a":1}`}, true},
		"NULs between":              {`{"a":1}` + nul + `{"b":2}`, []string{`{"a":1}`, `{"b":2}`}, false},
		"only NULs":                 {nul, nil, true},
		"not JSON":                  {`oops`, nil, false},
		"torn, then good":           {`{"a":"half{"b":{"c":[{"d":1}]}}`, []string{`{"b":{"c":[{"d":1}]}}`}, false},
		"good, torn, good":          {`{"a":1}{"x":"ha{"b":2}`, []string{`{"a":1}`, `{"b":2}`}, false},
		"torn in a list, then good": {`{"a":[{"x":1},{"y"{"b":{"c":1}}`, []string{`{"b":{"c":1}}`}, false},
		"an inner object is not a record": {
			`{"type":"outer","payload":{"type":"inner"}`, nil, false,
		},
		"nor is the last of a list": {`[{"a":1},{"b":2}`, nil, false},
		"a good record, then torn":  {`{"a":1}{"b":`, []string{`{"a":1}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := decoded(c.line, false)
			if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
				t.Errorf("ok %v, want %v; %s", ok, c.ok, diff)
			}
		})
	}
}

func TestALineBeingWrittenHasNoInnerRecords(t *testing.T) {
	// Behind a line that is good up to its end, a nested object may look like one
	// that was written later.
	for _, line := range []string{`{"a":"x{"b":1}`, `{"type":"x","p":{"type":"y"}`} {
		if got, _ := decoded(line, true); len(got) != 0 {
			t.Errorf("%s: found %v", line, got)
		}
	}
}

func TestLoneSurrogates(t *testing.T) {
	for name, c := range map[string]struct{ escaped, want string }{
		"a pair":                  {`\ud83d\ude00`, "😀"},
		"upper case":              {`\uD83D\uDE00`, "😀"},
		"high at the end":         {`a\ud83d`, "a\ufffd"},
		"high before text":        {`\ud83dx`, "\ufffdx"},
		"low alone":               {`\ude00x`, "\ufffdx"},
		"low before a pair":       {`\ude00\ud83d\ude00`, "\ufffd😀"},
		"high before a pair":      {`\ud83d\ud83d\ude00`, "\ufffd😀"},
		"high before an escape":   {`\ud83d\n`, "\ufffd\n"},
		"the backslash is text":   {`\\ud83d`, `\ud83d`},
		"two backslashes of text": {`\\\\ud83d`, `\\ud83d`},
		"text and then a half":    {`\\\ud83d.`, `\` + "\ufffd."},
		"no surrogate":            {`\u00e9`, "é"},
	} {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			n, ok := d.Decode([]byte(`{"text":"`+c.escaped+`"}`), func(v Value) {
				if got := v.Text("text"); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
			if n != 1 || !ok {
				t.Errorf("%d values, %v", n, ok)
			}
		})
	}
}

func TestADepthOfAHundredThousand(t *testing.T) {
	for _, depth := range []int{maxDepth - 2, maxDepth, 1000, 100_000} {
		line := `{"type":"x","deep":` + strings.Repeat(`[{"a":`, depth/2) + "1" + strings.Repeat("}]", depth/2) + `,"after":"y"}`
		var d Decoder
		n, ok := d.Decode([]byte(line), func(v Value) {
			if v.Text("type") != "x" || v.Text("after") != "y" || !v.Get("deep").IsList() {
				t.Errorf("depth %d: what is not deep is lost", depth)
			}
		})
		if n != 1 || !ok {
			t.Errorf("depth %d: %d values, %v", depth, n, ok)
		}
	}
	if got, ok := decoded(strings.Repeat("[", 100_000), false); len(got) != 0 || ok {
		t.Errorf("found %d values in what is never closed", len(got))
	}
}

func TestAnOverfullLineIsGivenUp(t *testing.T) {
	line := `{"a":[` + strings.Repeat("10,", maxValues) + `1]}`
	if got, ok := decoded(line, false); len(got) != 0 || ok {
		t.Errorf("%d values, %v", len(got), ok)
	}
}

func TestADecoderHoldsNoLongLine(t *testing.T) {
	var d Decoder
	if n, ok := d.Decode([]byte(jsonOf(4*longLine)), func(Value) {}); n != 1 || !ok {
		t.Fatalf("%d values, %v", n, ok)
	}
	if d.scratch != nil || d.scanner.Value() != nil {
		t.Error("the memory of a long line is still held")
	}
}

// FuzzDecode checks that nothing makes the decoder fail, and that a valid line
// is decoded as the standard library does it.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":1}{"b":"c"}`, `{"a":"x{"b":[null,true,1.5e3]}`, "\x00{}", `{"a":"\ud83d"}`, `[`, `{"a":{"a":{"a":"\\u0041\u0041"}},"a":0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var want any
		valid := json.Unmarshal(line, &want) == nil
		var d Decoder
		var got []string
		n, ok := d.Decode(bytes.Clone(line), func(v Value) {
			walk(t, v)
			got = append(got, v.JSON(1<<20))
		})
		if n != len(got) {
			t.Errorf("%d values told, %d given", n, len(got))
		}
		if !valid || !utf8.Valid(line) || len(line) > 4<<10 {
			return
		}
		if n != 1 || !ok {
			t.Fatalf("%q: %d values, %v", line, n, ok)
		}
		var back any
		if s, isText := want.(string); isText {
			if got[0] != s {
				t.Errorf("got %q, want %q", got[0], s)
			}
		} else if want != nil {
			if err := json.Unmarshal([]byte(got[0]), &back); err != nil || !cmp.Equal(want, back) {
				t.Errorf("%s became %s, %v", line, got[0], err)
			}
		}
	})
}

// walk looks at all of a value.
func walk(t *testing.T, v Value) {
	if !utf8.ValidString(v.Text()) {
		t.Errorf("%q is not UTF-8", v.Text())
	}
	v.Int()
	v.Bool()
	for e := range v.List() {
		walk(t, e)
	}
	for key, e := range v.Fields() {
		if !utf8.ValidString(key) {
			t.Errorf("key %q is not UTF-8", key)
		}
		walk(t, e)
	}
}

// FuzzFlatten checks that a valid line stays valid whatever its depth, and
// itself when it is not deep.
func FuzzFlatten(f *testing.F) {
	f.Add(`"]"`, uint16(3))
	f.Add(`{"a":[1,"}"]}`, uint16(maxDepth))
	f.Add(`"\\\""`, uint16(maxDepth+1))
	f.Fuzz(func(t *testing.T, inner string, depth uint16) {
		n := int(depth % (3 * maxDepth))
		line := []byte(strings.Repeat(`[0,{"a":`, n) + inner + strings.Repeat(`},2]`, n))
		if !json.Valid(line) {
			return
		}
		out := flatten(nil, line)
		if !json.Valid(out) {
			t.Errorf("%q in depth %d is no longer JSON", inner, n)
		}
		if !tooDeep(line) && !bytes.Equal(out, line) {
			t.Errorf("%q in depth %d was changed", inner, n)
		}
		if tooDeep(out) {
			t.Errorf("%q in depth %d is still deep", inner, n)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	line := []byte(`{"timestamp":"2026-08-01T10:00:00.123Z","type":"response_item","payload":{"type":"message","text":` +
		strconv.Quote(strings.Repeat("some text of a usual length\n", 60)) + `,"code":` + strconv.Quote(strings.Repeat("if (a[0]) { b(); }", 20)) + `}}`)
	b.SetBytes(int64(len(line)))
	var d Decoder
	for b.Loop() {
		d.Decode(line, func(v Value) { v.Is("message", "payload", "type") })
	}
}
