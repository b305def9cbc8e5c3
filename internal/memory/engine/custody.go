package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/dump"
	"ambry.dev/ambry/internal/redact"
)

// scrubWait is how small a memory is, in memories forgotten at once, for which
// the caller waits until the bytes are gone too.
const scrubWait = 100_000

// ForgetAll deletes what is selected, for good.
func (e *Engine) ForgetAll(ctx context.Context, f ambry.Forget, key string) (ambry.ForgottenAll, error) {
	done, err := e.store.ForgetAll(ctx, f, key)
	if err != nil || f.DryRun || done.Memories > scrubWait {
		return done, err
	}
	// It is forgotten; if its bytes cannot be overwritten now, the store does it later.
	left, err := e.store.Scrub(ctx, false)
	done.Scrubbed = err == nil && left.Done
	return done, nil
}

// Scrub overwrites what was deleted.
func (e *Engine) Scrub(ctx context.Context, deep bool) (ambry.Scrubbed, error) {
	return e.store.Scrub(ctx, deep)
}

// Wipe empties the memory.
func (e *Engine) Wipe(ctx context.Context, all bool) (ambry.Wiped, error) {
	return e.store.Wipe(ctx, all)
}

// Export writes the memory as lines of JSON.
func (e *Engine) Export(ctx context.Context, w io.Writer) error {
	defer e.frugal.begin()()
	return e.store.Dump(ctx, w)
}

// frugal keeps garbage small while something goes on that makes much of it and is
// in no hurry, as an export, and gives back first what a scan took.
type frugal struct {
	mu     sync.Mutex // guards what follows
	n      int        // that go on
	before int        // the percentage of garbage
}

const frugalPercent = 40

func (f *frugal) begin() (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.n == 1 {
		f.before = debug.SetGCPercent(frugalPercent)
		debug.FreeOSMemory()
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.n--; f.n == 0 {
			debug.SetGCPercent(f.before)
		}
	}
}

// Backup makes a copy of the memory in the backups.
func (e *Engine) Backup(ctx context.Context) (ambry.BackupMade, error) { return e.store.Backup(ctx) }

// Rebuild makes the text index anew.
func (e *Engine) Rebuild(ctx context.Context) error { return e.store.Rebuild(ctx) }

// The bounds of a restore. A batch ends with the line that reaches one of them.
const (
	restoreBytes = 4 << 20
	restoreLines = 2000
	maxRecord    = 256 << 20
)

// Restore adds what Export wrote. Secrets in it are taken out first.
func (e *Engine) Restore(ctx context.Context, r io.Reader, p ambry.RestorePolicy) (ambry.Restored, error) {
	var done ambry.Restored
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 256<<10), maxRecord)
	var batch []dump.Record
	size, line := 0, 0
	flush := func() error {
		n, err := e.store.Restore(ctx, batch, p)
		if err != nil {
			return err
		}
		done = sum(done, n)
		batch, size = batch[:0], 0
		return nil
	}
	for in.Scan() {
		line++
		if len(in.Bytes()) == 0 {
			continue
		}
		var rec dump.Record
		if err := json.Unmarshal(in.Bytes(), &rec); err != nil {
			return done, ambry.InvalidArgument.Errorf("line %d of the export is not as an export is", line)
		}
		if line == 1 && rec.Header == nil {
			return done, ambry.InvalidArgument.Errorf("this is no export of a memory: its first line is no header")
		}
		done.Redacted += cleanRecord(&rec)
		batch = append(batch, rec)
		if size += len(in.Bytes()); size >= restoreBytes || len(batch) >= restoreLines {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return done, ambry.PayloadTooLarge.Errorf("line %d of the export is longer than %d bytes", line+1, maxRecord)
	} else if err != nil {
		return done, fmt.Errorf("read the export: %w", err)
	}
	return done, flush()
}

func sum(a, b ambry.Restored) ambry.Restored {
	return ambry.Restored{
		Lines: a.Lines + b.Lines, Added: a.Added + b.Added, Updated: a.Updated + b.Updated, Unchanged: a.Unchanged + b.Unchanged,
		Skipped: a.Skipped + b.Skipped, Forgotten: a.Forgotten + b.Forgotten, Redacted: a.Redacted + b.Redacted,
	}
}

// cleanRecord takes the secrets out of a record, and returns how many.
func cleanRecord(rec *dump.Record) (found int) {
	wash := func(texts ...*string) {
		for _, text := range texts {
			clean, n := redact.Text(*text)
			*text = clean
			found += n
		}
	}
	switch {
	case rec.Session != nil:
		c := redact.Clean(ambry.Conversation{Session: rec.Session.Session})
		rec.Session.Session = c.Conversation().Session
		found += c.Found()
	case rec.Turn != nil && rec.Turn.Body != nil:
		t := rec.Turn
		c := redact.Clean(ambry.Conversation{Turns: []ambry.Turn{{
			ID: t.ID, Source: t.Source, Cwd: t.Body.Cwd, Branch: t.Body.Branch, Model: t.Body.Model, Messages: t.Body.Messages,
		}}})
		clean := c.Conversation().Turns[0]
		t.ID, t.Source, t.Body.Cwd, t.Body.Branch, t.Body.Model, t.Body.Messages = clean.ID, clean.Source, clean.Cwd, clean.Branch, clean.Model, clean.Messages
		found += c.Found()
		for i := range t.Copies {
			wash(&t.Copies[i].Source.Path, &t.Copies[i].Source.Row)
		}
	case rec.Memory != nil:
		m := rec.Memory
		wash(&m.Project, &m.TurnRef, &m.Title, &m.Summary)
		for i := range m.Tags {
			wash(&m.Tags[i])
		}
		if m.Body != nil {
			wash(m.Body)
		}
	case rec.Claim != nil:
		wash(&rec.Claim.Project, &rec.Claim.Title, &rec.Claim.Body)
	case rec.LiveSession != nil:
		wash(&rec.LiveSession.Key)
	case rec.LiveTurn != nil:
		wash(&rec.LiveTurn.Query)
	case rec.Feedback != nil:
		wash(&rec.Feedback.Note)
	case rec.Call != nil:
		input := string(rec.Call.Input)
		wash(&rec.Call.Session, &rec.Call.Turn, &input)
		rec.Call.Input = json.RawMessage(input)
	}
	return found
}
