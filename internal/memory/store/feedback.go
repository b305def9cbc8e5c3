package store

import (
	"context"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// Feedback notes what a memory was good for. Said again about the same search,
// it replaces what was said before.
func (s *Store) Feedback(ctx context.Context, id string, f ambry.Feedback, key string) (ambry.FeedbackTaken, error) {
	if err := f.Validate(); err != nil {
		return ambry.FeedbackTaken{}, err
	}
	print, err := fingerprint("feedback", id, f)
	if err != nil {
		return ambry.FeedbackTaken{}, err
	}
	var taken ambry.FeedbackTaken
	err = s.write(ctx, 1<<10, func(t *tx) error {
		taken = ambry.FeedbackTaken{}
		return t.once(key, print, id, &taken, func() (err error) {
			taken, err = t.judge(id, f)
			return err
		})
	})
	if err != nil {
		return ambry.FeedbackTaken{}, err
	}
	return taken, nil
}

func (t *tx) judge(id string, f ambry.Feedback) (ambry.FeedbackTaken, error) {
	m, err := t.memory(id)
	if err != nil {
		return ambry.FeedbackTaken{}, err
	}
	var old ambry.Verdict
	_, err = sqlite.Found(t.Row(`SELECT verdict FROM feedback WHERE memory = ? AND search = ?`, m.ID, f.SearchID).Scan(&old))
	if err != nil {
		return ambry.FeedbackTaken{}, fmt.Errorf("read feedback: %w", err)
	}
	err = t.exec(`INSERT INTO feedback (memory, search, verdict, note, at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET verdict = excluded.verdict, note = excluded.note, at = excluded.at`,
		m.ID, f.SearchID, f.Verdict, f.Note, t.now)
	if err != nil {
		return ambry.FeedbackTaken{}, fmt.Errorf("keep feedback: %w", err)
	}
	taken := ambry.FeedbackTaken{OK: true, ID: m.Public, SearchID: f.SearchID, Verdict: f.Verdict, ServerTime: sqlite.Time(t.now)}
	t.judged = append(t.judged, m.ID)
	u := &taken.Uses
	change := func(v ambry.Verdict) int {
		n := 0
		if v == f.Verdict {
			n++
		}
		if v == old {
			n--
		}
		return n
	}
	err = t.Row(`INSERT INTO uses (memory, used, ignored, helpful, wrong, last_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET used = used + excluded.used, ignored = ignored + excluded.ignored,
			helpful = helpful + excluded.helpful, wrong = wrong + excluded.wrong, last_at = max(last_at, excluded.last_at)
		RETURNING shown, used, ignored, helpful, wrong`,
		m.ID, change(ambry.VerdictUsed), change(ambry.VerdictIgnored), change(ambry.VerdictHelpful), change(ambry.VerdictWrong), t.now).Scan(
		&u.Shown, &u.Used, &u.Ignored, &u.Helpful, &u.Wrong)
	if err != nil {
		return ambry.FeedbackTaken{}, fmt.Errorf("count feedback: %w", err)
	}
	return taken, nil
}
