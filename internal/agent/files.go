package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"ambry.dev/ambry"
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
}

// maxWhole bounds a file that has to be read as one document.
const maxWhole = 64 << 20

// Roots returns the directories.
func (f Files[S]) Roots(h Home) []string { return f.Dirs(h) }

// Sources walks the directories in lexical order. Links to directories are
// followed, each directory once.
func (f Files[S]) Sources(ctx context.Context, h Home) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		w := walker{ctx: ctx, match: f.Match, yield: yield, seen: map[string]bool{}}
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
	yield func(Source, error) bool
	seen  map[string]bool // directories by identity: links may make loops
}

const maxDirDepth = 16

func (w *walker) dir(root, rel string, depth int) bool {
	path := filepath.Join(root, filepath.FromSlash(rel))
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.IsDir() || depth > maxDirDepth {
		return err == nil || w.yield(Source{Path: path}, err)
	}
	if id := fileID(path, info); id != "" {
		if w.seen[id] {
			return true
		}
		w.seen[id] = true
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
	return w.yield(sourceOf(path, info), nil)
}

// Locate returns the source at path, if it is one of the history.
func (f Files[S]) Locate(h Home, path string) (Source, bool) {
	for _, dir := range f.Dirs(h) {
		rel, err := filepath.Rel(dir, path)
		if err != nil || !filepath.IsLocal(rel) || !f.Match(filepath.ToSlash(rel)) {
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

// Read reads a file on from a mark. If the bytes before the mark are not the
// ones that were read, the file was rewritten and is read from its beginning.
func (f Files[S]) Read(ctx context.Context, src Source, from Mark) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		r, err := f.begin(src, from)
		if err != nil {
			yield(Item{}, err)
			return
		}
		defer r.file.Close()
		if err := r.run(ctx, yield); err != nil && !errors.Is(err, errStopped) {
			yield(Item{}, err)
		}
	}
}

var errStopped = errors.New("the consumer wants no more")

// reading is the reading of one file.
type reading[S any] struct {
	Files[S]
	src     Source
	file    io.ReadCloser
	plain   *os.File // nil if the bytes of the file are not those that are read
	lines   *lines
	decoder Decoder
	state   S
	b       *Builder
	mark    struct { // the open part, where reading has to go on
		offset int64
		line   int
		before int64 // messages before it
		state  []byte
	}
	told int64 // bytes told in items so far
}

func (f Files[S]) begin(src Source, from Mark) (*reading[S], error) {
	r := &reading[S]{Files: f, src: src, b: &Builder{}}
	if err := r.open(); err != nil {
		return nil, err
	}
	r.b.at.path = src.Path
	r.state = f.Start(src, r.b)
	if r.resumes(from) && r.restore(from) {
		if err := r.skipTo(from.Offset); err != nil {
			r.file.Close()
			return nil, fmt.Errorf("read on: %w", err)
		}
		r.lines = newLines(r.file, from.Offset, from.Line)
	} else {
		r.lines = newLines(r.file, 0, 0)
	}
	r.mark.offset, r.mark.line = r.lines.offset, r.lines.number
	r.mark.before, r.mark.state = r.b.closed, r.b.state(r.snapshot(r.state))
	r.told = r.lines.offset
	return r, nil
}

// open opens the file in the way its bytes ask for.
func (r *reading[S]) open() error {
	if r.Open != nil {
		file, err := r.Open(r.src)
		if err != nil {
			return err
		}
		if file != nil {
			r.file = file
			return nil
		}
	}
	file, err := openRegular(r.src.Path)
	if err != nil {
		return err
	}
	if utf16, err := asUTF8(file); err != nil || utf16 != nil {
		r.file = utf16
		return err
	}
	r.file, r.plain = file, file
	return nil
}

// resumes reports whether the bytes before the mark are those that were read.
func (r *reading[S]) resumes(from Mark) bool {
	if from.Offset <= 0 || from.FileID != r.src.FileID || r.Whole != nil && r.Whole(r.src.Path) {
		return false
	}
	if r.plain == nil {
		return from.Size == r.src.Size && from.ModTime.Equal(r.src.ModTime)
	}
	head, tail, err := prints(r.plain, from.Offset)
	return err == nil && head == from.Head && tail == from.Tail
}

func (r *reading[S]) restore(from Mark) bool {
	stored := resume{Reader: &r.state}
	if err := json.Unmarshal(from.State, &stored); err != nil {
		return false
	}
	r.b.Session, r.b.ordinal, r.b.closed = stored.Session, stored.Ordinal, from.Before
	r.b.resume = resume{Turn: stored.Turn, Part: stored.Part}
	return true
}

func (r *reading[S]) skipTo(offset int64) error {
	if r.plain != nil {
		_, err := r.plain.Seek(offset, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, r.file, offset)
	return err
}

func (r *reading[S]) run(ctx context.Context, yield func(Item, error) bool) error {
	if r.Whole != nil && r.Whole(r.src.Path) {
		if err := r.whole(); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return r.last(yield)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", r.lines.number+1, err)
		}
		r.record(l)
		if r.b.size >= itemBytes && !yield(r.item(r.b.take(), false), nil) {
			return errStopped
		}
	}
}

// record parses one line. When a part of a turn opens in it, the reading would
// have to go on here, with the state as it was before the line.
func (r *reading[S]) record(l line) {
	r.b.at = place{path: r.src.Path, line: l.number, offset: l.offset, end: l.end}
	if l.skipped {
		r.b.Skip("longer than can be held")
		return
	}
	before := r.snapshot(r.state)
	r.b.opened = false
	n, ok := r.decoder.Decode(l.text, func(v Value) { r.Parse(&r.state, v, r.b) })
	if !ok && !l.torn { // a torn last line is normal: the agent may be writing it
		r.b.Skip("not JSON")
	}
	if r.b.opened {
		if t := r.b.turn; t != nil && t.ID == before.Turn {
			before.Part = t.Part
		}
		r.mark.offset, r.mark.line, r.mark.before = l.offset, l.number-1, r.b.closed
		r.mark.state = r.b.state(before)
	}
	if r.b.turn != nil && n > 0 {
		r.b.turn.Source.End = l.end
	}
}

// snapshot returns what reading on from here has to know. A record that begins
// no turn of its own goes on with the one that is open.
func (r *reading[S]) snapshot(s S) resume {
	now := resume{Session: r.b.Session, Turn: r.b.resume.Turn, Part: r.b.resume.Part, Ordinal: r.b.ordinal, Reader: s}
	if t := r.b.turn; t != nil {
		now.Turn, now.Part = t.ID, t.Part
	}
	return now
}

func (r *reading[S]) last(yield func(Item, error) bool) error {
	c := r.b.take()
	if t, ok := r.b.finished(); ok {
		c.Turns = append(c.Turns, t)
	}
	if !yield(r.item(c, true), nil) {
		return errStopped
	}
	return nil
}

func (r *reading[S]) item(c ambry.Conversation, done bool) Item {
	m := Mark{
		FileID: r.src.FileID, Size: r.src.Size, ModTime: r.src.ModTime, Stamp: r.src.Stamp,
		Offset: r.mark.offset, Line: r.mark.line, State: r.mark.state, Done: done,
		Before: r.mark.before, Messages: r.b.closed,
	}
	if done && r.b.turn != nil {
		m.Messages += int64(len(r.b.turn.Messages))
	}
	if r.plain != nil && m.Offset > 0 {
		head, tail, err := prints(r.plain, m.Offset)
		if err != nil {
			m.Offset, m.Line, m.Before, m.State = 0, 0, 0, nil
		}
		m.Head, m.Tail = head, tail
	}
	item := Item{Conversation: c, Next: m, Read: r.lines.offset - r.told, Skipped: r.b.skipped, Notes: r.b.notes}
	r.told, r.b.skipped, r.b.notes = r.lines.offset, 0, nil
	return item
}

// whole parses the file as one document.
func (r *reading[S]) whole() error {
	data, err := io.ReadAll(io.LimitReader(r.file, maxWhole+1))
	if err != nil {
		return err
	}
	if len(data) > maxWhole {
		return fmt.Errorf("longer than %d MiB", maxWhole>>20)
	}
	r.record(line{text: bytes.TrimPrefix(data, []byte("\ufeff")), number: 1, end: int64(len(data))})
	r.lines.offset = int64(len(data))
	return nil
}

const printSize = 4 << 10

// prints returns hashes of the first and the last bytes before offset.
func prints(f io.ReaderAt, offset int64) (head, tail uint64, err error) {
	buf := make([]byte, min(printSize, offset))
	if _, err := f.ReadAt(buf, 0); err != nil {
		return 0, 0, err
	}
	h := fnv.New64a()
	h.Write(buf)
	head = h.Sum64()
	if _, err := f.ReadAt(buf, offset-int64(len(buf))); err != nil {
		return 0, 0, err
	}
	h.Reset()
	h.Write(buf)
	return head, h.Sum64(), nil
}

// Newest sorts sources by the time of their last change, newest first.
func Newest(sources []Source) {
	sort.SliceStable(sources, func(i, j int) bool { return sources[i].ModTime.After(sources[j].ModTime) })
}
