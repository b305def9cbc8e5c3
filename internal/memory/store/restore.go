package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/dump"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// Restore adds records, all or none. They must be free of secrets, and come in
// the order in which [Store.Dump] writes them; adding again changes nothing.
func (s *Store) Restore(ctx context.Context, records []dump.Record, p ambry.RestorePolicy) (ambry.Restored, error) {
	switch p {
	case ambry.KeepOurs, ambry.TakeTheirs, ambry.TakeNewer:
	default:
		return ambry.Restored{}, ambry.InvalidArgument.Errorf("there is no policy %q; use skip, replace or newer", p)
	}
	var done ambry.Restored
	err := s.write(ctx, groupBytes, func(t *tx) error {
		done = ambry.Restored{Lines: len(records)}
		r := restorer{tx: t, policy: p, done: &done, topics: topics{}}
		for i := range records {
			if err := r.record(&records[i]); err != nil {
				return err
			}
		}
		return t.resolve(r.topics)
	})
	return done, err
}

type restorer struct {
	*tx
	policy ambry.RestorePolicy
	done   *ambry.Restored
	topics topics // of claims
}

// fate is what becomes of a record.
type fate int

const (
	isNew fate = iota
	isSame
	isOther
	wasForgotten
)

// decide counts a record, and reports whether it is to be written.
func (r *restorer) decide(f fate, theirsIsNewer bool) bool {
	switch {
	case f == isNew:
		r.done.Added++
		return true
	case f == isSame:
		r.done.Unchanged++
	case f == wasForgotten:
		r.done.Forgotten++
	case r.policy == ambry.TakeTheirs, r.policy == ambry.TakeNewer && theirsIsNewer:
		r.done.Updated++
		return true
	default:
		r.done.Skipped++
	}
	return false
}

func (r *restorer) record(rec *dump.Record) error {
	switch {
	case rec.Header != nil:
		return checkHeader(*rec.Header)
	case rec.Session != nil:
		return r.session(rec.Session)
	case rec.Continuation != nil:
		return r.continuation(rec.Continuation)
	case rec.Turn != nil:
		return r.turn(rec.Turn)
	case rec.Memory != nil:
		return r.restoreMemory(rec.Memory)
	case rec.Claim != nil:
		return r.restoreClaim(rec.Claim)
	case rec.LiveSession != nil:
		return r.liveSession(rec.LiveSession)
	case rec.LiveTurn != nil:
		return r.liveTurn(rec.LiveTurn)
	case rec.Tombstone != nil:
		return r.tombstone(rec.Tombstone)
	case rec.Gone != nil:
		return r.addOnce(`INSERT INTO gone (print, forgotten_at) VALUES (?, ?) ON CONFLICT DO NOTHING`, []byte(rec.Gone.Print), sqlite.Millis(rec.Gone.ForgottenAt))
	case rec.Feedback != nil:
		f := rec.Feedback
		return r.addOnce(`INSERT INTO feedback (memory, search, verdict, note, at) SELECT id, ?2, ?3, ?4, ?5 FROM memory WHERE public = ?1 ON CONFLICT DO NOTHING`,
			f.Memory, f.Search, f.Verdict, f.Note, sqlite.Millis(f.At))
	case rec.Uses != nil:
		return r.uses(rec.Uses)
	case rec.Call != nil:
		return r.call(rec.Call)
	}
	return ambry.InvalidArgument.Errorf("a line of the export says nothing that this version knows")
}

func checkHeader(h dump.Header) error {
	if h.Format != dump.Format {
		return ambry.InvalidArgument.Errorf("this is no export of a memory")
	}
	if h.Version > dump.Version {
		return ambry.InvalidArgument.Errorf("the export was written by a newer version of Ambry (format %d, this one knows %d); install the newer version", h.Version, dump.Version)
	}
	return nil
}

func (r *restorer) uses(u *dump.Uses) error {
	var id int64
	if _, err := sqlite.Found(r.Row(`SELECT id FROM memory WHERE public = ?`, u.Memory).Scan(&id)); err != nil {
		return fmt.Errorf("look for a memory: %w", err)
	}
	r.judged = append(r.judged, id)
	return r.addOnce(`INSERT INTO uses (memory, shown, used, ignored, helpful, wrong, last_at) SELECT id, ?2, ?3, ?4, ?5, ?6, ?7 FROM memory WHERE id = ?1 ON CONFLICT DO NOTHING`,
		id, u.Shown, u.Used, u.Ignored, u.Helpful, u.Wrong, sqlite.Millis(u.LastAt))
}

// addOnce is an insert that finds out itself whether the row is there.
func (r *restorer) addOnce(query string, args ...any) error {
	st, err := r.w.statement(query)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	res, err := st.Exec(args...)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	f := isSame
	if n, err := res.RowsAffected(); err == nil && n > 0 {
		f = isNew
	}
	r.decide(f, false)
	return nil
}

func (r *restorer) session(rec *dump.Session) error {
	if rec.Agent == "" || rec.ID == "" {
		return ambry.InvalidArgument.Errorf("a session of the export has no agent or no id")
	}
	old, err := tables.SessionOf(r, rec.Agent, rec.ID)
	if err != nil {
		return err
	}
	s := tables.Session{
		ID: old.ID, Agent: rec.Agent, External: rec.ID, Parent: rec.ParentID, Relation: string(rec.Relation), Title: rec.Title,
		Cwd: rec.Cwd, Project: rec.Project, Branch: rec.Branch, Model: rec.Model, Version: rec.Version,
		Background: rec.Background, Archived: rec.Archived, Started: sqlite.Millis(rec.StartedAt), Ended: sqlite.Millis(rec.EndedAt), Told: sqlite.Millis(rec.ToldAt),
		CopyOf: old.CopyOf, Original: old.Original,
	}
	if again, err := r.buried(titlePrint(s.Title)); err != nil {
		return err
	} else if again {
		s.Title = ""
	}
	f := isOther
	switch {
	case old.ID == 0:
		f = isNew
	case s == old:
		f = isSame
	}
	if !r.decide(f, s.Told > old.Told) {
		return nil
	}
	_, err = r.save(s)
	return err
}

func (r *restorer) continuation(rec *dump.Continuation) error {
	from, err := tables.SessionOf(r, rec.Agent, rec.Session)
	if err != nil {
		return err
	}
	of, err := tables.SessionOf(r, rec.Agent, rec.Of)
	if err != nil || from.ID == 0 || of.ID == 0 {
		return err
	}
	return r.addOnce(`UPDATE session SET copy_of = ? WHERE id = ? AND copy_of IS NULL`, of.ID, from.ID)
}

// holder returns the row of a session, which the export told of before; one that
// it did not is made.
func (r *restorer) holder(agent, external string) (tables.Session, error) {
	s, err := tables.SessionOf(r, agent, external)
	if err != nil || s.ID != 0 {
		return s, err
	}
	return r.save(s)
}

func (r *restorer) turn(rec *dump.Turn) error {
	if rec.Agent == "" || rec.Session == "" || rec.ID == "" || rec.Body == nil {
		return ambry.InvalidArgument.Errorf("a turn of the export has no agent, session, id or body")
	}
	key := turnKey(rec.Agent, rec.ID, rec.Part)
	held, there, err := r.held(key)
	if err != nil {
		return err
	}
	f := isNew
	if there {
		f = isOther
		if bytes.Equal(held.hash, rec.Hash) {
			f = isSame
		}
	} else {
		gone, err := r.forgotten(rec.Agent, &draft{key: key, body: plainBody(rec)})
		if err != nil {
			return err
		}
		if gone {
			f = wasForgotten
		}
	}
	if !r.decide(f, false) {
		return nil
	}
	owner, err := r.holder(rec.Agent, rec.Session)
	if err != nil {
		return err
	}
	b, err := r.bodyOf(rec)
	if err != nil {
		return err
	}
	encoded, _, err := r.w.builder.Encode(b)
	if err != nil {
		return err
	}
	c := r.w.builder.Content(b, encoded)
	if there {
		return r.replaceTurn(rec, held, owner, key, c)
	}
	return r.insertTurn(rec, owner, key, c)
}

// plainBody is the body of a record without the rows of sessions.
func plainBody(rec *dump.Turn) document.Body {
	b := document.Body{At: rec.Body.At, Cwd: rec.Body.Cwd, Branch: rec.Body.Branch, Model: rec.Body.Model, Tokens: rec.Body.Tokens}
	b.Messages = make([]document.Message, len(rec.Body.Messages))
	for i, m := range rec.Body.Messages {
		b.Messages[i] = document.Message{Message: m}
	}
	return b
}

func (r *restorer) bodyOf(rec *dump.Turn) (document.Body, error) {
	b := plainBody(rec)
	for i := range b.Messages {
		if i < len(rec.From) && rec.From[i] != "" {
			s, err := r.holder(rec.Agent, rec.From[i])
			if err != nil {
				return b, err
			}
			b.Messages[i].From = s.ID
		}
	}
	return b, nil
}

func (r *restorer) insertTurn(rec *dump.Turn, owner tables.Session, key document.Digest, c document.Content) error {
	p, err := r.place(rec.Source)
	if err != nil {
		return err
	}
	id, err := r.insert(`INSERT INTO turn (key, external, part, session, at, source, line, start, stop, row, hash, copies,
			messages, calls, input, cached, output, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		key[:], rec.ID, rec.Part, owner.ID, sqlite.Millis(rec.At), p.source, p.line, p.start, p.stop, p.row, []byte(rec.Hash), len(rec.Copies),
		c.Counts.Messages, c.Counts.Calls, c.Counts.Input, c.Counts.Cached, c.Counts.Output, c.Packed)
	if err != nil {
		return fmt.Errorf("restore a turn: %w", err)
	}
	r.countTurns(owner.ID, c.Counts)
	r.w.gists.put(id, c.Terms.Gist())
	if err := r.unlearned(id); err != nil {
		return err
	}
	for _, held := range rec.Copies {
		s, err := r.holder(rec.Agent, held.Session)
		if err != nil {
			return err
		}
		at, err := r.place(held.Source)
		if err != nil {
			return err
		}
		if err := r.saveCopy(id, s.ID, at, held.Hash); err != nil {
			return err
		}
	}
	return r.moved(id)
}

// replaceTurn gives a turn that is there the content of the record. Who holds it
// stays as it is.
func (r *restorer) replaceTurn(rec *dump.Turn, held heldTurn, owner tables.Session, key document.Digest, c document.Content) error {
	if held.copies > 0 || held.session != owner.ID {
		owner, err := tables.SessionByID(r, held.session)
		if err != nil {
			return err
		}
		return r.update(held, owner, held.place, key, rec.Hash, held.copies, c)
	}
	p, err := r.place(rec.Source)
	if err != nil {
		return err
	}
	return r.update(held, owner, p, key, rec.Hash, 0, c)
}

// turnOf returns the row of a turn, 0 if it is not there.
func (r *restorer) turnOf(n *dump.Named) (id, owner int64, err error) {
	key := turnKey(n.Agent, n.ID, n.Part)
	_, err = sqlite.Found(r.Row(`SELECT id, session FROM turn WHERE key = ?`, key[:]).Scan(&id, &owner))
	return id, owner, sqlite.Wrapf(err, "look for a turn")
}

func (r *restorer) restoreMemory(rec *dump.Memory) error {
	old, err := r.memory(rec.ID)
	there := err == nil
	if err != nil && ambry.KindOf(err) != ambry.NotFound {
		return err
	}
	m, turnGone, err := r.memoryOf(rec)
	if err != nil {
		return err
	}
	var one int
	gone, err := sqlite.Found(r.Row(`SELECT 1 FROM tombstone WHERE public = ?`, rec.ID).Scan(&one))
	if err != nil {
		return fmt.Errorf("look for a tombstone: %w", err)
	}
	f := isNew
	switch {
	case gone || turnGone:
		f = wasForgotten
	case there:
		if f, err = r.sameMemory(rec, old, m); err != nil {
			return err
		}
	}
	var updated int64
	if there {
		if err := r.Row(`SELECT updated_at FROM memory WHERE id = ?`, old.ID).Scan(&updated); err != nil {
			return fmt.Errorf("read a memory: %w", err)
		}
	}
	if !r.decide(f, sqlite.Millis(rec.UpdatedAt) > updated) {
		return nil
	}
	if there {
		m.ID, m.Cell, m.Session, m.Turn, m.Created = old.ID, tables.Cell{Layer: old.Cell.Layer, Status: rec.Status, Agent: old.Cell.Agent, Project: old.Cell.Project, Rule: old.Cell.Rule}, old.Session, old.Turn, old.Created
		m.Version = old.Version // rewrite counts on
		if rec.Body != nil && old.Turn == 0 && old.Cell.Rule == "" {
			if err := r.exec(`UPDATE memory SET body = ?, sum = ? WHERE id = ?`, *rec.Body, tables.SumOf(*rec.Body), old.ID); err != nil {
				return fmt.Errorf("restore a memory: %w", err)
			}
		}
		return r.rewrite(old, m)
	}
	return r.insertMemory(rec, m)
}

// sameMemory compares what a person can change of a memory.
func (r *restorer) sameMemory(rec *dump.Memory, old, m tables.Memory) (fate, error) {
	var body string
	if err := r.Row(`SELECT coalesce(body, '') FROM memory WHERE id = ?`, old.ID).Scan(&body); err != nil {
		return isOther, fmt.Errorf("read a memory: %w", err)
	}
	theirs := ""
	if rec.Body != nil {
		theirs = *rec.Body
	}
	if old.Title == m.Title && old.Summary == m.Summary && old.Tags == m.Tags && old.Cell.Status == m.Cell.Status && body == theirs {
		return isSame, nil
	}
	return isOther, nil
}

// memoryOf makes a row of a record; gone says that the turn it is the trace of
// is not there, so it was forgotten.
func (r *restorer) memoryOf(rec *dump.Memory) (m tables.Memory, gone bool, err error) {
	if rec.ID == "" || !document.IsLayer(ambry.Layer(rec.Layer)) || rec.Turn == nil && rec.Body == nil {
		return m, false, ambry.InvalidArgument.Errorf("a memory of the export has no id, layer or text")
	}
	m = tables.Memory{Public: rec.ID, Created: sqlite.Millis(rec.CreatedAt), Version: max(rec.Version, 1), Edited: rec.Edited, Title: rec.Title, Summary: rec.Summary}
	m.Cell = tables.Cell{Layer: rec.Layer, Status: rec.Status, Rule: rec.Rule}
	if m.Tags, err = tables.FormatTags(rec.Tags); err != nil {
		return m, false, err
	}
	if m.Cell.Agent, err = r.agent(rec.Agent); err != nil {
		return m, false, err
	}
	project, err := r.project(rec.Project)
	if err != nil {
		return m, false, err
	}
	m.Cell.Project = project.Int64
	if rec.Session != nil {
		s, err := r.holder(rec.Session.Agent, rec.Session.ID)
		if err != nil {
			return m, false, err
		}
		m.Session = s.ID
	}
	if rec.Rule != "" {
		if rec.Origin == nil {
			return m, true, nil
		}
		m.Origin, _, err = r.turnOf(rec.Origin)
		return m, m.Origin == 0, err
	}
	if rec.Turn != nil {
		if m.Turn, m.Session, err = r.turnOf(rec.Turn); err != nil {
			return m, false, err
		}
		return m, m.Turn == 0, nil
	}
	return m, false, nil
}

func (r *restorer) insertMemory(rec *dump.Memory, m tables.Memory) error {
	if m.Turn != 0 {
		var other int64
		if ok, err := sqlite.Found(r.Row(`SELECT id FROM memory WHERE turn = ?`, m.Turn).Scan(&other)); err != nil || ok {
			return sqlite.Wrapf(err, "look for the trace of a turn") // it has one, under another id
		}
	}
	var sum sql.NullInt64
	if rec.Body != nil {
		sum = sql.NullInt64{Int64: tables.SumOf(*rec.Body), Valid: true}
	}
	var err error
	m.ID, err = r.insert(`INSERT INTO memory (public, layer, status, agent, project, session, turn, turn_ref, created_at, updated_at,
			version, edited, title, summary, tags, body, sum, rule, origin) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.Public, m.Cell.Layer, m.Cell.Status, m.Cell.Agent, tables.Null(m.Cell.Project), tables.Null(m.Session), tables.Null(m.Turn), rec.TurnRef, m.Created,
		sqlite.Millis(rec.UpdatedAt), m.Version, m.Edited, m.Title, m.Summary, m.Tags, rec.Body, sum, m.Cell.Rule, tables.Null(m.Origin))
	if err != nil {
		return fmt.Errorf("restore a memory: %w", err)
	}
	text, err := r.termsFor(m.ID)
	if err != nil {
		return err
	}
	if m.Turn != 0 {
		if err := r.moved(m.Turn); err != nil {
			return err
		}
	}
	return r.entered(m, text)
}
