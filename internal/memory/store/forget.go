package store

import (
	"context"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// Forget deletes a memory, and the turn it is the trace of, and remembers only
// that it was forgotten.
func (s *Store) Forget(ctx context.Context, id, key string) (ambry.Forgotten, error) {
	print, err := fingerprint("forget", id, nil)
	if err != nil {
		return ambry.Forgotten{}, err
	}
	var f ambry.Forgotten
	err = s.write(ctx, 1<<10, func(t *tx) error {
		f = ambry.Forgotten{}
		return t.once(key, print, id, &f, func() (err error) {
			if f, err = t.forget(id); err != nil {
				return err
			}
			return t.oweScrub(scrubQuick)
		})
	})
	if err != nil {
		return ambry.Forgotten{}, err
	}
	return f, nil
}

func (t *tx) forget(id string) (ambry.Forgotten, error) {
	m, err := t.memory(id)
	if err != nil {
		return ambry.Forgotten{}, err
	}
	var key, print []byte
	if m.Turn != 0 {
		if key, print, err = t.marks(m.Turn); err != nil {
			return ambry.Forgotten{}, err
		}
	}
	if err := t.secure(); err != nil {
		return ambry.Forgotten{}, err
	}
	if err := t.unsay(m); err != nil {
		return ambry.Forgotten{}, err
	}
	if err := t.drop(m); err != nil {
		return ambry.Forgotten{}, err
	}
	if m.Turn != 0 {
		if err := t.dropTurn(m.Turn, m.Session); err != nil {
			return ambry.Forgotten{}, err
		}
	}
	err = t.exec(`INSERT INTO tombstone (memory, public, turn, print, forgotten_at) VALUES (?, ?, ?, ?, ?)`,
		m.ID, m.Public, key, print, t.now)
	if err != nil {
		return ambry.Forgotten{}, fmt.Errorf("remember what was forgotten: %w", err)
	}
	// The stored answers hold its title.
	if err := t.exec(`UPDATE idempotency SET answer = x'' WHERE about = ?`, m.Public); err != nil {
		return ambry.Forgotten{}, fmt.Errorf("forget answers: %w", err)
	}
	var seq int64
	if err := t.Row(`SELECT max(seq) FROM change`).Scan(&seq); err != nil {
		return ambry.Forgotten{}, fmt.Errorf("read the last change: %w", err)
	}
	return ambry.Forgotten{
		OK: true, ID: m.Public, Kind: ambry.Layer(m.Cell.Layer).MemoryKind(), Status: ambry.Deleted,
		ChangeSeq: seq, ServerTime: sqlite.Time(t.now),
	}, nil
}

// marks returns the key of a turn, and the print of what was said in it.
func (t *tx) marks(turn int64) (key, print []byte, err error) {
	var packed []byte
	var agent string
	err = t.Row(`SELECT t.key, t.body, a.name FROM turn AS t JOIN session AS s ON s.id = t.session JOIN agent AS a ON a.id = s.agent
		WHERE t.id = ?`, turn).Scan(&key, &packed, &agent)
	if err != nil {
		return nil, nil, fmt.Errorf("read a turn: %w", err)
	}
	b, err := t.w.store.unpacker.Unpack(packed)
	if err != nil {
		return nil, nil, err
	}
	if p, ok := printOf(agent, b); ok {
		print = p[:]
	}
	return key, print, nil
}

func (t *tx) dropTurn(turn, session int64) error {
	c := document.Counts{Turns: 1}
	err := t.Row(`SELECT messages, calls, input, cached, output FROM turn WHERE id = ?`, turn).Scan(
		&c.Messages, &c.Calls, &c.Input, &c.Cached, &c.Output)
	if err != nil {
		return fmt.Errorf("read a turn: %w", err)
	}
	if err := t.moved(turn); err != nil {
		return err
	}
	delete(t.w.gists, turn)
	t.countTurns(session, c.Negated())
	if err := t.revoke(turn); err != nil {
		return err
	}
	for _, q := range []string{
		`UPDATE live_turn SET state = 'forgotten', turn = NULL WHERE turn = ?`,
		`DELETE FROM copy WHERE turn = ?`, `DELETE FROM turn WHERE id = ?`,
	} {
		if err := t.exec(q, turn); err != nil {
			return fmt.Errorf("delete a turn: %w", err)
		}
	}
	return nil
}

// shortPrint is how long a request must be to be recognised without its time.
const shortPrint = 64

// printOf recognises a turn that comes back under another id, as happens when an
// agent copies its history: the same request at the same moment. It is false for
// a turn that says too little to be sure.
func printOf(agent string, b document.Body) (document.Digest, bool) {
	request := ""
	for _, m := range b.Messages {
		if m.Role == ambry.User && !m.Hidden && m.Text != "" {
			request = m.Text
			break
		}
	}
	at := sqlite.Millis(b.Began())
	if request == "" || at == 0 && len(request) < shortPrint {
		return document.Digest{}, false
	}
	return document.DigestOf("print", agent, fmt.Sprint(at), request), true
}

// forgotten reports whether a turn that is not in the memory was deleted from it.
func (t *tx) forgotten(agent string, d *draft) (bool, error) {
	var one int
	gone, err := sqlite.Found(t.Row(`SELECT 1 FROM tombstone WHERE turn = ?`, d.key[:]).Scan(&one))
	prints := []document.Digest{d.key}
	if err == nil && !gone {
		if print, ok := printOf(agent, d.body); ok {
			prints = append(prints, print)
			gone, err = sqlite.Found(t.Row(`SELECT 1 FROM tombstone WHERE print = ? LIMIT 1`, print[:]).Scan(&one))
		}
	}
	if err != nil {
		return false, fmt.Errorf("look for a tombstone: %w", err)
	}
	if gone {
		return true, nil
	}
	return t.buried(prints...)
}
