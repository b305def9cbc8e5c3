package store

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/words"
)

//go:embed schema/vectors.sql
var vectorsSQL string

// Vector is what a text means: Codes times Scale is a vector of length 1.
type Vector struct {
	Scale  float32
	Codes  []int8
	Script Script // of the text
}

// Script tells apart the languages that share no words with each other.
type Script uint8

// The scripts.
const (
	Spaced   Script = iota // words with spaces between them
	Unspaced               // characters without spaces, as in Chinese and Japanese
)

// ScriptOf returns the script of a text. One character without spaces says about
// as much as a few letters, and names and code are in letters everywhere.
func ScriptOf(text string) Script {
	const letters = 5
	n, other := 0, 0
	for _, c := range text {
		switch {
		case words.Unspaced(c):
			n++
		case unicode.IsLetter(c):
			other++
		}
	}
	if n*letters > other {
		return Unspaced
	}
	return Spaced
}

// NewVector rounds a vector of length 1. One of zeros stays zeros.
func NewVector(v []float32) Vector {
	largest := float32(0)
	for _, x := range v {
		largest = max(largest, float32(math.Abs(float64(x))))
	}
	out := Vector{Scale: largest / math.MaxInt8, Codes: make([]int8, len(v))}
	if largest == 0 {
		return out
	}
	for i, x := range v {
		out.Codes[i] = int8(math.RoundToEven(float64(x / out.Scale)))
	}
	return out
}

// headBytes stand before the codes of a stored vector: the factor and the script.
const headBytes = 5

func (v Vector) pack() []byte {
	out := make([]byte, headBytes, headBytes+len(v.Codes))
	binary.LittleEndian.PutUint32(out, math.Float32bits(v.Scale))
	out[headBytes-1] = byte(v.Script)
	for _, c := range v.Codes {
		out = append(out, byte(c))
	}
	return out
}

func unpackVector(data []byte) (Vector, error) {
	if len(data) < headBytes {
		return Vector{}, fmt.Errorf("a vector has only %d bytes", len(data))
	}
	v := Vector{
		Scale: math.Float32frombits(binary.LittleEndian.Uint32(data)), Codes: make([]int8, len(data)-headBytes), Script: Script(data[headBytes-1]),
	}
	for i, b := range data[headBytes:] {
		v.Codes[i] = int8(b)
	}
	return v, nil
}

// Place is what a search can be limited to, of one memory. Ids are 0 for none.
type Place struct {
	Row                     int64
	Layer                   ambry.Layer
	Archived                bool
	Agent, Project, Session int64
	At                      int64 // Unix milliseconds
}

// Placed is a memory with its vector.
type Placed struct {
	Place
	Vector Vector
}

// VectorWatch is told after each commit what became of vectors. Its methods are
// called by the goroutine that writes, so they must be quick.
type VectorWatch interface {
	// Due is told that a memory waits for a vector; the one it had is of no use.
	Due(row int64)
	// Stored is told that a memory has a vector now.
	Stored(p Placed)
	// Gone is told that a memory is no more.
	Gone(row int64)
	// Emptied is told that all vectors have to be read anew.
	Emptied()
}

// Watch sets who is told; nil nobody. Call it before anything is written.
func (s *Store) Watch(w VectorWatch) { s.watch = w }

// tell tells the watch, if there is one, what the transaction did that was
// committed. After a wipe it cannot tell in which order things happened, and
// leaves it at that.
func (w *writer) tell() {
	watch := w.store.watch
	if watch == nil {
		return
	}
	if w.emptied {
		watch.Emptied()
		return
	}
	for _, e := range w.entries {
		switch {
		case e.remove:
			watch.Gone(e.memory)
		case e.fresh:
			watch.Due(e.memory)
		}
	}
	for _, p := range w.stored {
		watch.Stored(p)
	}
}

// ensureVectors finds out whether memories have vectors.
func (w *writer) ensureVectors() error {
	var n int
	err := w.conn.QueryRowContext(context.Background(), `SELECT count(*) FROM sqlite_master WHERE name = 'vector_due'`).Scan(&n)
	if err != nil {
		return fmt.Errorf("look for vectors: %w", err)
	}
	w.vectors = n > 0
	return nil
}

// disembody takes the vectors away from memories whose text changed or is gone,
// and notes those that need a new one.
func (w *writer) disembody(entries []entry) error {
	if !w.vectors {
		return nil
	}
	for _, e := range entries {
		if e.remove || e.fresh {
			w.stored = slices.DeleteFunc(w.stored, func(p Placed) bool { return p.Row == e.memory })
		}
		queries := []string{`DELETE FROM vector WHERE memory = ?`, `DELETE FROM vector_due WHERE memory = ?`}
		switch {
		case e.remove:
		case e.fresh:
			queries = []string{`INSERT OR IGNORE INTO vector_due (memory) VALUES (?)`}
		default:
			continue
		}
		for _, q := range queries {
			if err := w.exec(q, e.memory); err != nil {
				return fmt.Errorf("take a vector away: %w", err)
			}
		}
	}
	return nil
}

// UseSpace says of which model the vectors are to be. Those of another one are
// dropped, and all memories are due.
func (s *Store) UseSpace(ctx context.Context, name string) error {
	return s.write(ctx, groupBytes, func(t *tx) error {
		if t.w.vectors {
			var old string
			ok, err := sqlite.Found(t.Row(`SELECT name FROM vector_space`).Scan(&old))
			if err != nil {
				return fmt.Errorf("read the space of vectors: %w", err)
			}
			if ok && old == name {
				return nil
			}
		}
		return t.newSpace(name)
	})
}

func (t *tx) newSpace(name string) error {
	for _, q := range []string{"DROP TABLE IF EXISTS vector_due", "DROP TABLE IF EXISTS vector", "DROP TABLE IF EXISTS vector_space", vectorsSQL} {
		if _, err := t.w.conn.ExecContext(t.ctx, q); err != nil {
			return fmt.Errorf("make room for vectors: %w", err)
		}
	}
	t.w.vectors = true
	if err := t.exec(`INSERT INTO vector_space (id, name, dims) VALUES (1, ?, 0)`, name); err != nil {
		return fmt.Errorf("name the space of vectors: %w", err)
	}
	if err := t.exec(`INSERT INTO vector_due (memory) SELECT id FROM memory`); err != nil {
		return fmt.Errorf("note which memories need a vector: %w", err)
	}
	return nil
}

// DueVectors returns memories that wait for a vector, the newest first, at most
// limit, and their texts. Version tells the state of the text.
func (s *Store) DueVectors(ctx context.Context, limit int) ([]Text, error) {
	rows, err := s.dueRows(ctx, limit)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return s.Texts(ctx, rows, len(rows), math.MaxInt)
}

func (s *Store) dueRows(ctx context.Context, limit int) (rows []int64, err error) {
	err = s.readers.Read(ctx, func(r sqlite.Reader) (err error) {
		rows, err = sqlite.Column[int64](r.Rows(`SELECT memory FROM vector_due ORDER BY memory DESC LIMIT ?`, limit))
		if err != nil {
			return fmt.Errorf("read which memories need a vector: %w", err)
		}
		return nil
	})
	return rows, err
}

// EmbeddedText is the vector of a memory whose text was of a version.
type EmbeddedText struct {
	Row, Version int64
	Vector       Vector
}

// PutVectors stores vectors of a space. Those of memories that changed or were
// forgotten meanwhile, or of another space, are dropped.
func (s *Store) PutVectors(ctx context.Context, space string, all []EmbeddedText) error {
	if len(all) == 0 {
		return nil
	}
	return s.write(ctx, len(all)*(len(all[0].Vector.Codes)+64), func(t *tx) error {
		var name string
		var dims int
		if err := t.Row(`SELECT name, dims FROM vector_space`).Scan(&name, &dims); err != nil {
			return fmt.Errorf("read the space of vectors: %w", err)
		}
		if name != space {
			return nil
		}
		if dims == 0 {
			dims = len(all[0].Vector.Codes)
			if err := t.exec(`UPDATE vector_space SET dims = ?`, dims); err != nil {
				return fmt.Errorf("note the size of vectors: %w", err)
			}
		}
		for _, e := range all {
			if len(e.Vector.Codes) != dims {
				return ambry.InvalidArgument.Errorf("the embedding model gave %d numbers, and %d before", len(e.Vector.Codes), dims)
			}
			if err := t.putVector(e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) putVector(e EmbeddedText) error {
	p := Placed{Place: Place{Row: e.Row}, Vector: e.Vector}
	var status ambry.Status
	err := t.Row(`SELECT layer, status, agent, coalesce(project, 0), coalesce(session, 0), created_at
		FROM memory WHERE id = ? AND version = ?`, e.Row, e.Version).Scan(&p.Layer, &status, &p.Agent, &p.Project, &p.Session, &p.At)
	ok, err := sqlite.Found(err)
	if err != nil {
		return fmt.Errorf("find the memory of a vector: %w", err)
	}
	if !ok {
		return nil
	}
	p.Archived = status == ambry.Archived
	if err := t.exec(`INSERT OR REPLACE INTO vector (memory, data) VALUES (?, ?)`, e.Row, e.Vector.pack()); err != nil {
		return fmt.Errorf("store a vector: %w", err)
	}
	if err := t.exec(`DELETE FROM vector_due WHERE memory = ?`, e.Row); err != nil {
		return fmt.Errorf("store a vector: %w", err)
	}
	t.stored = append(t.stored, p)
	return nil
}

// Vectors returns memories that have a vector, by row, from after a row on.
func (s *Store) Vectors(ctx context.Context, after int64, limit int) ([]Placed, error) {
	var out []Placed
	err := s.readers.Read(ctx, func(r sqlite.Reader) error {
		rows, err := r.Rows(`SELECT v.memory, v.data, m.layer, m.status, m.agent, coalesce(m.project, 0), coalesce(m.session, 0), m.created_at
			FROM vector AS v CROSS JOIN memory AS m ON m.id = v.memory WHERE v.memory > ? ORDER BY v.memory LIMIT ?`, after, limit)
		out, err = sqlite.Collect(rows, err, func(rows *sql.Rows) (p Placed, err error) {
			var data sql.RawBytes
			var status ambry.Status
			if err := rows.Scan(&p.Row, &data, &p.Layer, &status, &p.Agent, &p.Project, &p.Session, &p.At); err != nil {
				return p, err
			}
			p.Archived = status == ambry.Archived
			p.Vector, err = unpackVector(data)
			return p, err
		})
		if err != nil {
			return fmt.Errorf("read vectors: %w", err)
		}
		return nil
	})
	return out, err
}

// VectorsDue returns how many memories wait for a vector.
func (s *Store) VectorsDue(ctx context.Context) (int64, error) {
	return s.due.get(s, func() (n int64, err error) {
		err = s.readers.Read(ctx, func(r sqlite.Reader) error {
			if err := r.Row(`SELECT count(*) FROM vector_due`).Scan(&n); err != nil {
				return fmt.Errorf("count the memories that need a vector: %w", err)
			}
			return nil
		})
		return n, err
	})
}

// Places are what a filter allows, by id. An empty list allows everything; None
// says that nothing passes.
type Places struct {
	Layers                     []ambry.Layer
	Agents, Projects, Sessions []int64
	After, Before              int64 // Unix milliseconds, 0 for any time
	Archived                   bool
	None                       bool
}

// Places looks up the ids of a filter. Its tags are not looked at.
func (s *Store) Places(ctx context.Context, f Filter) (Places, error) {
	p := Places{Layers: f.Layers, After: sqlite.Millis(f.After), Before: sqlite.Millis(f.Before), Archived: f.Archived}
	names, err := json.Marshal(f.Agents)
	if err != nil {
		return Places{}, fmt.Errorf("filter by agent: %w", err)
	}
	err = s.readers.Read(ctx, func(r sqlite.Reader) error {
		for _, look := range []struct {
			wanted bool
			query  string
			arg    string
			out    *[]int64
		}{
			{len(f.Agents) > 0, agentIDs, string(names), &p.Agents},
			{f.Project != "", projectIDs, f.Project, &p.Projects},
			{f.Session != "", sessionIDs, f.Session, &p.Sessions},
		} {
			if !look.wanted {
				continue
			}
			ids, err := sqlite.Column[int64](r.Rows(look.query, look.arg))
			if err != nil {
				return fmt.Errorf("look up a filter: %w", err)
			}
			*look.out, p.None = ids, p.None || len(ids) == 0
		}
		return nil
	})
	return p, err
}

// Newest returns the memories that were added before one, the latest first, at
// most n; those added last for 0.
func (s *Store) Newest(ctx context.Context, below int64, n int) ([]int64, error) {
	if below == 0 {
		below = math.MaxInt64
	}
	var out []int64
	err := s.readers.Read(ctx, func(r sqlite.Reader) (err error) {
		out, err = sqlite.Column[int64](r.Rows(`SELECT id FROM memory WHERE id < ? ORDER BY id DESC LIMIT ?`, below, n))
		if err != nil {
			return fmt.Errorf("list memories: %w", err)
		}
		return nil
	})
	return out, err
}

// Only returns those of rows that pass a filter and have none of the terms that
// m excludes. Times are not looked at.
func (s *Store) Only(ctx context.Context, m Match, rows []int64) ([]int64, error) {
	m = Match{Not: m.Not, Filter: m.Filter}
	m.Filter.After, m.Filter.Before = time.Time{}, time.Time{}
	q, err := s.indexQuery(ctx, m)
	if err != nil {
		return nil, err
	}
	out, err := s.index.Among(q, rows)
	if err != nil {
		return nil, fmt.Errorf("filter by words: %w", s.searched(err))
	}
	return out, nil
}

// Embedded returns which of some memories have a vector, by id.
func (s *Store) Embedded(ctx context.Context, ids []string) (map[string]bool, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("look for vectors: %w", err)
	}
	out := map[string]bool{}
	err = s.readers.Read(ctx, func(r sqlite.Reader) error {
		some, err := sqlite.Column[string](r.Rows(`SELECT m.public FROM json_each(?) AS j CROSS JOIN memory AS m ON m.public = j.value
			CROSS JOIN vector AS v ON v.memory = m.id`, string(list)))
		if err != nil {
			return fmt.Errorf("look for vectors: %w", err)
		}
		for _, id := range some {
			out[id] = true
		}
		return nil
	})
	return out, err
}
