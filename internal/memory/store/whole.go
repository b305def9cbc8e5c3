package store

import (
	"context"
	"errors"
	"io"
	"os"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/dump"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// Backup copies the memory as it is now into the directory of backups; see
// [sqlite.Backup].
func (s *Store) Backup(ctx context.Context) (ambry.BackupMade, error) {
	made, err := sqlite.Backup(ctx, s.path, s.backups, s.now().UTC())
	if made.Name != "" {
		s.log.Info("memory backed up", "file", made.Name, "bytes", made.Bytes)
	}
	return made, err
}

// Dump writes the memory as it is now as records, one a line; see [dump.Write].
// What learns and embeds in the background waits meanwhile.
func (s *Store) Dump(ctx context.Context, out io.Writer) error {
	defer s.busy.begin()()
	if err := s.journal.flush(ctx); err != nil {
		return err
	}
	return dump.Write(ctx, s.path, s.unpacker, out)
}

// Mend writes a copy of a damaged memory in which all indexes are made anew from
// the rows, when these are whole: their checksums are looked at, too. See
// [sqlite.Mend].
func Mend(ctx context.Context, path, to string) (indexes []string, err error) {
	if indexes, err = sqlite.Mend(ctx, path, to); err != nil {
		return nil, err
	}
	if err := dump.Write(ctx, to, document.NewUnpacker(), io.Discard); err != nil {
		return nil, errors.Join(err, os.Remove(to))
	}
	return indexes, nil
}

// Checked is what a look at a memory's file found.
type Checked struct {
	sqlite.Checked
	Index string // what is wrong with the text index, which can be made anew; "" if nothing
}

// Check looks at the file of a memory, whole, without changing it; see
// [sqlite.Check]. The text index is looked at if index is true; nobody may write to
// the file meanwhile.
func Check(ctx context.Context, path string, index bool) (Checked, error) {
	c, err := sqlite.Check(ctx, path)
	out := Checked{Checked: c}
	if err != nil || !index {
		return out, err
	}
	db, err := sqlite.Connect(path, 1, map[string]string{"query_only": "ON", "cell_size_check": "ON"})
	if err != nil {
		return out, err
	}
	defer func() { _ = db.Close() }()
	if err := checkIndex(ctx, db, path); err != nil {
		out.Index = err.Error()
	}
	return out, nil
}
