package keep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// Export writes what is remembered now to a new file or folder, which has its
// name once it is whole. Writes to the memory go on meanwhile. When it fails
// nothing of it is left.
func (k *Keeper) Export(ctx context.Context, in ambry.ExportData) (out ambry.DataExported, err error) {
	if in.Format == "" {
		in.Format = ambry.ExportArchive
	}
	end, err := k.begin()
	if err != nil {
		return out, err
	}
	defer end()
	to, err := k.pickTarget(in.TargetPath, in.Format)
	if err != nil {
		return out, err
	}
	debug.FreeOSMemory() // what a scan took is not held beside this
	told := k.progress("export")
	defer func() {
		told.end(err)
		if err != nil && to.made != "" {
			_ = os.Remove(to.made) // empty
		}
	}()
	write := k.writeArchive
	if in.Format == ambry.ExportMarkdown {
		write = k.writeMarkdown
	}
	part, err := k.begun(to.path)
	if err != nil {
		return out, err
	}
	if out.Manifest, err = write(ctx, part, told); err == nil {
		err = writing(ended(part, to.path))
	}
	if err == nil {
		err = writing(home.SyncDir(filepath.Dir(to.path)))
	}
	if err != nil {
		return ambry.DataExported{}, errors.Join(err, os.RemoveAll(part))
	}
	out.ExportPath = to.path
	out.Bytes, err = sizeOf(to.path)
	return out, err
}

// record is told of each line of the memory's export, whole and with its line
// end. The bytes are good until it returns.
type record func(kind string, line []byte) error

// stream has the memory export itself and hands on its lines.
func (k *Keeper) stream(ctx context.Context, told *progress, each record) error {
	l := &lines{each: func(kind string, line []byte) error {
		told.add(1, int64(len(line)))
		return each(kind, line)
	}}
	if err := k.Memory.Export(ctx, l); err != nil {
		return err
	}
	if len(l.rest) > 0 {
		return errors.New("the export of the memory ends in the middle of a line")
	}
	return nil
}

// lines cuts what is written to it into lines.
type lines struct {
	each record
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.rest = append(l.rest, p...)
			return n, nil
		}
		line := p[:i+1]
		if len(l.rest) > 0 {
			l.rest = append(l.rest, line...)
			line = l.rest
		}
		if err := l.each(kindOf(line), line); err != nil {
			return 0, err
		}
		l.rest, p = l.rest[:0], p[i+1:]
	}
}

// kindOf returns the first name of a line: what it is.
func kindOf(line []byte) string {
	const begin = `{"`
	if !bytes.HasPrefix(line, []byte(begin)) {
		return ""
	}
	name, _, _ := bytes.Cut(line[len(begin):min(len(line), 64)], []byte(`"`))
	return string(name)
}

// createFile makes a file that was not there, for its person alone.
func createFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return f, writing(err)
}

// closeFile puts a file on the disk.
func closeFile(f *os.File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = home.SyncDir(filepath.Dir(f.Name()))
	}
	return writing(err)
}

func sizeOf(path string) (total int64, err error) {
	err = filepath.WalkDir(path, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure: %w", err)
	}
	return total, nil
}

// counted counts bytes on their way to w.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
