package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"ambry.dev/ambry/internal/home"
)

// program is one run of the command line.
type program struct {
	stdio
	getenv func(string) string

	homeFlag   string
	json       bool
	understood bool // the command and its flags make sense
}

// home is the directory of Ambry's files, absolute. It need not exist.
func (p *program) home() (string, error) {
	if p.homeFlag == "" {
		return home.Default(p.getenv, os.UserHomeDir)
	}
	return home.Default(func(string) string { return p.homeFlag }, os.UserHomeDir)
}

// printJSON writes v for programs. What a command writes this way keeps its
// names and meanings; more may be added.
func (p *program) printJSON(v any) error {
	e := json.NewEncoder(p.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printf writes for people.
func (p *program) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// note tells a person what goes on, apart from what was asked for.
func (p *program) note(format string, args ...any) {
	if !p.json {
		fmt.Fprintf(p.err, format+"\n", args...)
	}
}

// terminal reports whether w shows what is written to a person.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// count writes a number as people read it: 1,234,567.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// counted is a number with its noun: 1 memory, 2 memories.
func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// size writes a number of bytes as people read it, in powers of 1000.
func size(bytes int64) string {
	if bytes < 1000 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	n, unit := float64(bytes), 0
	for n >= 999.95 && unit < len("kMGTP") {
		n, unit = n/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", n, "kMGTP"[unit-1])
}

// ago says how long ago something was, roughly.
func ago(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// tilde shortens a path below the person's home directory.
func tilde(path string) string {
	dir, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, dir); err == nil && dir != "" && ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return "~" + rest
	}
	return path
}
