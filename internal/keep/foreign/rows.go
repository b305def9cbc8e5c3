package foreign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"ambry.dev/ambry/internal/home"
)

// database is the database of another program, opened so that nothing of it is
// changed.
type database struct {
	*sql.DB
	columns map[string][]string // by table
	scratch string              // directory of a copy that is read instead, "" if none is needed
}

// Close closes it, and removes what was made to read it.
func (d *database) Close() error {
	err := d.DB.Close()
	if d.scratch != "" {
		err = errors.Join(err, os.RemoveAll(d.scratch))
	}
	return err
}

// openDatabase opens what is at path. A program that runs may write to it
// meanwhile; what is read is one state of each table. SQLite would leave files of
// its own beside a database that is opened while nobody else has it, so such a
// one is read as it stands, or a copy of it when its log has something too.
func openDatabase(ctx context.Context, path string) (*database, error) {
	d := &database{columns: map[string][]string{}}
	query := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "busy_timeout(2000)", "trusted_schema(0)"}}
	switch log, journal := holds(path+"-wal"), holds(path+"-journal"); {
	case !log && !journal:
		query.Set("immutable", "1")
	case log && !regular(path+"-shm"):
		var err error
		if d.scratch, err = os.MkdirTemp("", "ambry-import-"); err != nil {
			return nil, err
		}
		to := filepath.Join(d.scratch, "copy.db")
		if err := errors.Join(home.CopyFile(path, to), home.CopyFile(path+"-wal", to+"-wal")); err != nil {
			return nil, errors.Join(fmt.Errorf("copy the database: %w", err), os.RemoveAll(d.scratch))
		}
		path = to
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	dsn := url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.scratch))
	}
	db.SetMaxOpenConns(2)
	d.DB = db
	rows, err := db.QueryContext(ctx, `SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'`)
	if err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			_ = d.Close()
			return nil, fmt.Errorf("open the database: %w", err)
		}
		d.columns[table] = append(d.columns[table], column)
	}
	return d, rows.Err()
}

// holds reports whether there is a file with something in it.
func holds(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// has reports whether a table has these columns.
func (d *database) has(table string, columns ...string) bool {
	there := map[string]bool{}
	for _, c := range d.columns[table] {
		there[c] = true
	}
	for _, c := range columns {
		if !there[c] {
			return false
		}
	}
	return len(there) > 0
}

// row is a row, by column. What is absent or NULL is empty.
type row map[string]string

// rows yields the rows of a table, in the order of a column that it has.
func (d *database) rows(ctx context.Context, table string, where string) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		rows, err := d.QueryContext(ctx, `SELECT * FROM "`+table+`" `+where)
		if err != nil {
			yield(nil, fmt.Errorf("read %s: %w", table, err))
			return
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			yield(nil, fmt.Errorf("read %s: %w", table, err))
			return
		}
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(any)
		}
		for rows.Next() {
			if err := rows.Scan(values...); err != nil {
				yield(nil, fmt.Errorf("read %s: %w", table, err))
				return
			}
			r := row{}
			for i, name := range names {
				r[name] = text(*values[i].(*any))
			}
			if !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, fmt.Errorf("read %s: %w", table, err))
		}
	}
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case []byte:
		return strings.ToValidUTF8(string(v), "\uFFFD")
	case int64:
		return strconv.FormatInt(v, 10)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}

// moments are the ways in which programs write a time.
var moments = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"}

// at reads a time; the zero time if there is none.
func at(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, layout := range moments {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1970 && t.Year() < 2200 {
			return t.UTC()
		}
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return epoch(n)
	}
	return time.Time{}
}

// epoch reads a time since 1970 in seconds, milliseconds, or smaller still.
func epoch(n float64) time.Time {
	for n > 1e11 {
		n /= 1000
	}
	if !(n > 0 && n < 7e9) {
		return time.Time{}
	}
	return time.UnixMilli(int64(n * 1000)).UTC()
}

// databaseWith returns the database at path, or that of a name in a folder at
// path, if its tables are as they must be.
func databaseWith(path string, names []string, fits func(*database) bool) string {
	candidates := []string{path}
	if directory(path) {
		candidates = nil
		for _, name := range names {
			candidates = append(candidates, filepath.Join(path, filepath.FromSlash(name)))
		}
	}
	for _, c := range candidates {
		if !isSQLite(c) {
			continue
		}
		d, err := openDatabase(context.Background(), c)
		if err != nil {
			continue
		}
		ok := fits(d)
		_ = d.Close()
		if ok {
			return c
		}
	}
	return ""
}

func isSQLite(path string) bool {
	if !regular(path) {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var header [16]byte
	n, _ := f.Read(header[:])
	return n == len(header) && string(header[:]) == "SQLite format 3\x00"
}

// fromDatabase makes a format of a database: the names that its file has in a
// folder, how it is recognised, and how it is read.
func fromDatabase(id, name string, names []string, fits func(*database) bool, read func(ctx context.Context, d *database, yield func(Item, error) bool)) Format {
	return Format{
		ID: id, Name: name,
		Is: func(path string) bool { return databaseWith(path, names, fits) != "" },
		Read: func(ctx context.Context, path string) iter.Seq2[Item, error] {
			return func(yield func(Item, error) bool) {
				file := databaseWith(path, names, fits)
				if file == "" {
					yield(Item{}, fmt.Errorf("there is no database of %s", name))
					return
				}
				d, err := openDatabase(ctx, file)
				if err != nil {
					yield(Item{}, err)
					return
				}
				defer d.Close()
				read(ctx, d, yield)
			}
		},
	}
}

// join puts the parts that are not empty one below the other.
func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

// titled is text below a word that says what it is.
func titled(title, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return title + ": " + text
}
