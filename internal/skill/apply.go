package skill

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// writing is an install that is going on.
type writing struct {
	skills *Skills
	id     string
	part   ambry.SkillPart
	edits  []agent.Edit
	before *kept  // what is installed already, nil if nothing is
	others []done // of other installs
}

func (w *writing) plan() ([]file, error) { return plan(w.edits, w.skills.look) }

// of returns the edits of one file.
func (w *writing) of(path string) []agent.Edit {
	var some []agent.Edit
	for _, e := range w.edits {
		if e.Path == path {
			some = append(some, e)
		}
	}
	return some
}

// shared returns what other installs have done that this one needs too, such as
// a skill in a directory that several agents read. It goes when the last of them
// goes.
func (w *writing) shared() (some []done) {
	for _, e := range w.edits {
		d := done{Path: e.Path, Form: e.Form, At: e.At}
		for _, o := range w.others {
			if d.same(o) && !slices.ContainsFunc(some, func(have done) bool { return have.same(o) && have.New == o.New }) {
				some = append(some, o)
			}
		}
	}
	return some
}

// directories returns those that have to be made for files, outermost first.
func directories(files []file) (dirs []string) {
	for _, f := range files {
		for dir := filepath.Dir(f.path); !exists(dir); dir = filepath.Dir(dir) {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return len(a) - len(b) })
	return dirs
}

// run writes the files that were planned, all or none. What it is about to do is
// kept before it is done, so that a crash can be cleaned up after.
func (w *writing) run(ctx context.Context, files []file) error {
	ctx = context.WithoutCancel(ctx) // half of it is worth nothing
	rec, state := record{}, stateInstalling
	if w.before != nil {
		rec, state = w.before.record, stateMending
		rec.Done, rec.Dirs = slices.Clone(rec.Done), slices.Clone(rec.Dirs)
	}
	fresh := record{Dirs: directories(files)}
	rec.Dirs = append(rec.Dirs, fresh.Dirs...)
	for _, d := range w.shared() {
		if !slices.ContainsFunc(rec.Done, d.same) {
			rec.Done = append(rec.Done, d)
		}
	}
	planned := rec
	for _, f := range files {
		planned.Done = merged(planned.Done, f.done)
	}
	if err := w.skills.save(ctx, w.id, w.part, state, planned); err != nil {
		return err
	}
	for _, f := range files {
		made, err := w.write(f, func(made []done) error { // it came out otherwise than planned
			planned.Done = merged(planned.Done, made)
			return w.skills.save(ctx, w.id, w.part, state, planned)
		})
		rec.Done = merged(rec.Done, made)
		fresh.Done = append(fresh.Done, made...)
		if err != nil {
			return errors.Join(err, w.giveUp(ctx, fresh))
		}
	}
	return w.skills.save(ctx, w.id, w.part, stateInstalled, rec)
}

// giveUp undoes what was begun.
func (w *writing) giveUp(ctx context.Context, fresh record) error {
	u := &undoing{skills: w.skills, id: w.id, part: w.part, record: fresh, others: w.others}
	if w.before != nil {
		u.others = append(slices.Clone(u.others), w.before.Done...)
	}
	files, err := u.plan()
	if err != nil {
		return err
	}
	if err := u.run(ctx, files, false); err != nil || w.before == nil {
		return errors.Join(err, w.skills.Installs.DeleteInstall(ctx, w.id, w.part))
	}
	return w.skills.save(ctx, w.id, w.part, stateInstalled, w.before.record)
}

// How often a file is tried that somebody else keeps changing.
const (
	writeTries = 200
	writePause = 5 * time.Millisecond
	patience   = 20 // tries that wait until the file has been left alone
)

// write writes one file and returns what was done to it. If somebody else
// changes the file meanwhile it plans anew, and says so before it writes.
func (w *writing) write(f file, again func([]done) error) ([]done, error) {
	for try := 1; ; try++ {
		if err := os.MkdirAll(filepath.Dir(f.real), 0o700); err != nil {
			return f.done, err
		}
		if err := w.skills.backup(f); err != nil {
			return f.done, err
		}
		err := f.write(try <= patience)
		if err == nil {
			return f.done, nil
		}
		if !errors.Is(err, errChanged) {
			return f.done, err
		}
		if try == writeTries {
			return f.done, ambry.Conflict.Errorf("%s is being changed all the time; try again later", f.path)
		}
		time.Sleep(writePause)
		next, err := plan(w.of(f.path), w.skills.look)
		if err != nil { // somebody is in the middle of writing it
			if try > writeTries/2 {
				return f.done, err
			}
			continue
		}
		if len(next) == 0 {
			return nil, nil
		}
		f = next[0]
		if err := again(f.done); err != nil {
			return f.done, err
		}
	}
}

// merged adds to what was done before what was done now. What was written a
// second time since it was lost is as it was the first time.
func merged(before, now []done) []done {
	all := slices.Clone(before)
	for _, d := range now {
		if !d.Found || d.Form == agent.Whole || d.Form == agent.Block {
			for _, old := range all {
				if old.same(d) {
					d.Made, d.Created = max(d.Made, old.Made), d.Created || old.Created
					if d.Form == agent.Whole {
						d.Old = old.Old
					}
				}
			}
			all = slices.DeleteFunc(all, d.same)
		}
		all = append(all, d)
	}
	return all
}
