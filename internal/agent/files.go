package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Files is a [History] of files, most of them JSON lines: finding, order,
// marks, resuming and bounds are done here, so that an agent only says where
// its files are and what a record means.
//
// S is what a parser has to remember from one record to the next. It is copied
// before each record and stored as JSON in marks: it must be a struct of plain
// exported fields, small, and without maps or pointers that are written to.
type Files[S any] struct {
	// Dirs are the directories to look in, whether they exist or not.
	Dirs func(h Home) []string

	// Match reports whether a file belongs to the history; rel is its path below
	// the directory, with slashes.
	Match func(rel string) bool

	// Enter reports whether to look into a directory. Nil means into every one.
	Enter func(rel string) bool

	// Start returns the state at the beginning of a file, and may set what the
	// path says of the session.
	Start func(src Source, b *Builder) S

	// Parse takes one record.
	Parse func(s *S, v Value, b *Builder)

	// Open opens a file that is not plain, such as a compressed one. Nil, or a nil
	// reader, means that it is read as it is.
	Open func(src Source) (io.ReadCloser, error)

	// Whole reports whether a file is one JSON document instead of lines.
	Whole func(path string) bool

	// Confined leaves out what links lead to outside of the directories, and what
	// is more than anybody's history has.
	Confined bool

	// ItemBytes is how many bytes of text make an item; 0 means 512 KiB.
	ItemBytes int
}

// Sized returns the same history in items of another size. With 1 every turn is
// an item of its own, which a test can stop after.
func (f Files[S]) Sized(itemBytes int) History {
	f.ItemBytes = itemBytes
	return f
}

// Roots returns the directories.
func (f Files[S]) Roots(h Home) []string { return f.Dirs(h) }

// Sources walks the directories in lexical order. Links to directories are
// followed, each directory once.
func (f Files[S]) Sources(ctx context.Context, h Home) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		w := walker{ctx: ctx, match: f.Match, enter: f.Enter, confined: f.Confined, yield: yield, seen: map[string]bool{}}
		for _, dir := range f.Dirs(h) {
			if !w.dir(dir, "", 0) {
				return
			}
		}
	}
}

type walker struct {
	ctx   context.Context
	match func(string) bool
	enter func(string) bool
	yield func(Source, error) bool
	seen  map[string]bool // directories without links in their path: links may make loops

	confined bool
	count    int // files that matched
}

const (
	maxDirDepth = 16
	maxConfined = 200_000 // files of a confined history
)

func (w *walker) dir(root, rel string, depth int) bool {
	if rel != "" && w.enter != nil && !w.enter(rel) {
		return true
	}
	path := filepath.Join(root, filepath.FromSlash(rel))
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.IsDir() || depth > maxDirDepth {
		return err == nil || w.yield(Source{Path: path}, err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if w.seen[real] {
			return true
		}
		w.seen[real] = true
	}
	entries, err := os.ReadDir(path)
	if err != nil && !w.yield(Source{Path: path}, err) {
		return false
	}
	for _, e := range entries {
		if w.ctx.Err() != nil {
			return false
		}
		if !w.entry(root, strings.TrimPrefix(rel+"/"+e.Name(), "/"), e, depth) {
			return false
		}
	}
	return true
}

func (w *walker) entry(root, rel string, e fs.DirEntry, depth int) bool {
	path := filepath.Join(root, filepath.FromSlash(rel))
	link := e.Type()&fs.ModeSymlink != 0
	if e.IsDir() {
		return w.dir(root, rel, depth+1)
	}
	matches := w.match(rel)
	if !matches && !link || !link && !e.Type().IsRegular() {
		return true
	}
	if link && w.confined && !Inside(root, path) {
		return true
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // gone meanwhile, or a dead link
		return true
	case err != nil:
		return w.yield(Source{Path: path}, err)
	case info.IsDir():
		return w.dir(root, rel, depth+1)
	case !matches || !info.Mode().IsRegular():
		return true
	}
	if w.count++; w.confined && w.count > maxConfined {
		w.yield(Source{Path: root}, fmt.Errorf("there are more than %d files of history; the others are not read", maxConfined))
		return false
	}
	return w.yield(sourceOf(path, info), nil)
}

// Locate returns the source at path, if it is one of the history.
func (f Files[S]) Locate(h Home, path string) (Source, bool) {
	for _, dir := range f.Dirs(h) {
		rel, err := filepath.Rel(dir, path)
		if err != nil || !filepath.IsLocal(rel) || !f.Match(filepath.ToSlash(rel)) {
			continue
		}
		if f.Confined && !Inside(dir, path) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return sourceOf(path, info), true
		}
	}
	return Source{}, false
}

func sourceOf(path string, info fs.FileInfo) Source {
	return Source{Path: path, FileID: fileID(path, info), Size: info.Size(), ModTime: info.ModTime()}
}

// Newest sorts sources by the time of their last change, newest first.
func Newest(sources []Source) {
	sort.SliceStable(sources, func(i, j int) bool { return sources[i].ModTime.After(sources[j].ModTime) })
}

// In returns the same history of the files in dir alone, see [Agent.Elsewhere].
func (f Files[S]) In(dir string) Files[S] {
	f.Dirs = func(Home) []string { return []string{dir} }
	f.Confined = true
	return f
}

// Inside reports whether what is at path is dir or below it once all links are
// followed. What does not exist is not.
func Inside(dir, path string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
