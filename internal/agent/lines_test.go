package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readLines returns what lines makes of a text, as "number@offset-end:text",
// with a mark for a torn or skipped one.
func readLines(t *testing.T, r io.Reader) []string {
	t.Helper()
	var all []string
	for l := newLines(r, 0, 0); ; {
		next, err := l.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		s := fmt.Sprintf("%d@%d-%d:%s", next.number, next.offset, next.end, next.text)
		if next.torn {
			s += "(torn)"
		}
		if next.skipped {
			s += "(skipped)"
		}
		all = append(all, s)
	}
}

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":                {"", nil},
		"two":                  {"a\nb\n", []string{"1@0-2:a", "2@2-4:b"}},
		"CRLF":                 {"a\r\nb\r\n", []string{"1@0-3:a", "2@3-6:b"}},
		"blank":                {"\n\r\na\n", []string{"1@0-1:", "2@1-3:", "3@3-5:a"}},
		"torn":                 {"a\nb", []string{"1@0-2:a", "2@2-3:b(torn)"}},
		"byte order mark":      {"\ufeffa\n", []string{"1@0-5:a"}},
		"only the mark":        {"\ufeff", []string{"1@0-3:(torn)"}},
		"a mark is not always": {"a\n\ufeffb\n", []string{"1@0-2:a", "2@2-7:\ufeffb"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := readLines(t, strings.NewReader(c.text))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if got := readLines(t, oneByte{strings.NewReader(c.text)}); !cmp.Equal(c.want, got) {
				t.Errorf("byte by byte: %q", got)
			}
		})
	}
}

// oneByte reads a byte at a time, as a slow pipe would.
type oneByte struct{ io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(1, len(p))]) }

// jsonOf returns a JSON array of short strings that is n bytes long.
func jsonOf(n int) string {
	var b strings.Builder
	b.WriteString(`["`)
	for b.Len() < n-1010 {
		b.WriteString(strings.Repeat("x", 1000) + `","`)
	}
	return b.String() + strings.Repeat("y", n-b.Len()-2) + `"]`
}

func TestLinesAsLongAsABuffer(t *testing.T) {
	const buffer = 64 << 10
	for _, n := range []int{buffer - 2, buffer - 1, buffer, buffer + 1, 2*buffer - 1, 2 * buffer, longLine - 1, longLine, longLine + 1, 3 * longLine} {
		text := jsonOf(n)
		l := newLines(strings.NewReader(text+"\nnext\n"), 0, 0)
		got, err := l.next()
		if err != nil || string(got.text) != text || got.end != int64(n)+1 {
			t.Errorf("a line of %d bytes: got %d bytes up to %d, %v", n, len(got.text), got.end, err)
		}
		if got, err := l.next(); err != nil || string(got.text) != "next" || got.number != 2 {
			t.Errorf("after a line of %d bytes: %q, %v", n, got.text, err)
		}
	}
}

// repeat reads a text over and over, n bytes in all.
func repeat(text string, n int64) io.Reader {
	return io.LimitReader(&endless{text: text}, n)
}

type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[e.at]
		e.at = (e.at + 1) % len(e.text)
	}
	return len(p), nil
}

func TestALineOf64MegabytesIsCut(t *testing.T) {
	const size = 64 << 20
	before, after := `{"type":"image","data":"`, `","name":"a.png"}`
	l := newLines(io.MultiReader(strings.NewReader("first\n"+before), repeat("QUJD", size), strings.NewReader(after+"\nlast\n")), 0, 0)
	if got, _ := l.next(); string(got.text) != "first" {
		t.Fatalf("got %q", got.text)
	}
	got, err := l.next()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.text) > 2*longString || got.end-got.offset != int64(size+len(before)+len(after)+1) {
		t.Errorf("kept %d bytes of a line of %d", len(got.text), got.end-got.offset)
	}
	var d Decoder
	n, ok := d.Decode(got.text, func(v Value) {
		if v.Text("name") != "a.png" {
			t.Errorf("what follows the string is lost: %q", v.Text("name"))
		}
		if got := DataSize(v.Bytes("data")); got != size/4*3 {
			t.Errorf("the picture has %d bytes, want %d", got, size/4*3)
		}
	})
	if n != 1 || !ok {
		t.Errorf("%d values, %v", n, ok)
	}
	if cap(l.buf) > 2*longLine {
		t.Errorf("%d bytes are still held", cap(l.buf))
	}
	if got, _ := l.next(); string(got.text) != "last" || got.number != 3 {
		t.Errorf("got %q", got.text)
	}
}

func TestALineThatCannotBeHeldIsSkipped(t *testing.T) {
	long := io.MultiReader(strings.NewReader(`["`), repeat(`ab","`, 3*maxLine), strings.NewReader(`"]`))
	l := newLines(io.MultiReader(strings.NewReader("1\n"), long, strings.NewReader("\n3\n")), 0, 0)
	var got []string
	for {
		next, err := l.next()
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%d %v %q", next.number, next.skipped, next.text))
		if cap(l.buf) > 2*maxLine {
			t.Errorf("%d bytes are held", cap(l.buf))
		}
	}
	if diff := cmp.Diff([]string{`1 false "1"`, `2 true ""`, `3 false "3"`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestALongBrokenLineEndsAtItsEnd(t *testing.T) {
	l := newLines(strings.NewReader(`{"a":"`+strings.Repeat("x", 2*longLine)+"\n{}\n"), 0, 0)
	if got, err := l.next(); err != nil || got.skipped {
		t.Fatalf("got %v, %v", got.skipped, err)
	}
	if got, _ := l.next(); string(got.text) != "{}" {
		t.Errorf("got %q", got.text)
	}
}

func TestCap(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 5, "short"},
		{"0123456789abcdef", 8, "01234567"},
		{"ééééé", 5, "éé"},
		{strings.Repeat("é", 200), 148, strings.Repeat("é", 37) + "\n[... 302 bytes cut ...]\n" + strings.Repeat("é", 12)},
	} {
		got := Cap(c.text, c.limit)
		if got != c.want || len(got) > c.limit {
			t.Errorf("Cap(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
		if again := Cap(got, c.limit); again != got {
			t.Errorf("cut again, it is %q", again)
		}
	}
}

// FuzzCutter checks that a valid line stays valid, that nothing changes when
// no string is long, and that it does not matter in which pieces a line comes.
// An at sign stands for a long text.
func FuzzCutter(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `{"a":"@"}`, `{"a":"@\\","b":"\"@"}`, `["@\u00e9@", "é@é"]`, `{"@":"\ud83d\ude00@"}`, `"@`, `"\`, `"@\u12`} {
		f.Add(s, 7)
	}
	long := strings.Repeat("a", longString-1)
	f.Fuzz(func(t *testing.T, s string, step int) {
		in := []byte(strings.ReplaceAll(s, "@", long))
		var whole, pieces cutter
		out := whole.append(nil, in)
		var other []byte
		for rest := in; len(rest) > 0; {
			n := min(len(rest), max(1, step))
			other, rest = pieces.append(other, rest[:n]), rest[n:]
		}
		if !bytes.Equal(out, other) {
			t.Errorf("in pieces of %d: %d bytes, at once %d", step, len(other), len(out))
		}
		if json.Valid(in) && !json.Valid(out) {
			t.Errorf("%q is no longer JSON", s)
		}
		if !strings.Contains(s, "@") && len(in) < longString && !bytes.Equal(in, out) {
			t.Errorf("%q became %q", in, out)
		}
	})
}
