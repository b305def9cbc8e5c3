package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// Add adds a note and returns it as a memory. The id of a note with a key is
// made from the key.
func (s *Store) Add(ctx context.Context, n ambry.Note, key string) (ambry.Memory, error) {
	if err := n.Validate(); err != nil {
		return ambry.Memory{}, err
	}
	if n.Layer == "" {
		n.Layer = ambry.L1
	}
	if !document.IsLayer(n.Layer) {
		return ambry.Memory{}, ambry.InvalidArgument.Errorf("there is no layer %q; use L1, L2, L3 or Skill", n.Layer)
	}
	print, err := fingerprint("add", "", n)
	if err != nil {
		return ambry.Memory{}, err
	}
	w, done, err := s.borrow(ctx)
	if err != nil {
		return ambry.Memory{}, err
	}
	d := w.Note(n)
	done()
	id := document.DigestOf("note", key)
	if key == "" {
		_, _ = rand.Read(id[:]) // never fails
	}
	public := document.MemoryID(n.Layer, id)
	var m ambry.Memory
	err = s.write(ctx, len(n.Content)*2, func(t *tx) error {
		m = ambry.Memory{}
		return t.once(key, print, public, &m, func() (err error) {
			m, err = t.addNote(n, public, d)
			return err
		})
	})
	if err != nil {
		return ambry.Memory{}, err
	}
	return m, nil
}

func (t *tx) addNote(n ambry.Note, public string, c document.Content) (ambry.Memory, error) {
	if m, ok, err := t.noteAgain(public); ok || err != nil {
		return m, err
	}
	m := tables.Memory{Public: public, Created: c.At, Version: 1, Title: c.Title, Summary: c.Summary}
	if m.Created == 0 {
		m.Created = t.now
	}
	var err error
	if m.Tags, err = tables.FormatTags(n.Tags); err != nil {
		return ambry.Memory{}, err
	}
	m.Cell = tables.Cell{Layer: string(n.Layer), Status: string(ambry.Activated)}
	if m.Cell.Agent, err = t.agent(n.Source); err != nil {
		return ambry.Memory{}, err
	}
	project, err := t.project(n.Project)
	if err != nil {
		return ambry.Memory{}, err
	}
	m.Cell.Project = project.Int64
	if m.Session, err = t.noteSession(n); err != nil {
		return ambry.Memory{}, err
	}
	m.ID, err = t.insert(`INSERT INTO memory (public, layer, status, agent, project, session, turn_ref, created_at, updated_at,
			title, summary, tags, body, sum)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		public, m.Cell.Layer, m.Cell.Status, m.Cell.Agent, project, tables.Null(m.Session), n.TurnID, m.Created, t.now,
		m.Title, m.Summary, m.Tags, n.Content, tables.SumOf(n.Content))
	if err != nil {
		return ambry.Memory{}, fmt.Errorf("add a note: %w", err)
	}
	if err := t.entered(m, c.Terms); err != nil {
		return ambry.Memory{}, err
	}
	return tables.PublicBy(t, `m.id = ?`, m.ID)
}

// noteAgain finds the note that a key made, when the key itself was forgotten by
// its age.
func (t *tx) noteAgain(public string) (ambry.Memory, bool, error) {
	m, err := tables.PublicBy(t, `m.public = ?`, public)
	if err == nil {
		return m, true, nil
	}
	if ambry.KindOf(err) != ambry.NotFound {
		return ambry.Memory{}, false, err
	}
	var one int
	gone, err := sqlite.Found(t.Row(`SELECT 1 FROM tombstone WHERE public = ?`, public).Scan(&one))
	if err != nil {
		return ambry.Memory{}, false, fmt.Errorf("look for a tombstone: %w", err)
	}
	if gone {
		return ambry.Memory{}, false, errForgotten
	}
	return ambry.Memory{}, false, nil
}

// noteSession returns the row of the session that a note names, 0 for none. An
// unknown one is added without turns, so that its import finds it.
func (t *tx) noteSession(n ambry.Note) (int64, error) {
	if n.SessionID == "" {
		return 0, nil
	}
	s, err := tables.SessionOf(t, n.Source, n.SessionID)
	if err != nil || s.ID != 0 {
		return s.ID, err
	}
	s, err = t.save(s)
	return s.ID, err
}

// fingerprint tells requests apart that use the same key.
func fingerprint(operation, id string, request any) (document.Digest, error) {
	b, err := json.Marshal(request)
	if err != nil {
		return document.Digest{}, fmt.Errorf("fingerprint a request: %w", err)
	}
	sum := sha256.Sum256(b)
	return document.DigestOf(operation, id, string(sum[:])), nil
}

// Keys are remembered for this long after their first use.
const (
	keyLifeMs    = 3 * tables.DayMs
	pruneEveryMs = tables.DayMs / 24
)

var (
	errForgotten = ambry.Gone.Errorf("what this idempotency key made was forgotten since; use a new key")
	errOtherUse  = ambry.Conflict.Errorf("this idempotency key was used for another request; use a new key")
)

// once does a keyed write the first time, and afterwards only repeats its
// answer. Writes are one after the other, so two with the same key cannot both
// be the first.
func (t *tx) once(key string, print document.Digest, about string, answer any, do func() error) error {
	if key == "" {
		return do()
	}
	if err := t.pruneKeys(); err != nil {
		return err
	}
	var known, stored []byte
	err := t.Row(`SELECT fingerprint, answer FROM idempotency WHERE key = ?`, key).Scan(&known, &stored)
	ok, err := sqlite.Found(err)
	switch {
	case err != nil:
		return fmt.Errorf("look for a key: %w", err)
	case ok && string(known) != string(print[:]):
		return errOtherUse
	case ok && len(stored) == 0:
		return errForgotten
	case ok:
		return json.Unmarshal(stored, answer)
	}
	if err := do(); err != nil {
		return err
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("remember an answer: %w", err)
	}
	err = t.exec(`INSERT INTO idempotency (key, fingerprint, about, answer, created_at) VALUES (?, ?, ?, ?, ?)`,
		key, print[:], about, b, t.now)
	if err != nil {
		return fmt.Errorf("remember a key: %w", err)
	}
	return nil
}

func (t *tx) pruneKeys() error {
	if t.now-t.w.pruned < pruneEveryMs {
		return nil
	}
	if err := t.exec(`DELETE FROM idempotency WHERE created_at < ?`, t.now-keyLifeMs); err != nil {
		return fmt.Errorf("prune keys: %w", err)
	}
	t.w.pruned = t.now
	return nil
}

// Patch changes a memory and returns it.
func (s *Store) Patch(ctx context.Context, id string, p ambry.Patch, key string) (ambry.Memory, error) {
	if err := validPatch(p); err != nil {
		return ambry.Memory{}, err
	}
	print, err := fingerprint("patch", id, p)
	if err != nil {
		return ambry.Memory{}, err
	}
	var m ambry.Memory
	err = s.write(ctx, 1<<10, func(t *tx) error {
		m = ambry.Memory{}
		return t.once(key, print, id, &m, func() (err error) {
			m, err = t.patch(id, p)
			return err
		})
	})
	if err != nil {
		return ambry.Memory{}, err
	}
	return m, nil
}

func validPatch(p ambry.Patch) error {
	if p.Title != nil && strings.TrimSpace(*p.Title) == "" {
		return ambry.InvalidArgument.Errorf("a title cannot be empty")
	}
	if p.Status == nil {
		return nil
	}
	switch *p.Status {
	case ambry.Activated, ambry.Resolving, ambry.Archived:
		return nil
	}
	return ambry.InvalidArgument.Errorf("a memory cannot be made %q; to delete it, forget it", *p.Status)
}

func (t *tx) patch(id string, p ambry.Patch) (ambry.Memory, error) {
	m, err := t.memory(id)
	if err != nil {
		return ambry.Memory{}, err
	}
	if p.Version != 0 && p.Version != m.Version {
		return ambry.Memory{}, ambry.Conflict.Errorf("the memory is at version %d, not %d; read it again", m.Version, p.Version)
	}
	old := m
	if p.Title != nil {
		m.Title, m.Edited = *p.Title, m.Edited|tables.EditedTitle
	}
	if p.Summary != nil {
		m.Summary, m.Edited = *p.Summary, m.Edited|tables.EditedSummary
	}
	if p.Tags != nil {
		if m.Tags, err = tables.FormatTags(*p.Tags); err != nil {
			return ambry.Memory{}, err
		}
	}
	if p.Status != nil {
		m.Cell.Status, m.Edited = string(*p.Status), m.Edited|tables.EditedStatus
	}
	if m != old {
		if err := t.rewrite(old, m); err != nil {
			return ambry.Memory{}, err
		}
	}
	return tables.PublicBy(t, `m.id = ?`, m.ID)
}

// rewrite stores a memory that was changed by hand.
func (t *tx) rewrite(old, m tables.Memory) error {
	m.Version++
	err := t.exec(`UPDATE memory SET title = ?, summary = ?, tags = ?, status = ?, edited = ?, version = ?, updated_at = ? WHERE id = ?`,
		m.Title, m.Summary, m.Tags, m.Cell.Status, m.Edited, m.Version, t.now, m.ID)
	if err != nil {
		return fmt.Errorf("change a memory: %w", err)
	}
	text, err := t.termsFor(m.ID)
	if err != nil {
		return err
	}
	if m.Turn != 0 {
		if err := t.moved(m.Turn); err != nil {
			return err
		}
	}
	t.unindex(m.ID)
	t.countMemory(old.Cell, old.Created, -1)
	return t.entered(m, text)
}

// memory reads what the writer needs to know of a memory.
func (t *tx) memory(public string) (tables.Memory, error) {
	var m tables.Memory
	err := t.Row(`SELECT `+tables.MemoryColumns+` FROM memory WHERE public = ?`, public).Scan(m.Fields()...)
	ok, err := sqlite.Found(err)
	if err != nil {
		return tables.Memory{}, fmt.Errorf("read a memory: %w", err)
	}
	if !ok {
		return tables.Memory{}, tables.NotFound(public)
	}
	return m, nil
}
