package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry/internal/agent"
)

// history makes a history with all that makes resuming hard: long turns, calls
// across parts, several records on a line, a record that ends a turn and
// begins the next.
func history(seed uint64, turns int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	call := 0
	for turn := range turns {
		begin := map[string]any{"begin": fmt.Sprintf("t%d", turn), "cwd": "/w"}
		if call > 0 && r.IntN(3) == 0 {
			begin["result"], begin["out"] = fmt.Sprintf("c%d", call), "late"
		}
		if r.IntN(3) == 0 {
			begin["say"] = "at once"
		}
		if r.IntN(3) == 0 {
			begin["copy"] = true
		}
		line, _ := json.Marshal(begin)
		if r.IntN(4) == 0 && b.Len() > 0 { // on the line of the record before
			s := strings.TrimSuffix(b.String(), "\n")
			b.Reset()
			b.WriteString(s)
		}
		b.Write(append(line, '\n'))
		for range r.IntN(12) {
			say := map[string]any{"say": strings.Repeat("word ", r.IntN(8<<10))}
			if r.IntN(2) == 0 {
				call++
				say["call"] = fmt.Sprintf("c%d", call)
			}
			line, _ := json.Marshal(say)
			b.Write(line)
			if r.IntN(3) == 0 {
				line, _ := json.Marshal(map[string]any{"result": fmt.Sprintf("c%d", call), "out": "ok"})
				b.Write(line)
			}
			b.WriteByte('\n')
		}
		if r.IntN(2) == 0 {
			b.WriteString("{\"end\":true}\n")
		}
	}
	return b.String()
}

func TestStoppingAnywhereLosesNothing(t *testing.T) {
	path := write(t, t.TempDir(), "a/s.jsonl", history(7, 120))
	src := source(t, path)
	items := read(t, toy, src, agent.Mark{})
	want := told{}.add(items...)
	if len(items) < 5 || len(want) < 120 {
		t.Fatalf("%d items with %d turns are no test", len(items), len(want))
	}
	for i, item := range items {
		got := told{}.add(items[:i+1]...).add(read(t, toy, src, item.Next)...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after item %d: %s", i, diff)
		}
	}
}

func TestAGrowingFileIsReadAsTheWholeOne(t *testing.T) {
	text := history(11, 60)
	dir := t.TempDir()
	want := told{}.add(read(t, toy, source(t, write(t, dir, "b/s.jsonl", text)), agent.Mark{})...)
	for id, turn := range want {
		turn.Source.Path = filepath.Join(dir, "a", "s.jsonl")
		want[id] = turn
	}
	path := write(t, dir, "a/s.jsonl", "")
	got, mark := told{}, agent.Mark{}
	for rest := text; rest != ""; {
		n := min(len(rest), 20_000+len(rest)%7001) // in the midst of lines, too
		appendTo(t, path, rest[:n])
		rest = rest[n:]
		items := read(t, toy, source(t, path), mark)
		got.add(items...)
		mark = items[len(items)-1].Next
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	messages := int64(0)
	for _, turn := range want {
		messages += int64(len(turn.Messages))
	}
	if mark.Messages != messages {
		t.Errorf("the mark counts %d messages, want %d", mark.Messages, messages)
	}
}

func TestReadingGoesOnAtTheOpenTurn(t *testing.T) {
	path := write(t, t.TempDir(), "a/s.jsonl", `{"begin":"t1","say":"one"}
{"begin":"t2","say":"two"}
`)
	items := read(t, toy, source(t, path), agent.Mark{})
	mark := items[len(items)-1].Next
	if !mark.Covers(source(t, path)) {
		t.Error("a file that was read to its end is not covered")
	}
	appendTo(t, path, `{"say":"three"}`+"\n")
	src := source(t, path)
	if mark.Covers(src) {
		t.Error("a file that grew is covered")
	}
	items = read(t, toy, src, mark)
	if diff := cmp.Diff([]string{"t2/0: two | three"}, texts(items)); diff != "" {
		t.Error(diff)
	}
	if got, want := items[0].Read, src.Size-int64(len(`{"begin":"t1","say":"one"}`)+1); got != want {
		t.Errorf("%d bytes were read, want %d", got, want)
	}
}

func TestAChangedFileIsReadAnew(t *testing.T) {
	const before = `{"begin":"t1","say":"one"}
{"begin":"t2","say":"two"}
{"begin":"t3","say":"three"}
`
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		want   []string
	}{
		"rewritten in place": {
			func(t *testing.T, path string) {
				write(t, filepath.Dir(path), "s.jsonl", strings.ReplaceAll(before, "one", "ONE"))
			},
			[]string{"t1/0: ONE", "t2/0: two", "t3/0: three"},
		},
		"truncated": {
			func(t *testing.T, path string) {
				write(t, filepath.Dir(path), "s.jsonl", `{"begin":"t1","say":"one"}`+"\n")
			},
			[]string{"t1/0: one"},
		},
		"emptied": {
			func(t *testing.T, path string) { write(t, filepath.Dir(path), "s.jsonl", "") },
			nil,
		},
		"replaced by another": {
			func(t *testing.T, path string) {
				other := write(t, filepath.Dir(path), "other", before+`{"begin":"t4","say":"four"}`+"\n")
				if err := os.Rename(other, path); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"t1/0: one", "t2/0: two", "t3/0: three", "t4/0: four"},
		},
		"deleted and made again, maybe with the same inode": {
			func(t *testing.T, path string) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Dir(path), "s.jsonl", strings.ReplaceAll(before, `"begin":"t`, `"begin":"u`))
			},
			[]string{"u1/0: one", "u2/0: two", "u3/0: three"},
		},
		"longer, with another beginning": {
			func(t *testing.T, path string) {
				write(t, filepath.Dir(path), "s.jsonl", `{"begin":"t0","say":"zero"}`+"\n"+before)
			},
			[]string{"t0/0: zero", "t1/0: one", "t2/0: two", "t3/0: three"},
		},
		"touched only": {
			func(t *testing.T, path string) {
				if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"t3/0: three"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "a/s.jsonl", before)
			items := read(t, toy, source(t, path), agent.Mark{})
			mark := items[len(items)-1].Next
			c.change(t, path)
			got := texts(read(t, toy, source(t, path), mark))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAMarkOfAnotherVersionIsNoMark(t *testing.T) {
	path := write(t, t.TempDir(), "a/s.jsonl", `{"begin":"t1","say":"one"}
{"begin":"t2","say":"two"}
`)
	items := read(t, toy, source(t, path), agent.Mark{})
	for _, state := range []string{"", "null!", `{"reader":{"Turn":"x","Said":"many"}}`, `[]`} {
		mark := items[len(items)-1].Next
		mark.State = []byte(state)
		got := texts(read(t, toy, source(t, path), mark))
		if diff := cmp.Diff([]string{"t1/0: one", "t2/0: two"}, got); diff != "" {
			t.Errorf("state %q: %s", state, diff)
		}
	}
}

func TestATornLastLineIsReadWhenItIsWhole(t *testing.T) {
	path := write(t, t.TempDir(), "a/s.jsonl", `{"begin":"t","say":"one"}
{"say":"two","x":{"say":"not`)
	items := read(t, toy, source(t, path), agent.Mark{})
	last := items[len(items)-1]
	if diff := cmp.Diff([]string{"t/0: one"}, texts(items)); diff != "" || last.Skipped != 0 {
		t.Errorf("%d skipped; %s", last.Skipped, diff)
	}
	appendTo(t, path, ` this"}}`)
	items = read(t, toy, source(t, path), last.Next)
	if diff := cmp.Diff([]string{"t/0: one | two"}, texts(items)); diff != "" {
		t.Error(diff)
	}
	appendTo(t, path, "\n"+`{"say":"three"}`)
	items = read(t, toy, source(t, path), items[len(items)-1].Next)
	if diff := cmp.Diff([]string{"t/0: one | two | three"}, texts(items)); diff != "" {
		t.Error(diff)
	}
}

func TestBadLinesAreCountedAndPassedOver(t *testing.T) {
	path := write(t, t.TempDir(), "a/s.jsonl", "{\"begin\":\"t\",\"say\":\"one\"}\noops\n\n{\"say\":\"tw{\"say\":\"two\"}\n\x00\x00{\"say\":\"three\"}\n{\"a\":\n")
	items := read(t, toy, source(t, path), agent.Mark{})
	if diff := cmp.Diff([]string{"t/0: one | two | three"}, texts(items)); diff != "" {
		t.Error(diff)
	}
	last := items[len(items)-1]
	if diff := cmp.Diff([]string{"line 2: not JSON", "line 4: not JSON", "line 6: not JSON"}, last.Notes); diff != "" || last.Skipped != 3 {
		t.Errorf("%d skipped; %s", last.Skipped, diff)
	}
}

func TestALineTooLongIsToldOfAndPassedOver(t *testing.T) {
	long := `{"a":["` + strings.Repeat(`b","`, 3<<20) + `"]}`
	path := write(t, t.TempDir(), "a/s.jsonl", `{"begin":"t","say":"one"}`+"\n"+long+"\n"+`{"say":"two"}`+"\n")
	items := read(t, toy, source(t, path), agent.Mark{})
	last := items[len(items)-1]
	if diff := cmp.Diff([]string{"t/0: one | two"}, texts(items)); diff != "" || last.Skipped != 1 {
		t.Errorf("%d skipped; %s", last.Skipped, diff)
	}
}

func TestMarksHoldNoWords(t *testing.T) {
	path := write(t, t.TempDir(), "a/s.jsonl", `{"title":"a secret title"}
{"begin":"t1","say":"a secret text"}
{"begin":"t2","say":"a secret text","call":"c"}
{"result":"c","out":"a secret output"}
`)
	items := read(t, toy, source(t, path), agent.Mark{})
	last := items[len(items)-1]
	if last.Conversation.Session.Title != "a secret title" {
		t.Fatalf("the title is %q", last.Conversation.Session.Title)
	}
	if strings.Contains(string(last.Next.State), "secret") {
		t.Errorf("the mark holds %s", last.Next.State)
	}
}

func TestAWholeDocument(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a/s.json", "\ufeff"+`[{"begin":"t1","say":"one"},
 {"image":"`+strings.Repeat("QUJD", 1<<20)+`"},
 {"begin":"t2","say":"two"}]`)
	want := []string{"t1/0: one", "t2/0: two"}
	items := read(t, toy, source(t, path), agent.Mark{})
	if diff := cmp.Diff(want, texts(items)); diff != "" {
		t.Error(diff)
	}
	last := items[len(items)-1]
	if info, _ := os.Stat(path); last.Read != info.Size() {
		t.Errorf("%d bytes read, want %d", last.Read, info.Size())
	}
	if !last.Next.Covers(source(t, path)) {
		t.Error("not covered")
	}
	if diff := cmp.Diff(want, texts(read(t, toy, source(t, path), last.Next))); diff != "" {
		t.Errorf("again: %s", diff)
	}

	path = write(t, dir, "a/huge.json", "["+strings.Repeat(`"x",`, 5<<20)+"1]")
	for item, err := range toy.Read(t.Context(), source(t, path), agent.Mark{}) {
		if err == nil || !strings.Contains(err.Error(), "longer than 16 MiB") {
			t.Errorf("got %v, %v", item, err)
		}
	}
}

func TestUTF16Files(t *testing.T) {
	text := "{\"begin\":\"t\",\"say\":\"naïve 😀\"}\r\n{\"say\":\"zwei\"}\r\n"
	for name, order := range map[string]func(uint16) []byte{
		"little endian": func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} },
		"big endian":    func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} },
	} {
		t.Run(name, func(t *testing.T) {
			units := utf16.Encode([]rune("\ufeff" + text))
			i := slices.Index(units, 'w')
			units[i] = 0xd83d // half of a pair before a letter
			var data []byte
			for _, u := range units {
				data = append(data, order(u)...)
			}
			path := write(t, t.TempDir(), "a/s.jsonl", string(data)+"x") // and half a unit
			items := read(t, toy, source(t, path), agent.Mark{})
			if diff := cmp.Diff([]string{"t/0: naïve 😀 | z\ufffdei"}, texts(items)); diff != "" {
				t.Error(diff)
			}
			last := items[len(items)-1]
			if diff := cmp.Diff(texts(items), texts(read(t, toy, source(t, path), last.Next))); diff != "" {
				t.Errorf("again: %s", diff)
			}
		})
	}
}

func TestOnlyTheEndOfALargeFileIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "s.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := strings.Repeat("y", 10<<10)
	for i, size := 0, 0; size < 100<<20; i++ {
		n, err := fmt.Fprintf(f, "{\"begin\":\"t%d\",\"say\":%q}\n{\"say\":%q,\"pad\":%q}\n", i, text, text, text)
		if err != nil {
			t.Fatal(err)
		}
		size += n
	}
	items := read(t, toy, source(t, path), agent.Mark{})
	mark := items[len(items)-1].Next
	appendTo(t, path, `{"say":"new"}`+"\n")

	before := bytesRead(t)
	items = read(t, toy, source(t, path), mark)
	if got := texts(items); len(got) != 1 || !strings.HasSuffix(got[0], "| new") {
		t.Errorf("%d turns", len(got))
	}
	if n := bytesRead(t) - before; n > 1<<20 {
		t.Errorf("%d bytes were read for one line", n)
	}
}

// bytesRead is how many bytes this process has read so far, 0 where the system
// does not say.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestACanceledReadingEnds(t *testing.T) {
	path := write(t, t.TempDir(), "a/s.jsonl", history(3, 50))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range toy.Read(ctx, source(t, path), agent.Mark{}) {
		last = err
		cancel()
	}
	if last == nil {
		t.Error("the reading ended as if all was read")
	}
}

// brokenReader fails after its text.
type brokenReader struct{ io.Reader }

func (b brokenReader) Close() error { return nil }

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func TestWhatWasReadBeforeAFaultIsGood(t *testing.T) {
	broken := toy
	broken.Open = func(agent.Source) (io.ReadCloser, error) {
		return brokenReader{strings.NewReader(history(5, 60))}, nil
	}
	path := write(t, t.TempDir(), "a/s.jsonl", "x")
	good, bad := 0, 0
	for item, err := range broken.Read(t.Context(), source(t, path), agent.Mark{}) {
		if err != nil {
			bad++
		} else if good++; item.Next.Done {
			t.Error("it is done")
		}
	}
	if good == 0 || bad != 1 {
		t.Errorf("%d items, %d errors", good, bad)
	}
}

// FuzzMark checks that a mark is the same after it was stored.
func FuzzMark(f *testing.F) {
	f.Add([]byte(`{"fileId":"1:2","size":3,"modTime":"2026-08-01T10:00:00.123456789Z","offset":18446744073709551,"head":18446744073709551615,"state":"eyJ9","done":true}`))
	f.Add([]byte(`{"cursor":"x","messages":4,"before":2,"line":7}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m agent.Mark
		if json.Unmarshal(data, &m) != nil {
			return
		}
		stored, err := json.Marshal(m)
		if err != nil {
			return // a year that JSON does not know
		}
		var back agent.Mark
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatal(err)
		}
		if !m.ModTime.Equal(back.ModTime) {
			t.Errorf("%v became %v", m.ModTime, back.ModTime)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(stored) {
			t.Errorf("%s became %s, %v", stored, again, err)
		}
	})
}
