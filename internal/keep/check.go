package keep

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"ambry.dev/ambry"
)

// Check looks whether words stand anywhere in our files: in their raw bytes, in
// what is packed in them, and in what the memory can be asked for. With consent
// it removes the backups and exports that have them; what the logs have of them
// is overwritten in any case.
func (k *Keeper) Check(ctx context.Context, in ambry.DataCheck) (out ambry.DataChecked, err error) {
	end, err := k.begin()
	if err != nil {
		return out, err
	}
	defer end()
	out.Found = []ambry.DataFind{}
	n, err := newNeedle(in.Words)
	if err != nil {
		return out, err
	}
	// First what is owed: the memory overwrites what was deleted from it.
	if _, err := k.Memory.Scrub(ctx, false); err != nil {
		return out, err
	}
	if err := k.look(ctx, n, in, &out); err != nil {
		return out, err
	}
	if slices.ContainsFunc(out.Found, func(f ambry.DataFind) bool { return strings.HasPrefix(f.File, memoryName) }) {
		if out, err = k.lookDeeper(ctx, n, in, out); err != nil {
			return out, err
		}
	}
	held, err := k.held(ctx, in.Words)
	if err != nil {
		return out, err
	}
	if held > 0 {
		out.Found = append(out.Found, ambry.DataFind{File: "memories", Places: held, Hint: "these are remembered; \"ambry forget\" deletes them"})
	}
	out.Absent = len(out.Found) == 0
	return out, nil
}

const memoryName = "memory.db"

// held counts what the memory has with the words in it.
func (k *Keeper) held(ctx context.Context, words string) (int, error) {
	dry, err := k.Memory.ForgetAll(ctx, ambry.Forget{Words: words, DryRun: true}, "")
	if ambry.KindOf(err) == ambry.NotFound {
		return 0, nil
	}
	return int(dry.Memories + dry.Turns + dry.Titles + dry.Calls), err
}

// lookDeeper has the memory's file written anew, if nothing in it is remembered,
// and looks again: what was moved about inside it leaves copies now and then.
func (k *Keeper) lookDeeper(ctx context.Context, n *needle, in ambry.DataCheck, before ambry.DataChecked) (ambry.DataChecked, error) {
	held, err := k.held(ctx, in.Words)
	if err != nil || held > 0 {
		return before, err
	}
	if _, err := k.Memory.Scrub(ctx, true); err != nil {
		return before, err
	}
	out := ambry.DataChecked{Found: []ambry.DataFind{}, Removed: before.Removed, Masked: before.Masked}
	return out, k.look(ctx, n, in, &out)
}

// look reads every file of the home.
func (k *Keeper) look(ctx context.Context, n *needle, in ambry.DataCheck, out *ambry.DataChecked) error {
	root := k.Home.Dir()
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		places, bytes, err := n.inFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since it was listed
		}
		if err != nil {
			return fmt.Errorf("look into our files: %w", err)
		}
		out.Files++
		out.Bytes += bytes
		if len(places) == 0 {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return k.deal(filepath.ToSlash(name), path, places, in, out)
	})
}

// deal decides about a file in which the words stand. A place below zero is
// packed.
func (k *Keeper) deal(name, path string, places []place, in ambry.DataCheck, out *ambry.DataChecked) error {
	dir, _, _ := strings.Cut(name, "/")
	switch {
	case dir == "logs":
		if err := mask(path, places); err != nil {
			return fmt.Errorf("overwrite words in a log: %w", err)
		}
		out.Masked += len(places)
		return nil
	case dir == "backups" && in.RemoveBackups && isDatabase(name), dir == "exports" && in.RemoveExports:
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		out.Removed = append(out.Removed, name)
		return nil
	}
	out.Found = append(out.Found, ambry.DataFind{File: name, Places: len(places), Hint: hintFor(dir, name)})
	return nil
}

// isDatabase tells a backup of ours from the copies of agents' files.
func isDatabase(name string) bool {
	return strings.Count(name, "/") == 1 && strings.HasSuffix(name, ".db")
}

func hintFor(dir, name string) string {
	switch {
	case dir == "backups" && !isDatabase(name):
		return "a copy of an agent's own file from before it was changed"
	case dir == "backups":
		return "a backup from before they were forgotten; remove it with --remove-backups"
	case dir == "exports":
		return "an export of yours; remove it with --remove-exports"
	case dir == "hooks":
		return "a turn that a hook told of meanwhile; forget it again. Or the name of a directory"
	case strings.HasPrefix(name, memoryName):
		return "in what is remembered, or in the name of a directory, a file or a branch that stays; \"ambry forget --project\" deletes all of a project"
	case strings.HasPrefix(name, "app.db"):
		return "in the name of a file of an agent, beside how far it was read"
	case name == "config.yaml":
		return "your settings; change them by hand"
	}
	return "not a file that forgetting changes"
}

// needle is words as they are looked for in bytes, whatever their case.
type needle struct {
	forms [][]byte // in lower case, as they are and as they stand in JSON
	zstd  *zstd.Decoder
	fold  []byte
}

func newNeedle(words string) (*needle, error) {
	lower := strings.ToLower(strings.TrimSpace(words))
	if len(lower) < 3 {
		return nil, ambry.InvalidArgument.Errorf("the words are too short; give at least 3 letters")
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	n := &needle{forms: [][]byte{[]byte(lower)}, zstd: d}
	var coded bytes.Buffer
	e := json.NewEncoder(&coded)
	e.SetEscapeHTML(false)
	if err := e.Encode(lower); err != nil {
		return nil, err
	}
	if form := bytes.Clone(coded.Bytes()[1 : coded.Len()-2]); !bytes.Equal(form, n.forms[0]) {
		n.forms = append(n.forms, form)
	}
	if plain, err := json.Marshal(lower); err == nil {
		if form := plain[1 : len(plain)-1]; !slices.ContainsFunc(n.forms, func(f []byte) bool { return bytes.Equal(f, form) }) {
			n.forms = append(n.forms, form)
		}
	}
	return n, nil
}

// place is where words stand in a file; packed ones have no length.
type place struct {
	at     int64
	length int
}

// in returns the places of data, which begins at an offset of its file.
func (n *needle) in(data []byte, offset int64) (all []place) {
	n.fold = append(n.fold[:0], data...)
	ascii := true
	for i, b := range n.fold {
		if 'A' <= b && b <= 'Z' {
			n.fold[i] = b + 'a' - 'A'
		}
		ascii = ascii && b < 0x80
	}
	text := n.fold
	for _, form := range n.forms {
		for from := 0; ; {
			i := bytes.Index(text[from:], form)
			if i < 0 {
				break
			}
			all = append(all, place{at: offset + int64(from+i), length: len(form)})
			from += i + len(form)
		}
	}
	if !ascii && len(all) == 0 && bytes.Contains(bytes.ToLower(data), n.forms[0]) {
		all = append(all, place{at: offset}) // other letters than a to z have cases too
	}
	return all
}

// The pieces in which files are read. Each begins with the end of the one before
// it, so that nothing is cut in two.
const (
	pieceBytes = 8 << 20
	overBytes  = 64 << 10
)

// packMark begins what is packed with zstd.
var packMark = []byte{0x28, 0xb5, 0x2f, 0xfd}

// inFile returns the places of a file, and how much was looked through.
func (n *needle) inFile(path string) (all []place, total int64, err error) {
	if strings.HasSuffix(path, ".zip") {
		return n.inZip(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	buf := make([]byte, 0, pieceBytes+overBytes)
	for offset := int64(0); ; {
		kept := len(buf)
		read, err := io.ReadFull(f, buf[kept:cap(buf)])
		buf = buf[:kept+read]
		found, unpacked := n.inPiece(buf, offset)
		for _, p := range found {
			if len(all) == 0 || p.at > all[len(all)-1].at {
				all = append(all, p)
			}
		}
		total += int64(read) + unpacked
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return all, total, nil
		}
		if err != nil {
			return nil, 0, err
		}
		over := min(overBytes, len(buf))
		offset += int64(len(buf) - over)
		buf = buf[:copy(buf[:cap(buf)], buf[len(buf)-over:])]
	}
}

// inPiece looks at bytes and at what is packed in them.
func (n *needle) inPiece(data []byte, offset int64) (all []place, unpacked int64) {
	all = n.in(data, offset)
	for from := 0; ; {
		i := bytes.Index(data[from:], packMark)
		if i < 0 {
			break
		}
		from += i
		plain, _ := n.zstd.DecodeAll(data[from:], nil) // what follows it is noise, so it always fails
		unpacked += int64(len(plain))
		if len(n.in(plain, 0)) > 0 {
			all = append(all, place{at: offset + int64(from)})
		}
		from += len(packMark)
	}
	slices.SortFunc(all, func(a, b place) int { return int(a.at - b.at) })
	return all, unpacked
}

func (n *needle) inZip(path string) (all []place, total int64, err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, 0, nil //nolint:nilerr // half an archive: an export that is being written or was broken off
	}
	defer z.Close()
	for i, entry := range z.File {
		f, err := entry.Open()
		if err != nil {
			continue
		}
		buf := make([]byte, 0, pieceBytes+overBytes)
		for {
			kept := len(buf)
			read, err := io.ReadFull(f, buf[kept:cap(buf)])
			buf = buf[:kept+read]
			total += int64(read)
			if len(n.in(buf, 0)) > 0 {
				all = append(all, place{at: int64(i)})
				break
			}
			if err != nil {
				break
			}
			buf = buf[:copy(buf[:cap(buf)], buf[len(buf)-min(overBytes, len(buf)):])]
		}
		f.Close()
	}
	return all, total, nil
}

// mask overwrites words in a file that others append to.
func mask(path string, places []place) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for _, p := range places {
		if _, err := f.WriteAt(bytes.Repeat([]byte("*"), p.length), p.at); err != nil {
			f.Close()
			return err
		}
	}
	return errors.Join(f.Sync(), f.Close())
}
