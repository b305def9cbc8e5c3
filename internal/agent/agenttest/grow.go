package agenttest

import (
	"bytes"
	"maps"
	"os"
	"testing"
)

// maxCuts bounds the places at which a file is cut.
const maxCuts = 200

// cuts returns where a growing file may end for a moment: at the end of each
// line, before it, and in the midst of the line.
func cuts(data []byte) []int {
	var all []int
	for begin := 0; begin < len(data); {
		end := begin + bytes.IndexByte(data[begin:], '\n')
		if end < begin {
			end = len(data) - 1
		}
		all = append(all, begin+(end-begin)/3, end, end+1)
		begin = end + 1
	}
	step := len(all)/maxCuts + 1
	var some []int
	for i := 0; i < len(all); i += step {
		some = append(some, all[i])
	}
	return some
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, path string, data []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// grownOnce reads the beginning of each file, and on from there when the rest
// has come.
func (s suite) grownOnce(t *testing.T) {
	s = s.copied(t)
	for path, data := range s.lines(t) {
		want := s.whole(t, s.source(t, path))
		for _, cut := range cuts(data) {
			var got told
			write(t, path, data[:cut])
			got.read(t, s.History, s.source(t, path))
			appendTo(t, path, data[cut:])
			got.read(t, s.History, s.source(t, path))
			same(t, s.rel(path), got, want)
			if t.Failed() {
				t.Fatalf("the file was cut at byte %d: %q", cut, data[max(0, cut-80):cut])
			}
		}
	}
}

// grownInSteps reads each file as it grows, a part of a line at a time.
func (s suite) grownInSteps(t *testing.T) {
	s = s.copied(t)
	for path, data := range s.lines(t) {
		want := s.whole(t, s.source(t, path))
		var got told
		write(t, path, nil)
		at := 0
		for _, cut := range append(cuts(data), len(data)) {
			appendTo(t, path, data[at:cut])
			at = cut
			got.read(t, s.small(), s.source(t, path))
		}
		same(t, s.rel(path), got, want)
	}
}

// torn ends each file with half a record. It is not told, and no mistake until
// the line is complete.
func (s suite) torn(t *testing.T) {
	s = s.copied(t)
	for path, data := range s.lines(t) {
		if !bytes.HasSuffix(data, []byte("\n")) {
			appendTo(t, path, []byte("\n"))
		}
		want := s.whole(t, s.source(t, path))
		got := want
		got.Turns = maps.Clone(want.Turns)
		for i, more := range []string{`{"type":"user","message":{"role":"user","content":"half a`, "\n"} {
			appendTo(t, path, []byte(more))
			again := s.whole(t, s.source(t, path))
			if again.Skipped != want.Skipped+i {
				t.Errorf("%s: %d records skipped, want %d: %v", s.rel(path), again.Skipped, want.Skipped+i, again.Notes)
			}
			same(t, s.rel(path), again, want)
			got.read(t, s.History, s.source(t, path))
			same(t, s.rel(path), got, want)
		}
	}
}

// rewritten puts other bytes in front of what a mark covers.
func (s suite) rewritten(t *testing.T) {
	s = s.copied(t)
	for path, data := range s.lines(t) {
		got := s.whole(t, s.source(t, path))
		write(t, path, append([]byte("\n"), data...))
		got.Turns = nil
		got.read(t, s.History, s.source(t, path))
		same(t, s.rel(path), got, s.whole(t, s.source(t, path)))
	}
}

// cutShort takes away the end of what a mark covers.
func (s suite) cutShort(t *testing.T) {
	s = s.copied(t)
	for path, data := range s.lines(t) {
		old := s.whole(t, s.source(t, path))
		write(t, path, data[:bytes.IndexByte(data, '\n')+1])
		got := told{Mark: old.Mark}
		if got.Mark.Offset <= int64(bytes.IndexByte(data, '\n')+1) {
			continue // the mark is in what is left
		}
		got.read(t, s.History, s.source(t, path))
		same(t, s.rel(path), got, s.whole(t, s.source(t, path)))
	}
}
