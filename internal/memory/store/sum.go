package store

import (
	"database/sql"
	"hash/crc32"

	"ambry.dev/ambry"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf is the checksum that stands beside the text of a note.
func sumOf(text string) int64 { return int64(crc32.Checksum([]byte(text), castagnoli)) }

// noted is the text of a memory that is not a trace, as it is read: m.body, m.sum.
type noted struct {
	body sql.NullString
	sum  sql.NullInt64
}

// text returns it, or that it is not as it was written.
func (n noted) text() (string, error) {
	if n.sum.Valid && n.sum.Int64 != sumOf(n.body.String) {
		return "", errNoteChanged
	}
	return n.body.String, nil
}

var errNoteChanged = ambry.MemoryUnavailable.Errorf(`the memory file is damaged: a memory is not as it was written; see "ambry doctor"`)
