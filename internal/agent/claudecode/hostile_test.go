package claudecode_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/claudecode"
)

// hostile are files that programs, disks and people have made of histories.
// Each holds the word TOKEN in a good record.
var hostile = map[string]string{
	"plain":          good,
	"CRLF":           "{}\r\n" + strings.TrimSuffix(good, "\n") + "\r\n",
	"byte order":     "\xef\xbb\xbf" + good,
	"truncated tail": good + good[:97],
	"torn in middle": `{"type":"user","message":{"role":"user","con` + "\n" + good,
	"torn before":    `{"type":"user","message":{"role":"user","con` + good,
	"bad UTF-8":      `{"type":"user","message":{"content":"` + "\xff\xfe" + `"},"uuid":"q"}` + "\n" + good,
	"NUL":            strings.Repeat("\x00", 4096) + "\n" + good,
	"NUL before":     strings.Repeat("\x00", 4096) + good,
	"surrogate":      strings.Replace(good, "TOKEN", `TOKEN \ud800`, 1),
	"deep":           `{"type":"progress","data":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}\n" + good,
	"deep input":     strings.Replace(good, `"cwd":`, `"x":`+strings.Repeat(`{"a":`, 2000)+"1"+strings.Repeat("}", 2000)+`,"cwd":`, 1),
	"unknown":        `{"type":"brand-new-kind","x":1}` + "\n42\nnull\n\"text\"\n[]\n{}\n" + good,
	"wrong types":    `{"type":["user"],"message":7,"uuid":{},"timestamp":[],"sessionId":1,"cwd":{}}` + "\n" + `{"type":"user","message":{"content":[1,null,[],{"type":7}]}}` + "\n" + `{"type":"assistant","message":{"content":{},"usage":[],"id":{}}}` + "\n" + good,
	"huge line":      strings.Replace(good, "TOKEN", strings.Repeat("x", 5<<20), 1) + good,
	"empty first":    "\n\n\n" + good,
	"no newline":     strings.TrimSuffix(good, "\n"),
	"UTF-16":         utf16le(good),
}

var good = prompt("u1", clock(10, 0, 0), "find TOKEN here")

func utf16le(s string) string {
	var b strings.Builder
	b.WriteString("\xff\xfe")
	for _, c := range []byte(s) {
		b.WriteByte(c)
		b.WriteByte(0)
	}
	return b.String()
}

func TestHostileFiles(t *testing.T) {
	for name, data := range hostile {
		t.Run(name, func(t *testing.T) {
			if got := readLines(t, data).transcript(); !strings.Contains(got, "TOKEN") {
				t.Errorf("the good record is missing:\n%.200s", got)
			}
		})
	}
}

// What is split off a prompt is as long as the prompt, whatever it is made of:
// four times the tags do not take much more than four times as long.
func TestManyTags(t *testing.T) {
	const tag, end = "<system-reminder></system-reminder>", "</system-reminder>"
	for name, text := range map[string]func(n int) string{
		"before it":  func(n int) string { return strings.Repeat(tag, n) + "TOKEN" },
		"after it":   func(n int) string { return "TOKEN" + strings.Repeat(tag, n) },
		"ends alone": func(n int) string { return "TOKEN" + strings.Repeat(end, 2*n) },
	} {
		took := func(n int) time.Duration {
			line := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(prompt("u1", clock(10, 0, 0), text(n)))
			began := time.Now()
			if got := readLines(t, line).transcript(); !strings.Contains(got, "user: TOKEN") {
				t.Errorf("%s: got %.100s", name, got)
			}
			return time.Since(began)
		}
		short, long := time.Hour, time.Hour
		for range 12 { // a busy machine makes either seem slow now and then
			if short, long = min(short, took(6250)), min(long, took(25_000)); long < 10*short {
				break
			}
		}
		if long >= 10*short {
			t.Errorf("%s: four times the tags take %v, not %v", name, long, short)
		}
	}
}

func TestHostileDirectory(t *testing.T) {
	home := write(t, map[string]string{first: good, "-empty/" + second + ".jsonl": ""})
	projects := filepath.Join(home.Dir, ".claude", "projects")
	if err := os.Mkdir(filepath.Join(projects, "-home-ana-app", second+".jsonl"), 0o755); err != nil {
		t.Fatal(err)
	}
	a := read(t, home)
	wantTranscript(t, a, "user: find TOKEN here\n")
}

// peak returns by how many bytes the memory in use grew at most while f ran.
func peak(f func()) int64 {
	old := debug.SetGCPercent(20)
	defer debug.SetGCPercent(old)
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.Tick(time.Millisecond); ; {
			runtime.ReadMemStats(&now)
			most.Store(max(most.Load(), int64(now.HeapInuse)-int64(before.HeapInuse)))
			select {
			case <-stop:
				return
			case <-tick:
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most.Load()
}

func TestMemoryIsBounded(t *testing.T) {
	const limit = 40 << 20
	for name, write := range map[string]func(w io.Writer){
		"one line of 64 MB": func(w io.Writer) {
			repeat(w, strings.Replace(good, "TOKEN", "", 1), "find ", "x", 64<<20)
		},
		"64 MB of escapes": func(w io.Writer) {
			repeat(w, good, "find ", `\u00e9\n`, 64<<20)
		},
		"64 MB of values": func(w io.Writer) {
			repeat(w, `{"type":"user","message":{"content":[{}]}}`+"\n", `"content":[`, "[],{},", 64<<20)
		},
		"8 MB of values": func(w io.Writer) {
			repeat(w, `{"type":"user","message":{"content":[{}]}}`+"\n", `"content":[`, "[],{},", 7<<20)
		},
		"half a million values": func(w io.Writer) {
			repeat(w, `{"type":"user","message":{"content":[{}]}}`+"\n", `"content":[`, "1,", 1<<20-64)
		},
		"64 MB of short strings": func(w io.Writer) {
			repeat(w, `{"type":"user","message":{"content":["x"]}}`+"\n", `"content":[`, `"some words",`, 64<<20)
		},
		"16 MB of one message": func(w io.Writer) {
			fmt.Fprint(w, prompt("u1", clock(10, 0, 0), "go"))
			for i := range 16 << 20 / 900 {
				fmt.Fprint(w, reply(fmt.Sprint("a", i), clock(10, 0, 1), "m1", calls(fmt.Sprint("t", i), strings.Repeat("n", 300)), [3]int{}))
			}
		},
		"64 MB of results": func(w io.Writer) {
			for i := range 16 << 20 / 9000 {
				fmt.Fprint(w, prompt(fmt.Sprint("u", i), clock(10, 0, 1), results(fmt.Sprint("t", i), strings.Repeat("out ", 2200))))
			}
		},
		"64 MB of snapshots": func(w io.Writer) {
			for range 64 << 20 / 1_000_000 {
				repeat(w, `{"type":"file-history-snapshot","snapshot":{"x":""}}`+"\n", `"x":"`, "backup", 1_000_000)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := agent.Home{Dir: t.TempDir(), OS: "linux"}
			dir := filepath.Join(home.Dir, ".claude", "projects", "-p")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			file, err := os.Create(filepath.Join(dir, first+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(file)
			write(w)
			fmt.Fprint(w, prompt("last", clock(11, 0, 0), "find TOKEN"))
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			found := false
			grown := peak(func() { found = find(t, home, "find TOKEN") })
			if !found {
				t.Error("the record behind it is missing")
			}
			if grown > limit {
				t.Errorf("%d MB of memory", grown>>20)
			}
		})
	}
}

// repeat writes s with more, up to size bytes of it, put in behind a place.
func repeat(w io.Writer, s, place, more string, size int) {
	before, after, _ := strings.Cut(s, place)
	fmt.Fprint(w, before, place)
	chunk := strings.Repeat(more, 1000)
	for ; size > len(chunk); size -= len(chunk) {
		fmt.Fprint(w, chunk)
	}
	fmt.Fprint(w, after)
}

// find reads a home and keeps nothing of it.
func find(t *testing.T, home agent.Home, text string) (found bool) {
	t.Helper()
	history := claudecode.Agent().History
	for src, err := range history.Sources(t.Context(), home) {
		if err != nil {
			t.Fatal(err)
		}
		for item, err := range history.Read(t.Context(), src, agent.Mark{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, turn := range item.Conversation.Turns {
				for _, m := range turn.Messages {
					found = found || strings.Contains(m.Text, text)
				}
			}
		}
	}
	return found
}

// FuzzParse takes any bytes for a file, between two good records: nothing may
// panic, both are found, and reading in steps tells the same as reading at once.
func FuzzParse(f *testing.F) {
	for _, data := range hostile {
		if len(data) < 1<<16 {
			f.Add([]byte(data))
		}
	}
	f.Add([]byte(conversation(first)))
	f.Add([]byte(longTurn()[:20_000]))
	golden, err := filepath.Glob("testdata/home/.claude/projects/*/*.jsonl")
	if err != nil || len(golden) == 0 {
		f.Fatal("no files to begin with", err)
	}
	for _, path := range golden {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		for line := range bytes.Lines(data) {
			f.Add(bytes.Clone(line))
		}
	}
	home := agent.Home{Dir: f.TempDir(), OS: "linux"}
	path := filepath.Join(home.Dir, ".claude", "projects", "-p", first+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before, after := prompt("before", clock(9, 0, 0), "TOKEN before"), prompt("after", clock(23, 0, 0), "TOKEN after")
		if err := os.WriteFile(path, []byte(before+string(data)+"\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
		got := read(t, home).transcript()
		for _, want := range []string{"user: TOKEN before\n", "user: TOKEN after\n"} {
			if !strings.Contains(got, want) {
				t.Fatalf("%q is missing in\n%s", want, got)
			}
		}
		history, ok := claudecode.Agent().History.(interface{ Sized(int) agent.History })
		if !ok {
			t.Fatal("the history cannot be read in small items")
		}
		a := newArchive()
		src, _ := claudecode.Agent().History.Locate(home, path)
		for mark := (agent.Mark{}); !mark.Done; {
			for item, err := range history.Sized(1).Read(t.Context(), src, mark) {
				if err != nil {
					t.Fatal(err)
				}
				a.add(item)
				mark = item.Next
				break
			}
		}
		if steps := a.transcript(); steps != got {
			t.Fatalf("in steps\n%s\nat once\n%s", steps, got)
		}
	})
}
