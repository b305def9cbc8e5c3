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
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		want, _, whole := bytes.Cut(text, []byte("\n"))
		first := newFirstLine()
		for part := range slices.Chunk(text, 1+max(step, 0)%8) {
			if n, err := first.Write(part); n != len(part) || err != nil {
				t.Fatalf("Write: %d, %v", n, err)
			}
		}
		select {
		case got := <-first.line:
			if !whole || !bytes.Equal(got, want) {
				t.Errorf("the parent reads %q of %q", got, text)
			}
		default:
			if whole {
				t.Errorf("the parent reads nothing of %q", text)
			}
		}
		got, err := readLine(bufio.NewReaderSize(bytes.NewReader(text), 16))
		if whole != (err == nil) || whole && string(got) != string(want)+"\n" {
			t.Errorf("the child reads %q, %v of %q", got, err, text)
		}
	})
}

func TestEndlessLineIsNoAnswer(t *testing.T) {
	first := newFirstLine()
	for range 3 {
		if _, err := first.Write([]byte(strings.Repeat("x", maxLine/2))); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-first.line; got != nil || first.held != nil {
		t.Errorf("%d bytes are kept", max(len(got), len(first.held)))
	}
}
