package supervise

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"
)

// FuzzLines checks that both sides read the same line, however it arrives.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\nmore\n"), 1)
	f.Add([]byte("no end"), 3)
	f.Add([]byte("\n\n"), 2)
	f.Add([]byte("{\"working\":\"a\"}\n{\"working\":\"b\"}\n{\"answer\":1}\n{}\n"), 5)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		var at []byte
		told := false
		want, rest, whole := bytes.Cut(text, []byte("\n"))
		for whole && bytes.HasPrefix(want, atWork) {
			at, told = want, true
			want, rest, whole = bytes.Cut(rest, []byte("\n"))
		}
		first := newSayings()
		for part := range slices.Chunk(text, 1+max(step, 0)%8) {
			if n, err := first.Write(part); n != len(part) || err != nil {
				t.Fatalf("Write: %d, %v", n, err)
			}
		}
		select {
		case got := <-first.answer:
			if !whole || !bytes.Equal(got, want) {
				t.Errorf("the parent reads %q of %q", got, text)
			}
		default:
			if whole {
				t.Errorf("the parent reads nothing of %q", text)
			}
		}
		select {
		case got := <-first.working:
			if !told || !bytes.Equal(got, at) {
				t.Errorf("the parent reads %q of %q as what it is at", got, text)
			}
		default:
			if told {
				t.Errorf("the parent does not read in %q what it is at", text)
			}
		}
		want, _, whole = bytes.Cut(text, []byte("\n"))
		got, err := readLine(bufio.NewReaderSize(bytes.NewReader(text), 16))
		if whole != (err == nil) || whole && string(got) != string(want)+"\n" {
			t.Errorf("the child reads %q, %v of %q", got, err, text)
		}
	})
}

func TestEndlessLineIsNoAnswer(t *testing.T) {
	first := newSayings()
	for range 3 {
		if _, err := first.Write([]byte(strings.Repeat("x", maxLine/2))); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-first.answer; got != nil || first.held != nil {
		t.Errorf("%d bytes are kept", max(len(got), len(first.held)))
	}
}
