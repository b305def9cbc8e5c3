package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTitle(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"short", "fix the login", "fix the login"},
		{"lines", "  fix\n\n\tthe  login \n", "fix the login"},
		{"nothing", " \n ", ""},
		{"long", strings.Repeat("word ", 60), strings.Repeat("word ", 38) + "word…"},
		{"one long word", strings.Repeat("a", 300), strings.Repeat("a", MaxTitle-3) + "…"},
		{"no spaces", strings.Repeat("错", 100), strings.Repeat("错", 65) + "…"},
		{"very long", strings.Repeat("x ", 1<<20), strings.Repeat("x ", 98) + "x…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Title(tt.text)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if len(got) > MaxTitle || !utf8.ValidString(got) {
				t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
			}
		})
	}
}

func TestProject(t *testing.T) {
	for _, tt := range []struct{ cwd, want string }{
		{"/home/ana/app", "/home/ana/app"},
		{"/home/ana/app/", "/home/ana/app"},
		{"/", "/"},
		{"", ""},
		{`c:\Users\Ana\App`, `C:\Users\Ana\App`},
		{`C:/Users/Ana/App/`, `C:\Users\Ana\App`},
		{`d:\`, `D:\`},
		{`d:`, `D:\`},
	} {
		if got := Project(tt.cwd); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.cwd, got, tt.want)
		}
	}
}

func TestPeek(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte("{\"n\":1}\nbad\n{\"n\":2}\n{\"n\":3}\n{\"n\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		limit int64
		until int64
		want  []int64
	}{
		{"all", 1000, 9, []int64{1, 2, 3}},
		{"until one is found", 1000, 2, []int64{1, 2}},
		{"the beginning", 12, 9, []int64{1}},
		{"half a record", 18, 9, []int64{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []int64
			err := Peek(path, tt.limit, func(v Value) bool {
				got = append(got, v.Int("n"))
				return v.Int("n") != tt.until
			})
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %v, %v; want %v", got, err, tt.want)
			}
		})
	}
	if err := Peek(path+"x", 1000, func(Value) bool { return true }); err == nil {
		t.Error("a file that is not there is no error")
	}
}
