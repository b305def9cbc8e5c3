package keep

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/keep/foreign"
)

// ownFormat is what an import of our own export is from.
const ownFormat = "ambry"

// maxProblems is how many problems an import tells.
const maxProblems = 20

// Import adds what an export of ours, or another program, holds. Adding again
// changes nothing. What could not be read is told, and does not stop the rest.
func (k *Keeper) Import(ctx context.Context, in ambry.ImportData) (out ambry.DataImported, err error) {
	end, err := k.begin()
	if err != nil {
		return out, err
	}
	defer end()
	if err := readable(in.Path); err != nil {
		return out, err
	}
	if in.Policy == "" {
		in.Policy = ambry.KeepOurs
	}
	told := k.progress("import")
	defer func() { told.end(err) }()
	if in.From == ownFormat || in.From == "" && hasManifest(in.Path) {
		return k.importOwn(ctx, in, told)
	}
	f, err := foreign.Find(in.Path, in.From)
	if err != nil {
		return out, err
	}
	return k.importForeign(ctx, f, in, told)
}

// readable reports why nothing is read from a path.
func readable(path string) error {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return ambry.InvalidArgument.Errorf("path must be absolute")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ambry.NotFound.Wrap(err, "there is nothing at that path")
	}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if below(dir, real) {
			return ambry.InvalidArgument.Errorf("nothing is read from %s", dir)
		}
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return ambry.NotFound.Wrap(err, "there is nothing at that path")
	case !info.Mode().IsRegular() && !info.IsDir():
		return ambry.InvalidArgument.Errorf("it is neither a file nor a folder")
	}
	return nil
}

func (k *Keeper) importOwn(ctx context.Context, in ambry.ImportData, told *progress) (ambry.DataImported, error) {
	out := ambry.DataImported{From: ownFormat, DryRun: in.DryRun}
	z, m, err := openArchive(in.Path)
	if err != nil {
		return out, err
	}
	defer z.Close()
	if err := verifyArchive(ctx, &z.Reader, m); err != nil {
		return out, err
	}
	out.Notes, out.Conversations = int(m.Counts["memory"]), int(m.Counts["session"])
	if in.DryRun {
		return out, nil
	}
	lines, closeAll := join(&z.Reader, m)
	defer closeAll()
	done, err := k.Memory.Restore(ctx, teller{lines, told}, in.Policy)
	out.Added, out.Updated, out.Unchanged, out.Skipped = done.Added, done.Updated, done.Unchanged, done.Skipped
	out.Forgotten, out.Redactions = done.Forgotten, done.Redacted
	return out, err
}

// teller tells how much was read.
type teller struct {
	r interface {
		Read(p []byte) (int, error)
	}
	told *progress
}

func (t teller) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.told.add(0, int64(n))
	return n, err
}

// The bounds of a batch of conversations of another program.
const (
	batchTurns = 500
	batchItems = 200
)

func (k *Keeper) importForeign(ctx context.Context, f foreign.Format, in ambry.ImportData, told *progress) (ambry.DataImported, error) {
	out := ambry.DataImported{From: f.ID, DryRun: in.DryRun}
	var batch []ambry.Conversation
	turns := 0
	flush := func() error {
		if len(batch) == 0 || in.DryRun {
			batch, turns = nil, 0
			return nil
		}
		done, err := k.Intake.AddConversations(ctx, batch)
		out.Added, out.Updated, out.Unchanged = out.Added+done.Added, out.Updated+done.Updated, out.Unchanged+done.Unchanged
		out.Redactions += done.Redactions
		batch, turns = nil, 0
		return err
	}
	for item, err := range f.Read(ctx, in.Path) {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			out.Skipped++
			if len(out.Problems) < maxProblems {
				out.Problems = append(out.Problems, ambry.Plain(err.Error()))
			}
			continue
		}
		told.add(1, 0)
		if item.Conversation != nil {
			out.Conversations++
			batch, turns = append(batch, *item.Conversation), turns+len(item.Conversation.Turns)
			if turns >= batchTurns || len(batch) >= batchItems {
				if err := flush(); err != nil {
					return out, err
				}
			}
			continue
		}
		out.Notes++
		if in.DryRun {
			continue
		}
		if err := k.addNote(ctx, f, item, &out); err != nil {
			return out, err
		}
	}
	return out, flush()
}

func (k *Keeper) addNote(ctx context.Context, f foreign.Format, item foreign.Item, out *ambry.DataImported) error {
	began := k.Now()
	m, err := k.Intake.AddNote(ctx, *item.Note, fmt.Sprintf("import:%s:%s", f.ID, item.Key))
	switch kind := ambry.KindOf(err); {
	case err == nil && m.UpdatedAt.Before(began.Truncate(1e6)):
		out.Unchanged++
	case err == nil:
		out.Added++
	case kind == ambry.Gone:
		out.Forgotten++
	case kind == ambry.Conflict, kind == ambry.InvalidArgument:
		out.Skipped++
		if len(out.Problems) < maxProblems {
			out.Problems = append(out.Problems, err.Error())
		}
	default:
		return err
	}
	return nil
}
