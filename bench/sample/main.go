// Command sample writes a home directory as a person with two coding agents
// would have it: some weeks of Claude Code and Codex sessions about a few
// invented projects, in the files and formats of those programs. It is what
// `make run` shows on a machine without history, and what end-to-end tests
// read. It is not a load generator, and it writes no odd files: agents' own
// test data holds those.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sample:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("sample", flag.ContinueOnError)
	out := flags.String("out", "", "the home directory to write; must be new, empty, or written by sample")
	clock := flags.String("now", "", "the time that sessions are dated back from, RFC 3339; the same time gives the same bytes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() > 0 {
		return fmt.Errorf("usage: sample -out DIR [-now TIME]")
	}
	now := time.Now()
	if *clock != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, *clock); err != nil {
			return fmt.Errorf("-now: %w", err)
		}
	}
	if err := clear(*out); err != nil {
		return err
	}
	stories, err := readStories(now.UTC())
	if err != nil {
		return err
	}
	home := home{dir: *out, files: map[string]int{}}
	for _, s := range stories {
		if err := home.write(s); err != nil {
			return fmt.Errorf("write %q: %w", s.title, err)
		}
	}
	fmt.Fprintf(stdout, "%s: %d Claude Code and %d Codex sessions\n", *out, home.files["claude"], home.files["codex"])
	return nil
}

// marker is in every home that sample wrote, so that it never empties another.
const marker = ".ambry-sample"

func clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty and was not written by sample", dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, marker), []byte("written by bench/sample; it will be emptied\n"), 0o600)
}

// home is the home directory that is being written.
type home struct {
	dir   string
	files map[string]int // sessions by agent
}

func (h *home) write(s story) error {
	h.files[s.agent]++
	if s.agent == "claude" {
		return h.claude(s)
	}
	return h.codex(s)
}

// save writes a file with the time of its last line.
func (h *home) save(name string, data []byte, at time.Time) error {
	path := filepath.Join(h.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(path, at, at)
}

// add appends a line to a file that all sessions share.
func (h *home) add(name string, line []byte) error {
	path := filepath.Join(h.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
