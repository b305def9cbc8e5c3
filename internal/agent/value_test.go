package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// with calls f with the value of a line.
func with(t *testing.T, line string, f func(v Value)) {
	t.Helper()
	var d Decoder
	if n, ok := d.Decode([]byte(line), f); n != 1 || !ok {
		t.Fatalf("%s: %d values, %v", line, n, ok)
	}
}

func TestTheLastOfEqualKeysCounts(t *testing.T) {
	with(t, `{"a":1,"b":{"c":1},"a":2,"b":{"c":3},"\u0061":4}`, func(v Value) {
		if a, c := v.Int("a"), v.Int("b", "c"); a != 4 || c != 3 {
			t.Errorf("a is %d, b.c is %d", a, c)
		}
	})
}

func TestInt(t *testing.T) {
	for in, want := range map[string]int64{
		`12`: 12, `-3`: -3, `1.9`: 1, `1e3`: 1000, `9007199254740993`: 9007199254740993,
		`"12"`: 12, `"-7"`: -7, `"1.5"`: 1, `"1e2"`: 100,
		`"x"`: 0, `""`: 0, `null`: 0, `true`: 0, `[1]`: 0, `1e400`: 0, `"NaN"`: 0, `"99999999999999999999"`: 0,
	} {
		with(t, `{"n":`+in+`}`, func(v Value) {
			if got := v.Int("n"); got != want {
				t.Errorf("%s is %d, want %d", in, got, want)
			}
		})
	}
}

func TestAnAbsentValueIsEmpty(t *testing.T) {
	with(t, `{"a":{"b":null},"s":"x"}`, func(v Value) {
		for _, w := range []Value{{}, v.Get("x"), v.Get("a", "b"), v.Get("s", "t"), v.Get("a", "x", "y")} {
			if w.Exists() || w.Text() != "" || w.Int() != 0 || w.Bool() || w.IsText() || w.IsList() || w.IsObject() || w.JSON(9) != "" || w.Bytes() != nil || w.Is("") {
				t.Errorf("%v is something", w)
			}
			for range w.List() {
				t.Error("an absent value has elements")
			}
			for range w.Fields() {
				t.Error("an absent value has members")
			}
		}
	})
}

func TestTextIsUTF8(t *testing.T) {
	with(t, "{\"a\":\"x\xff\xfey\"}", func(v Value) {
		if got := v.Text("a"); got != "x\ufffdy" {
			t.Errorf("got %q", got)
		}
	})
}

func TestListsAndFieldsCanBeLeft(t *testing.T) {
	with(t, `{"l":[1,2,3],"o":{"x":1,"y":2}}`, func(v Value) {
		var seen []string
		for e := range v.List("l") {
			seen = append(seen, e.JSON(9))
			if len(seen) == 2 {
				break
			}
		}
		for key := range v.Fields("o") {
			seen = append(seen, key)
			break
		}
		if diff := cmp.Diff([]string{"1", "2", "x"}, seen); diff != "" {
			t.Error(diff)
		}
	})
}

func TestJSONStaysJSONAfterItWasLookedAt(t *testing.T) {
	line := `{"a":"\u001b[31m \u0007 \"q\" \\ é 😀","b":[{"k\u001b":1.50,"n":null,"t":true}],"c":{}}`
	with(t, line, func(v Value) {
		walk(t, v)
		var got, want any
		if err := json.Unmarshal([]byte(v.JSON(1<<10)), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if s := v.JSON(20); len(s) > 20 || !strings.HasPrefix(s, `{"a":`) {
			t.Errorf("a long value is %q", s)
		}
	})
}

func TestDataSize(t *testing.T) {
	for in, want := range map[string]int64{
		"": 0, "QUJD": 3, "QUJDQUJD": 6,
		"QUJD[... 4000 bytes cut ...]": 3003,
		"[... x bytes cut ...]":        15,
	} {
		if got := DataSize([]byte(in)); got != want {
			t.Errorf("%q stands for %d bytes, want %d", in, got, want)
		}
	}
}

func TestRawIsAsItWasWritten(t *testing.T) {
	var d Decoder
	line := `{"a":{"b": [1, "caf\u00e9 \n", {"k\u00e9":null}],"c":"` + "\xff" + `"},"s":"x","n":null}`
	d.Decode([]byte(line), func(v Value) {
		if got, want := v.Raw(100, "a"), `{"b":[1,"caf\u00e9 \n",{"k\u00e9":null}],"c":"`+"\ufffd"+`"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := v.Raw(100, "n") + v.Raw(100, "missing"); got != "" {
			t.Errorf("got %q of what is not there", got)
		}
		if got := v.Raw(20, "a"); len(got) > 20+64 {
			t.Errorf("%d bytes", len(got))
		}
	})
}
