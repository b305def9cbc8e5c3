package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// Mend writes a copy of a damaged memory in which all indexes are made anew from
// the rows, and returns the names of those that were damaged. It changes nothing
// of the memory itself, which nobody may have open. When what is damaged is not
// only indexes, it says so and leaves no copy.
func Mend(ctx context.Context, path, to string) (indexes []string, err error) {
	if err := CheckFile(path); err != nil {
		return nil, err
	}
	if indexes, err = DamagedIndexes(ctx, path); err != nil {
		return nil, err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove half a copy: %w", err)
	}
	err = copyRows(ctx, path, to)
	if err == nil {
		_, err = Check(ctx, to)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(to))
	}
	return indexes, nil
}

// notOnly is for what cannot be made anew from anything.
func notOnly(finding string) error {
	return ambry.MemoryUnavailable.Wrap(errors.New(finding), `the memory file is damaged, and not only its indexes; "ambry restore" puts a backup in its place`)
}

// mostFindings are more than anybody wants to read.
const mostFindings = 1_000_000

// DamagedIndexes returns the indexes of a memory that do not fit its rows. It
// fails with the kind [ambry.MemoryUnavailable] when something else is damaged.
func DamagedIndexes(ctx context.Context, path string) ([]string, error) {
	db, err := Connect(path, 1, map[string]string{"query_only": "ON", "cell_size_check": "ON"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(ctx, `SELECT rootpage, name, tbl_name FROM sqlite_schema WHERE type = 'index'`)
	all, err := Collect(rows, err, func(rows *sql.Rows) (x index, err error) { return x, rows.Scan(&x.root, &x.name, &x.table) })
	if err != nil {
		return nil, fmt.Errorf("read the indexes of the memory: %w", Failure(err))
	}
	l := look{ctx: ctx, db: db, indexes: all, broken: map[string]bool{}, missing: map[string]bool{}, wrong: map[string]bool{}}
	// First the trees by themselves, and the rows of the tables.
	found, err := Column[string](db.QueryContext(ctx, fmt.Sprintf(`PRAGMA quick_check(%d)`, mostFindings)))
	if err == nil {
		err = l.take(found)
	}
	if err != nil {
		return nil, fmt.Errorf("check the memory: %w", Failure(err))
	}
	if l.loose && len(l.broken) == 0 {
		return nil, notOnly("there are pages that nothing leads to")
	}
	// Then whether each index has its rows, which SQLite gives up when it cannot
	// read one.
	tables, err := Column[string](db.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table'`))
	if err != nil {
		return nil, fmt.Errorf("read the tables of the memory: %w", Failure(err))
	}
	for _, t := range tables {
		found, err := Column[string](db.QueryContext(ctx, `PRAGMA integrity_check(`+quoted(t)+`)`))
		if err == nil {
			err = l.take(found)
		} else if l.unreadable(t) && Damaged(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("check the memory: %w", Failure(err))
		}
	}
	return l.names()
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

type index struct {
	root        int
	name, table string
}

// look is what was found wrong.
type look struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one look
	db      *sql.DB
	indexes []index

	broken  map[string]bool // indexes whose tree is not as one is
	missing map[string]bool // that lack rows
	wrong   map[string]bool // that have another number of entries, or one twice
	loose   bool            // pages that nothing leads to
}

// kinds are the findings of SQLite that are understood; it has no codes for them.
type kinds struct{ tree, page, entry, unused *regexp.Regexp }

var findings = sync.OnceValue(func() kinds {
	return kinds{
		tree:   regexp.MustCompile(`^Tree (\d+) `),
		page:   regexp.MustCompile(`^(?:Fragmentation of \d+ bytes reported as \d+ on|Multiple uses for byte \d+ of) page (\d+)$`),
		entry:  regexp.MustCompile(`^(row \d+ missing from|wrong # of entries in|non-unique entry in|rowid not at end-of-record for row \d+ of|row \d+ values differ from) index (\S+)$`),
		unused: regexp.MustCompile(`^Page \d+: never used$`),
	}
})

// take sorts findings. It fails with the first that is not about an index.
func (l *look) take(found []string) error {
	is := findings()
	for f := range strings.SplitSeq(strings.Join(found, "\n"), "\n") {
		switch tree, page, entry := is.tree.FindStringSubmatch(f), is.page.FindStringSubmatch(f), is.entry.FindStringSubmatch(f); {
		case f == "ok", f == "", strings.HasPrefix(f, "*** in database"):
		case tree != nil:
			root, _ := strconv.Atoi(tree[1])
			if !l.broke(func(x index) bool { return x.root == root }) {
				return notOnly(f)
			}
		case page != nil:
			var tree string
			err := l.db.QueryRowContext(l.ctx, `SELECT name FROM dbstat WHERE pageno = ?`, page[1]).Scan(&tree)
			if err != nil || !l.broke(func(x index) bool { return x.name == tree }) {
				return notOnly(f)
			}
		case entry != nil && strings.HasPrefix(f, "row"):
			l.missing[entry[2]] = true
		case entry != nil:
			l.wrong[entry[2]] = true
		case is.unused.MatchString(f):
			l.loose = true
		default:
			return notOnly(f)
		}
	}
	return nil
}

// broke notes that the tree of an index is not as one is, if it is one.
func (l *look) broke(is func(index) bool) bool {
	i := slices.IndexFunc(l.indexes, is)
	if i >= 0 {
		l.broken[l.indexes[i].name] = true
	}
	return i >= 0
}

// unreadable reports whether a table has an index that cannot be read.
func (l *look) unreadable(table string) bool {
	return slices.ContainsFunc(l.indexes, func(x index) bool { return x.table == table && l.broken[x.name] })
}

// names returns the indexes that something is wrong with. An index that is in
// order and has entries without rows means that rows are lost.
func (l *look) names() (names []string, err error) {
	for _, x := range l.indexes {
		if l.wrong[x.name] && !l.broken[x.name] && !l.missing[x.name] {
			return nil, notOnly("rows are missing that the index " + x.name + " knows")
		}
		if l.wrong[x.name] || l.broken[x.name] || l.missing[x.name] {
			names = append(names, x.name)
		}
	}
	return names, nil
}

// copyRows writes a new file with the rows of another, which are read without
// its indexes.
func copyRows(ctx context.Context, path, to string) error {
	if f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return fmt.Errorf("make the copy: %w", err)
	} else if err := f.Close(); err != nil {
		return fmt.Errorf("make the copy: %w", err)
	}
	db, err := Connect(to, 1, map[string]string{"journal_mode": "OFF", "synchronous": "OFF", "cell_size_check": "ON"})
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		c := copier{ctx: ctx, conn: conn}
		err = errors.Join(c.copy(path), conn.Close())
	}
	err = errors.Join(err, db.Close())
	if err == nil {
		err = home.SyncFile(to)
	}
	return Wrapf(Failure(err), "make the indexes of the memory anew")
}

type copier struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one copy
	conn *sql.Conn
}

func (c copier) exec(query string, args ...any) error {
	_, err := c.conn.ExecContext(c.ctx, query, args...)
	return err
}

// made is something of a schema.
type made struct{ name, sql string }

func (c copier) copy(path string) error {
	if err := c.exec(`ATTACH ? AS damaged`, path); err != nil {
		return err
	}
	if err := c.exec(`BEGIN`); err != nil {
		return err
	}
	// Tables first: an index over rows that are there is made in one go.
	for _, kind := range []string{"table", "index"} {
		rows, err := c.conn.QueryContext(c.ctx, `SELECT name, sql FROM damaged.sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid`, kind)
		all, err := Collect(rows, err, ScanTwo(func(name, sql string) made { return made{name, sql} }))
		if err != nil {
			return err
		}
		for _, m := range all {
			if err := c.exec(m.sql); err != nil {
				return err
			}
			if kind == "table" {
				if err := c.rows(m.name); err != nil {
					return err
				}
			}
		}
	}
	if err := c.numbers(); err != nil {
		return err
	}
	return c.exec(`COMMIT`)
}

// rows copies a table. With a condition SQLite reads rows; without one it would
// take the table's indexes as they are.
func (c copier) rows(table string) error {
	return c.exec(`INSERT INTO main.` + quoted(table) + ` SELECT * FROM damaged.` + quoted(table) + ` NOT INDEXED WHERE true`)
}

// numbers copies what is no row: the numbers that are not used twice, and what
// the file says of itself.
func (c copier) numbers() error {
	if err := c.exec(`DELETE FROM main.sqlite_sequence`); err != nil {
		return err
	}
	if err := c.rows("sqlite_sequence"); err != nil {
		return err
	}
	var version int
	if err := c.conn.QueryRowContext(c.ctx, `PRAGMA damaged.user_version`).Scan(&version); err != nil {
		return err
	}
	return c.exec(fmt.Sprintf(`PRAGMA main.user_version = %d; PRAGMA main.application_id = %d`, version, applicationID))
}
