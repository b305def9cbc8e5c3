package tables

import (
	"database/sql"
	"hash/crc32"

	"ambry.dev/ambry"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SumOf is the checksum that stands beside the text of a note.
func SumOf(text string) int64 { return int64(crc32.Checksum([]byte(text), castagnoli)) }

// Noted is the text of a memory that is not a trace, as it is read: m.body, m.sum.
type Noted struct {
	Body sql.NullString
	Sum  sql.NullInt64
}

// Text returns it, or that it is not as it was written.
func (n Noted) Text() (string, error) {
	if n.Sum.Valid && n.Sum.Int64 != SumOf(n.Body.String) {
		return "", errNoteChanged
	}
	return n.Body.String, nil
}

var errNoteChanged = ambry.MemoryUnavailable.Errorf(`the memory file is damaged: a memory is not as it was written; see "ambry doctor"`)
