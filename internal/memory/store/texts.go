package store

import (
	"context"
	"encoding/json"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// Text is a memory with what was said in it.
type Text struct {
	ambry.Memory // without Describe only TurnID, Rule, CreatedAt and Version, which is that of the text

	Row  int64
	In   Group
	Body string     // of a note
	Said []Said     // of a trace
	Uses ambry.Uses // without Shown
}

// Size returns how many bytes are said in it.
func (t *Text) Size() int {
	n := len(t.Body)
	for _, s := range t.Said {
		n += len(s.Text)
		for _, c := range s.Calls {
			n += len(c.Input) + len(c.Output)
		}
	}
	return n
}

// Group is what a memory belongs to, as rows; 0 for nothing.
type Group struct{ Agent, Project, Session int64 }

// Said is a visible message, and where it stands.
type Said struct {
	Role   ambry.Role
	Text   string
	Calls  []ambry.ToolCall // name, input and output only
	Source ambry.Source     // without Describe only where in the source

	from int64 // session whose copy it is of, 0 for the turn's own
}

// Texts is [Store.Glance] and [Store.Describe] at once.
func (s *Store) Texts(ctx context.Context, rows []int64, least, budget int) ([]Text, error) {
	texts, err := s.glance(ctx, rows, least, budget, false)
	if err != nil {
		return nil, err
	}
	if err := s.Describe(ctx, texts); err != nil {
		return nil, err
	}
	out := make([]Text, 0, len(texts))
	for _, t := range texts {
		if t.ID != "" {
			out = append(out, *t)
		}
	}
	return out, nil
}

// Glance reads what is in memories by their rows, in their order: a search looks
// at many that it does not tell of. One that was forgotten meanwhile is missing,
// and so are those after the first least that would make it more than budget bytes
// as they are stored.
func (s *Store) Glance(ctx context.Context, rows []int64, least, budget int) ([]*Text, error) {
	return s.glance(ctx, rows, least, budget, true)
}

func (s *Store) glance(ctx context.Context, rows []int64, least, budget int, keep bool) (out []*Text, err error) {
	err = s.brief(ctx, func(r sqlite.Reader) (err error) {
		if out, err = s.glances(r, rows, least, budget, keep); err != nil {
			return fmt.Errorf("read texts: %w", err)
		}
		return nil
	})
	return out, err
}

// brief reads for a millisecond or so: less than it costs to have it watched, so
// the end of ctx only keeps it from beginning.
func (s *Store) brief(ctx context.Context, f func(sqlite.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.readers.Read(context.WithoutCancel(ctx), f)
}

// Describe completes texts. One that was forgotten meanwhile stays without an id.
func (s *Store) Describe(ctx context.Context, texts []*Text) error {
	if len(texts) == 0 {
		return nil
	}
	rows, at := make([]int64, len(texts)), make(map[int64]*Text, len(texts))
	for i, t := range texts {
		rows[i], at[t.Row] = t.Row, t
	}
	ids, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("describe texts: %w", err)
	}
	return s.brief(ctx, func(r sqlite.Reader) error {
		found, err := r.Rows(`SELECT `+tables.PublicColumns+`, m.id, coalesce(m.turn, 0)
			FROM json_each(?) AS j CROSS JOIN `+tables.PublicTables+` WHERE m.id = j.value`, string(ids))
		if err != nil {
			return fmt.Errorf("describe texts: %w", err)
		}
		defer func() { _ = found.Close() }()
		turns := make(map[int64]int64, len(texts))
		for found.Next() {
			var row, turn int64
			m, err := tables.ScanPublic(found, &row, &turn)
			if err != nil {
				return fmt.Errorf("describe texts: %w", err)
			}
			t := at[row]
			m.Version = t.Version
			t.Memory, turns[row] = m, turn
		}
		if err := found.Err(); err != nil {
			return fmt.Errorf("describe texts: %w", err)
		}
		_ = found.Close() // before another query asks for a connection
		for _, t := range texts {
			if err := t.locate(r, turns[t.Row]); err != nil {
				return err
			}
		}
		return nil
	})
}

// locate tells where what was said stands. Most of it stands in the turn's own
// source, the rest in that of another session's copy.
func (t *Text) locate(r sqlite.Reader, turn int64) error {
	if t.ID == "" {
		return nil
	}
	for i := range t.Said {
		said := &t.Said[i]
		source := t.Source
		if said.from != 0 {
			err := r.Row(`SELECT coalesce(f.path, ''), c.line, c.start, c.stop, c.row FROM copy AS c
				LEFT JOIN source AS f ON f.id = c.source WHERE c.turn = ? AND c.session = ?`, turn, said.from).Scan(
				&source.Path, &source.Line, &source.Offset, &source.End, &source.Row)
			if err != nil {
				return fmt.Errorf("read the source of a message: %w", err)
			}
		}
		if said.Source.Line != 0 || said.Source.Offset != 0 {
			source.Line, source.Offset, source.End = said.Source.Line, said.Source.Offset, 0
		}
		said.Source = source
	}
	return nil
}

// said returns the visible messages of a turn.
func (s *Store) said(packed []byte) ([]Said, error) {
	return document.UnpackShown(s.unpacker, packed, func(m document.Message) Said {
		return Said{Role: m.Role, Text: m.Text, Calls: m.Calls, Source: ambry.Source{Line: m.Line, Offset: m.Offset}, from: m.From}
	})
}
