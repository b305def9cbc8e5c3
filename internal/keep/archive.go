package keep

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/flate"

	"ambry.dev/ambry"
)

// What the manifest of an archive says of it.
const (
	archiveFormat  = "ambry-export"
	archiveVersion = 1
	manifestName   = "manifest.json"
)

// files says which lines stand in which file of an archive, in the order in
// which they are read back.
var files = []struct {
	name  string
	kinds []string
}{
	{"sessions.ndjson", []string{"header", "session", "continuation"}},
	{"turns.ndjson", []string{"turn"}},
	{"memories.ndjson", []string{"memory", "claim"}},
	{"live.ndjson", []string{"liveSession", "liveTurn"}},
	{"forgotten.ndjson", []string{"tombstone", "gone"}},
	{"uses.ndjson", []string{"feedback", "uses"}},
	{"calls.ndjson", []string{"call"}},
}

const archiveReadme = `# An export of Ambry

manifest.json lists the files with their SHA-256. Each .ndjson file holds one JSON document a line; docs/reference/export.md
of Ambry says what they mean. "ambry import FILE" reads it back. It holds what was said in your sessions: treat it as you treat
those. Passwords and keys were taken out before anything was stored.
`

// writeArchive writes a zip at path.
func (k *Keeper) writeArchive(ctx context.Context, path string, told *progress) (m ambry.ExportManifest, err error) {
	f, err := createFile(path)
	if err != nil {
		return m, err
	}
	defer func() {
		if err = closeFile(f, err); err != nil {
			_ = os.Remove(path)
		}
	}()
	out := bufio.NewWriterSize(f, 256<<10)
	a := newArchiver(out)
	m = ambry.ExportManifest{Format: archiveFormat, Version: archiveVersion, CreatedAt: k.Now().UTC(), Program: k.Version, Counts: map[string]int64{}}
	if err := a.text("README.md", archiveReadme); err != nil {
		return m, err
	}
	err = k.stream(ctx, told, func(kind string, line []byte) error {
		m.Counts[kind]++
		return a.line(kind, line)
	})
	if err != nil {
		return m, err
	}
	if m.Files, err = a.end(); err != nil {
		return m, err
	}
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, err
	}
	if err := a.text(manifestName, string(manifest)+"\n"); err != nil {
		return m, err
	}
	if err := a.zip.Close(); err != nil {
		return m, err
	}
	return m, out.Flush()
}

// archiver writes the files of an archive one after the other.
type archiver struct {
	zip   *zip.Writer
	at    int // place in files of the one that is being written, -1 before the first
	out   *counted
	sum   hash.Hash
	files []ambry.ExportedFile
}

func newArchiver(w io.Writer) *archiver {
	a := &archiver{zip: zip.NewWriter(w), at: -1}
	a.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	return a
}

func (a *archiver) create(name string) (io.Writer, error) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.SetMode(0o600)
	return a.zip.CreateHeader(h)
}

func (a *archiver) text(name, text string) error {
	w, err := a.create(name)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// line adds a line of the memory to the file that its kind belongs to.
func (a *archiver) line(kind string, line []byte) error {
	at := max(a.at, 0)
	for at < len(files) && !slices.Contains(files[at].kinds, kind) {
		at++
	}
	if at == len(files) {
		return fmt.Errorf("the memory exports %q, which has no place in an archive", kind)
	}
	for a.at < at {
		if err := a.next(); err != nil {
			return err
		}
	}
	a.files[a.at].Records++
	_, err := a.out.Write(line)
	return err
}

// next begins the next file.
func (a *archiver) next() error {
	a.seal()
	a.at++
	w, err := a.create(files[a.at].name)
	if err != nil {
		return err
	}
	a.sum = sha256.New()
	a.out = &counted{w: io.MultiWriter(a.sum, w)}
	a.files = append(a.files, ambry.ExportedFile{Name: files[a.at].name})
	return nil
}

func (a *archiver) seal() {
	if a.out != nil {
		f := &a.files[a.at]
		f.Bytes, f.SHA256 = a.out.n, hex.EncodeToString(a.sum.Sum(nil))
	}
}

// end writes the files that have no lines, so that each archive has all.
func (a *archiver) end() ([]ambry.ExportedFile, error) {
	for a.at < len(files)-1 {
		if err := a.next(); err != nil {
			return nil, err
		}
	}
	a.seal()
	return a.files, nil
}

// The bounds of what is read of an archive.
const maxManifest = 1 << 20

var errDamaged = ambry.InvalidArgument.Errorf("the archive is damaged: it is not as its manifest says")

// openArchive opens a zip and reads its manifest.
func openArchive(path string) (*zip.ReadCloser, ambry.ExportManifest, error) {
	var m ambry.ExportManifest
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, m, ambry.InvalidArgument.Wrap(err, "this is no archive, or half of one")
	}
	data, err := readEntry(&z.Reader, manifestName, maxManifest)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	switch {
	case err != nil:
		err = ambry.InvalidArgument.Wrap(err, "the archive has no manifest that can be read")
	case m.Format != archiveFormat:
		err = ambry.InvalidArgument.Errorf("the archive is no export of Ambry")
	case m.Version > archiveVersion:
		err = ambry.InvalidArgument.Errorf("the archive was written by a newer version of Ambry (format %d, this one knows %d); install the newer version", m.Version, archiveVersion)
	}
	if err != nil {
		return nil, m, errors.Join(err, z.Close())
	}
	return z, m, nil
}

func readEntry(z *zip.Reader, name string, limit int64) ([]byte, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errors.New("it is too large")
	}
	return data, err
}

// verifyArchive reads an archive whole and compares it with its manifest.
func verifyArchive(ctx context.Context, z *zip.Reader, m ambry.ExportManifest) error {
	if len(m.Files) != len(files) {
		return errDamaged
	}
	for i, want := range m.Files {
		if want.Name != files[i].name {
			return errDamaged
		}
		f, err := z.Open(want.Name)
		if err != nil {
			return errDamaged
		}
		sum := sha256.New()
		n, err := io.Copy(sum, io.LimitReader(ending{ctx, f}, want.Bytes+1))
		err = errors.Join(err, f.Close())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || n != want.Bytes || hex.EncodeToString(sum.Sum(nil)) != want.SHA256 {
			return errDamaged
		}
	}
	return nil
}

// ending is a reader that ends with a context.
type ending struct {
	ctx context.Context //nolint:containedctx // it lives as long as one read of a file
	r   io.Reader
}

func (e ending) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.r.Read(p)
}

// join reads the lines of an archive in their order.
func join(z *zip.Reader, m ambry.ExportManifest) (io.Reader, func()) {
	var all []io.Reader
	var open []io.Closer
	for _, want := range m.Files {
		f, err := z.Open(want.Name)
		if err != nil {
			continue // verifyArchive has opened it
		}
		all, open = append(all, f), append(open, f)
	}
	return io.MultiReader(all...), func() {
		for _, c := range open {
			c.Close()
		}
	}
}

// hasManifest reports whether a zip is an export of ours.
func hasManifest(path string) bool {
	z, err := zip.OpenReader(path)
	if err != nil {
		return false
	}
	defer z.Close()
	data, err := readEntry(&z.Reader, manifestName, maxManifest)
	return err == nil && bytes.Contains(data, []byte(archiveFormat))
}
