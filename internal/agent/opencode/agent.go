// Package opencode knows OpenCode: where it keeps its sessions, in databases and
// in the tree of files that its first versions wrote, and what a message of it
// means. How they look is told in docs/formats/opencode.md. It does not open
// databases by itself; package agent does.
package opencode

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ambry.dev/ambry/internal/agent"
)

const id = "opencode"

// Agent returns OpenCode.
func Agent() agent.Agent {
	return agent.Agent{
		ID: id, Name: "OpenCode", History: history{}, Lesson: lesson(),
		Elsewhere: func(dir string) agent.History { return elsewhere{dir: dir} },
	}
}

// history is what the databases hold, and of the tree the sessions that are in
// none of them.
type history struct {
	itemBytes int // of records that make an item; 0 means usualItem
}

const usualItem = 512 << 10

var (
	_ agent.History = history{}
	_ agent.Watcher = history{}
)

// Sized returns the same history in items of another size. With 1 every turn is
// an item of its own.
func (x history) Sized(itemBytes int) agent.History { return history{itemBytes} }

func (x history) item() int { return cmp.Or(x.itemBytes, usualItem) }

// data returns the directory of OpenCode, which is the same on every system.
func data(h agent.Home) string {
	if dir := h.Env(placed); dir != "" {
		return dir
	}
	base := h.Env("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		base = filepath.Join(h.Dir, ".local", "share")
	}
	return filepath.Join(base, "opencode")
}

// named returns the path of the database that the person chose, or "".
func named(h agent.Home) string {
	db := h.Env("OPENCODE_DB")
	switch {
	case db == "" || db == ":memory:":
		return ""
	case filepath.IsAbs(db):
		return filepath.Clean(db)
	}
	return filepath.Join(data(h), db)
}

// Roots returns the directory of OpenCode and, if it is elsewhere, that of the
// database that the person chose.
func (history) Roots(h agent.Home) []string {
	roots := []string{data(h)}
	if db := named(h); db != "" && filepath.Dir(db) != roots[0] {
		roots = append(roots, filepath.Dir(db))
	}
	return roots
}

// Watch leaves out the logs, the repositories of snapshots and, below the tree,
// the parts: there is a directory of them for each message. Once there is a
// database the tree changes no more.
func (x history) Watch(h agent.Home, dir string) bool {
	if slices.Contains(x.Roots(h), dir) {
		return true
	}
	storage := filepath.Join(data(h), "storage")
	rel, err := filepath.Rel(storage, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	if paths, err := databases(h); err != nil || len(paths) > 0 {
		return false
	}
	first, rest, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return first == "." || (first == "session" || first == "message") && !strings.Contains(rest, "/")
}

// isDatabase reports whether a database of OpenCode is at path, or would be.
func isDatabase(h agent.Home, path string) bool {
	name := filepath.Base(path)
	return path == named(h) || filepath.Dir(path) == data(h) && strings.HasPrefix(name, "opencode") && strings.HasSuffix(name, ".db")
}

// databases returns the paths of the databases, in lexical order: there is one
// for each channel that OpenCode was installed from.
func databases(h agent.Home) ([]string, error) {
	var paths []string
	entries, err := os.ReadDir(data(h))
	for _, e := range entries {
		if path := filepath.Join(data(h), e.Name()); isDatabase(h, path) {
			paths = append(paths, path)
		}
	}
	if db := named(h); db != "" && !slices.Contains(paths, db) {
		if _, err := os.Stat(db); err == nil {
			paths = append(paths, db)
		}
	}
	slices.Sort(paths)
	return paths, absent(err)
}

// Sources yields the databases and then the sessions of the tree.
func (x history) Sources(ctx context.Context, h agent.Home) iter.Seq2[agent.Source, error] {
	return func(yield func(agent.Source, error) bool) {
		paths, err := databases(h)
		if err != nil && !yield(agent.Source{Path: data(h)}, err) {
			return
		}
		for _, path := range paths {
			if ctx.Err() != nil {
				return
			}
			src, err := agent.DatabaseSource(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(src, err) {
				return
			}
		}
		scattered(ctx, h, paths, yield)
	}
}

// Locate returns the database that path, or the log at path, belongs to, or
// else the session of the tree.
func (history) Locate(h agent.Home, path string) (agent.Source, bool) {
	if db := strings.TrimSuffix(path, "-wal"); isDatabase(h, db) {
		src, err := agent.DatabaseSource(db)
		return src, err == nil
	}
	f, ok := locate(h, path)
	if !ok {
		return agent.Source{}, false
	}
	paths, err := databases(h)
	if err != nil {
		return agent.Source{}, false
	}
	held, err := heldIn(context.Background(), paths)
	if err != nil || held[f.id] {
		return agent.Source{}, false
	}
	src, err := f.source()
	return src, err == nil
}

// Read reads a database, or a session of the tree.
func (x history) Read(ctx context.Context, src agent.Source, from agent.Mark) iter.Seq2[agent.Item, error] {
	if f, ok := fileAt(src.Path); ok {
		return x.readFile(ctx, f, src, from)
	}
	return agent.Rows{Each: x.each, Count: count}.Read(ctx, src, from)
}
