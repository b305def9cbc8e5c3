package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"ambry.dev/ambry"
)

// Checked is what a look at a memory's file found.
type Checked struct {
	Schema   int
	Memories int64
}

// Check looks at the file of a memory, whole, without changing it. Its error is
// of kind [ambry.MemoryUnavailable] when the file is damaged, of another program
// or of a newer version.
func Check(ctx context.Context, path string) (Checked, error) {
	var c Checked
	if _, err := os.Stat(path); err != nil {
		return c, ambry.NotFound.Wrap(err, "there is no such file")
	}
	if err := CheckFile(path); err != nil {
		return c, err
	}
	db, err := Connect(path, 1, map[string]string{"query_only": "ON", "cell_size_check": "ON"})
	if err != nil {
		return c, err
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&c.Schema); err != nil {
		return c, fmt.Errorf("check the memory: %w", Failure(err))
	}
	rows, err := db.QueryContext(ctx, `PRAGMA integrity_check(20)`)
	if err != nil {
		return c, fmt.Errorf("check the memory: %w", Failure(err))
	}
	defer func() { _ = rows.Close() }()
	var wrong []string
	for rows.Next() {
		var found string
		if err := rows.Scan(&found); err != nil {
			return c, fmt.Errorf("check the memory: %w", Failure(err))
		}
		switch {
		case found == "ok":
		default:
			wrong = append(wrong, found)
		}
	}
	if err := rows.Err(); err != nil {
		return c, fmt.Errorf("check the memory: %w", Failure(err))
	}
	if len(wrong) > 0 {
		return c, ambry.MemoryUnavailable.Wrap(errors.New(strings.Join(wrong, "; ")), `the memory file is damaged; see "ambry doctor"`)
	}
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM memory`).Scan(&c.Memories); err != nil {
		return c, fmt.Errorf("check the memory: %w", Failure(err))
	}
	return c, nil
}
