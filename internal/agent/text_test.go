package agent

import (
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
