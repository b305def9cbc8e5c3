package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Rows is a [History] of SQLite databases that another program has open. They
// are read in short bursts and never written, locked, checkpointed or copied.
type Rows struct {
	// Dirs are the directories that hold the databases, whether they exist or not.
	Dirs func(h Home) []string

	// Match reports whether a file of these directories is a history; name is its
	// base name.
	Match func(name string) bool

	// Each emits what is in the database after cursor, "" being the beginning: some
	// turns of a session at a time with the cursor to go on from. It returns when
	// emit says false. There is one connection: rows are closed before the next
	// query, and before emit, which may take long.
	Each func(ctx context.Context, db *sql.DB, src Source, cursor string, emit Emit) error

	// Count returns how many messages are in the database. Nil means as many as
	// were emitted, which is wrong where what changed is emitted again.
	Count func(ctx context.Context, db *sql.DB) (int64, error)
}

// Emit takes what b has gathered and ends its open turn; next is where to go on
// once it is stored. It reports whether more is wanted.
type Emit func(b *Builder, next string) bool

// Roots returns the directories.
func (r Rows) Roots(h Home) []string { return r.Dirs(h) }

// Sources yields the databases in lexical order.
func (r Rows) Sources(ctx context.Context, h Home) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		for _, dir := range r.Dirs(h) {
			entries, err := os.ReadDir(dir)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil && !yield(Source{Path: dir}, err) {
				return
			}
			for _, e := range entries {
				if ctx.Err() != nil {
					return
				}
				if !r.Match(e.Name()) {
					continue
				}
				src, err := DatabaseSource(filepath.Join(dir, e.Name()))
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if !yield(src, err) {
					return
				}
			}
		}
	}
}

// Locate returns the database that path, or the log at path, belongs to.
func (r Rows) Locate(h Home, path string) (Source, bool) {
	path = strings.TrimSuffix(path, "-wal")
	for _, dir := range r.Dirs(h) {
		if filepath.Dir(path) == filepath.Clean(dir) && r.Match(filepath.Base(path)) {
			src, err := DatabaseSource(path)
			return src, err == nil
		}
	}
	return Source{}, false
}

// Read reads a database on from a mark.
func (r Rows) Read(ctx context.Context, src Source, from Mark) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		db, err := OpenDatabase(ctx, src.Path)
		if err != nil {
			yield(Item{}, err)
			return
		}
		defer db.Close()
		next := Mark{FileID: src.FileID, Size: src.Size, ModTime: src.ModTime, Stamp: src.Stamp, Cursor: from.Cursor, Messages: from.Messages}
		if from.FileID != src.FileID {
			next.Cursor, next.Messages = "", 0
		}
		left, stopped := src.Size, false
		err = r.Each(ctx, db, src, next.Cursor, func(b *Builder, cursor string) bool {
			item := b.Item()
			for _, t := range item.Conversation.Turns {
				next.Messages += int64(len(t.Messages))
			}
			next.Cursor = cursor
			item.Next, item.Read = next, min(item.Read, left)
			left -= item.Read
			stopped = !yield(item, nil)
			return !stopped
		})
		if err == nil && !stopped && r.Count != nil {
			next.Messages, err = r.Count(ctx, db)
		}
		switch {
		case stopped:
		case err != nil:
			yield(Item{}, err)
		default:
			next.Done = true
			yield(Item{Next: next, Read: left}, nil)
		}
	}
}

// DatabaseSource describes a SQLite database and its write-ahead log. Its
// stamp changes with every commit.
func DatabaseSource(path string) (Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Source{Path: path}, err
	}
	if !info.Mode().IsRegular() {
		return Source{Path: path}, fmt.Errorf("%s is not a regular file", path)
	}
	src := sourceOf(path, info)
	if wal, err := os.Stat(path + "-wal"); err == nil {
		src.Size += wal.Size()
		if wal.ModTime().After(src.ModTime) {
			src.ModTime = wal.ModTime()
		}
	}
	// Offsets per the SQLite file format: the change counter is at 24 of the
	// database header; the checkpoint number and the two salts at 12 of the log's;
	// the number of frames of the last commit and their checksum at 16 of the log's
	// index, without which a commit into a log that began anew would not show.
	src.Stamp = fmt.Sprintf("%x-%x-%x", bytesAt(path, 24, 4), bytesAt(path+"-wal", 12, 12), bytesAt(path+"-shm", 16, 16))
	return src, nil
}

func bytesAt(path string, offset int64, n int) []byte {
	f, err := OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	buf := make([]byte, n)
	if _, err := f.ReadAt(buf, offset); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return buf
}

// OpenDatabase opens another program's SQLite database for reading. A database
// that was closed cleanly on a medium that cannot be written is read as
// immutable; a live one never is, since its newest rows are in the log. A busy
// database is an error, to be tried again later.
func OpenDatabase(ctx context.Context, path string) (*sql.DB, error) {
	db, err := tryOpen(ctx, path, "mode=ro")
	if needsLog(err) && !exists(path+"-wal") && !exists(path+"-shm") && !exists(path+"-journal") {
		db, err = tryOpen(ctx, path, "mode=ro&immutable=1")
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	return db, nil
}

// needsLog reports whether a database could not be opened because its log
// cannot be made: the directory is read-only.
func needsLog(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	const primary = 0xff // the code without its details
	code := e.Code() & primary
	return code == sqlite3.SQLITE_CANTOPEN || code == sqlite3.SQLITE_READONLY
}

func tryOpen(ctx context.Context, path, mode string) (*sql.DB, error) {
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	u := url.URL{Scheme: "file", Path: name}
	db, err := sql.Open("sqlite", u.String()+"?"+mode+"&_pragma=busy_timeout(2000)&_pragma=query_only(1)&_pragma=cache_size(-2000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(time.Second)
	var n int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&n); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
