package skill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// undoing is an install that is being taken out.
type undoing struct {
	skills *Skills
	id     string
	part   ambry.SkillPart
	record record
	others []done // of other installs: what they need too stays
	unsure bool   // it is not known whether all of the record was done
}

// plan returns the files that change.
func (u *undoing) plan() ([]file, error) {
	var files []file
	for _, d := range u.record.Done {
		if slices.ContainsFunc(files, func(f file) bool { return f.path == d.Path }) {
			continue
		}
		snap, err := u.skills.look(d.Path)
		if err != nil {
			return nil, err
		}
		f, err := u.file(snap)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return slices.DeleteFunc(files, func(f file) bool { return !f.exists || !f.deleted && bytes.Equal(f.data, f.after) }), nil
}

// file undoes what was done to a file, the last first.
func (u *undoing) file(snap snapshot) (file, error) {
	f := file{snapshot: snap, after: snap.data}
	if !f.exists {
		return f, nil
	}
	created := false
	for _, d := range slices.Backward(u.record.Done) {
		if d.Path != f.path || slices.ContainsFunc(u.others, d.same) {
			continue
		}
		text, err := d.undo(f.after, u.unsure)
		if err != nil {
			return f, f.refuse(err)
		}
		f.after, created = text, created || d.Created
	}
	rest := strings.Join(strings.Fields(string(bytes.TrimPrefix(f.after, []byte("\xef\xbb\xbf")))), "")
	f.deleted = created && (rest == "" || rest == "{}")
	if f.deleted {
		f.after = nil
	}
	return f, nil
}

// undo returns text as it would be without the edit.
func (d done) undo(text []byte, unsure bool) ([]byte, error) {
	if d.Form == agent.Whole {
		if string(text) == d.New || bytes.Contains(text, []byte(agent.Signature)) {
			return []byte(d.Old), nil
		}
		return text, nil // somebody put another file in its place
	}
	if d.New != "" && bytes.Count(text, []byte(d.New)) == 1 {
		before := bytes.Replace(text, []byte(d.New), []byte(d.Old), 1)
		if d.Form == agent.Block || edit.SameBut(edit.Format(d.Form), text, before, d.At) {
			return before, nil
		}
	}
	switch {
	case d.Found:
		return text, nil // what stood here before us was changed since
	case d.Form == agent.Block:
		c, err := edit.Markdown.Drop(text)
		if err != nil {
			return nil, err
		}
		return c.Apply(text), nil
	case d.Small && unsure:
		return text, edit.Check(edit.Format(d.Form), text)
	}
	return d.drop(text)
}

// drop takes out what is ours by what it is.
func (d done) drop(text []byte) ([]byte, error) {
	format := edit.Format(d.Form)
	if !d.Small && len(d.At.Mine) == 0 {
		texts, found, err := edit.Value(format, text, d.At.Path)
		if err != nil || !found {
			return text, err
		}
		if len(texts) > 0 && !agent.Ours(texts) {
			return text, nil
		}
	}
	for range maxChanges {
		c, err := edit.Drop(format, text, d.At, d.Made)
		if err != nil || c.Nothing() {
			return text, err
		}
		text = c.Apply(text)
	}
	return nil, fmt.Errorf("%s: there is no end to the changes", d.Path)
}

// run writes the files that were planned. If it is interrupted, the next start
// goes on with it.
func (u *undoing) run(ctx context.Context, files []file, known bool) error {
	ctx = context.WithoutCancel(ctx)
	if known {
		if err := u.skills.save(ctx, u.id, u.part, stateRemoving, u.record); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := u.write(f); err != nil {
			return err
		}
	}
	if err := u.removeDirs(ctx); err != nil || !known {
		return err
	}
	return u.skills.Installs.DeleteInstall(ctx, u.id, u.part)
}

// removeDirs removes the directories that we made. One that is not empty stays;
// if it has files of another install, it goes with that one.
func (u *undoing) removeDirs(ctx context.Context) error {
	var left []string
	for _, dir := range slices.Backward(u.record.Dirs) {
		if err := os.Remove(dir); err != nil && exists(dir) {
			left = append(left, dir)
		}
	}
	if len(left) == 0 {
		return nil
	}
	all, err := u.skills.load(ctx)
	if err != nil {
		return err
	}
	for k, i := range all {
		if k == (key{u.id, u.part}) {
			continue
		}
		more := slices.DeleteFunc(slices.Clone(left), func(dir string) bool {
			return slices.Contains(i.Dirs, dir) || !slices.ContainsFunc(i.Done, func(d done) bool { return within(dir, d.Path) })
		})
		if len(more) == 0 {
			continue
		}
		slices.Reverse(more) // outermost first
		i.Dirs = append(more, i.Dirs...)
		if err := u.skills.save(ctx, k.agent, k.part, i.State, i.record); err != nil {
			return err
		}
	}
	return nil
}

func (u *undoing) write(f file) error {
	for try := 1; ; try++ {
		if err := u.skills.backup(f); err != nil {
			return err
		}
		err := f.write(try <= patience)
		if err == nil || !errors.Is(err, errChanged) {
			return err
		}
		if try == writeTries {
			return ambry.Conflict.Errorf("%s is being changed all the time; try again later", f.path)
		}
		time.Sleep(writePause)
		snap, err := u.skills.look(f.path)
		if err == nil {
			f, err = u.file(snap)
		}
		if err != nil {
			if try > writeTries/2 {
				return err
			}
			continue
		}
		if !f.exists || !f.deleted && bytes.Equal(f.data, f.after) {
			return nil
		}
	}
}

// unknown is a record of what there may be of a lesson, of an install that is
// not on record. An entry that is not quite as we write it is somebody's own.
func (s *Skills) unknown(a agent.Agent, part ambry.SkillPart) (r record) {
	for _, e := range s.lesson(a, part) {
		d := done{Path: e.Path, Form: e.Form, At: e.At}
		switch {
		case e.Form == agent.Whole:
			d.Created, d.New = true, e.Text
		case e.Form == agent.Block || len(e.At.Mine) > 0: // it says that it is ours
		default:
			if _, object := e.Value.(edit.Object); !object {
				continue // a switch may be the person's
			}
			if files, err := plan([]agent.Edit{e}, s.look); err != nil || len(files) > 0 {
				continue
			}
		}
		r.Done = append(r.Done, d)
	}
	return r
}

// Recover brings what was interrupted to an end: an install that was begun is
// undone, a removal finished. Call it at the start, before anything else.
func (s *Skills) Recover(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.load(ctx)
	if err != nil {
		return err
	}
	for k, i := range all {
		if i.State == stateInstalled {
			continue
		}
		for _, d := range i.Done {
			s.sweep(d.Path)
		}
		if i.State == stateMending {
			err = errors.Join(err, s.save(ctx, k.agent, k.part, stateInstalled, i.record))
			continue
		}
		u := &undoing{skills: s, id: k.agent, part: k.part, record: i.record, others: all.owned(k.agent, k.part), unsure: i.State == stateInstalling}
		files, failed := u.plan()
		if failed == nil {
			failed = u.run(ctx, files, true)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("clean up after %s: %w", k.agent, failed))
		}
	}
	return err
}
