package skill

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// done is an edit that was made, with what it takes to undo it.
type done struct {
	Path string     `json:"path"`
	Form agent.Form `json:"form"`
	At   edit.Place `json:"at,omitzero"`

	Old     string `json:"old"`               // what stood there
	New     string `json:"new"`               // what stands there now
	Found   bool   `json:"found,omitempty"`   // something of this place was there before
	Created bool   `json:"created,omitempty"` // the file was not there
	Made    int    `json:"made,omitempty"`    // objects and lists that we made around it
	Small   bool   `json:"small,omitempty"`   // it is a single value, which does not say whose it is
}

// same reports whether two edits are of the same place.
func (d done) same(o done) bool {
	return d.Path == o.Path && d.Form == o.Form && slices.Equal(d.At.Path, o.At.Path) && slices.Equal(d.At.Mine, o.At.Mine)
}

// file is a file as it is and as it is to be.
type file struct {
	snapshot
	after   []byte
	deleted bool // it is not to be there
	done    []done
}

func (f file) change() ambry.SkillChange {
	c := ambry.SkillChange{Path: f.path, Action: ambry.FileEdited}
	from, to := f.path, f.path
	switch {
	case f.deleted:
		c.Action, to = ambry.FileDeleted, "/dev/null"
	case !f.exists:
		c.Action, from = ambry.FileCreated, "/dev/null"
	}
	c.Diff = string(bytes.ToValidUTF8(diff.Diff(from, f.data, to, f.after), []byte("\uFFFD")))
	if _, rest, ok := strings.Cut(c.Diff, "\n"); ok && strings.HasPrefix(c.Diff, "diff ") {
		c.Diff = rest
	}
	return c
}

// Plan returns the files that change when edits are made, given how a file is.
// It touches nothing. An edit that is there already changes nothing.
func plan(edits []agent.Edit, look func(path string) (snapshot, error)) ([]file, error) {
	var files []file
	for _, e := range edits {
		i := slices.IndexFunc(files, func(f file) bool { return f.path == e.Path })
		if i < 0 {
			snap, err := look(e.Path)
			if err != nil {
				return nil, err
			}
			files, i = append(files, file{snapshot: snap, after: snap.data}), len(files)
		}
		if err := files[i].make(e); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(files, func(f file) bool { return f.exists && len(f.done) == 0 }), nil
}

// make makes an edit.
func (f *file) make(e agent.Edit) error {
	d := done{Path: e.Path, Form: e.Form, At: e.At, Created: !f.exists && len(f.done) == 0}
	switch e.Form {
	case agent.Whole:
		return f.makeWhole(e, d)
	case agent.Block:
		c, err := edit.Markdown.Put(f.after, e.Text)
		if err != nil {
			return f.refuse(err)
		}
		f.apply(c, d)
		return nil
	}
	return f.makeEntry(e, d)
}

func (f *file) makeWhole(e agent.Edit, d done) error {
	if f.mode == 0 {
		f.mode = e.Mode
	}
	if (f.exists || len(f.done) > 0) && string(f.after) == e.Text {
		return nil
	}
	if f.exists && !bytes.Contains(f.after, []byte(agent.Signature)) {
		return ambry.Conflict.Errorf("%s is there already and is not ours; move it away, then try again", f.path)
	}
	f.apply(edit.Change{Old: string(f.after), New: e.Text}, d)
	return nil
}

// maxChanges bounds the changes that an edit takes; it takes as many as its
// value has fields.
const maxChanges = 50

func (f *file) makeEntry(e agent.Edit, d done) error {
	format := edit.Format(e.Form)
	d.Made = edit.Missing(format, f.after, e.At)
	_, object := e.Value.(edit.Object)
	d.Small = !object && len(e.At.Mine) == 0
	for range maxChanges {
		if err := f.owned(e); err != nil {
			return err
		}
		has, err := edit.Has(format, f.after, e.At)
		if err != nil {
			return f.refuse(err)
		}
		c, err := edit.Put(format, f.after, e.At, e.Value)
		if err != nil {
			return f.refuse(err)
		}
		if c.Nothing() {
			return nil
		}
		d.Found = has
		f.apply(c, d)
		d.Created, d.Made = false, 0
	}
	return fmt.Errorf("%s: there is no end to the changes", f.path)
}

// owned refuses to change an entry with our name that somebody else made.
func (f *file) owned(e agent.Edit) error {
	if _, object := e.Value.(edit.Object); !object || len(e.At.Mine) > 0 {
		return nil
	}
	texts, found, err := edit.Value(edit.Format(e.Form), f.after, e.At.Path)
	if err != nil {
		return f.refuse(err)
	}
	if found && len(texts) > 0 && !agent.Ours(texts) {
		return ambry.Conflict.Errorf("%s in %s is there already and is not ours; rename it, then try again", strings.Join(e.At.Path, "."), f.path)
	}
	return nil
}

func (f *file) apply(c edit.Change, d done) {
	if c.Nothing() && f.exists {
		return
	}
	d.Old, d.New = c.Old, c.New
	f.after = c.Apply(f.after)
	f.done = append(f.done, d)
}

// refuse makes an error about a file one that the caller can act on.
func (f *file) refuse(err error) error {
	if !errors.Is(err, edit.ErrSyntax) && !errors.Is(err, edit.ErrShape) {
		return err
	}
	return ambry.Conflict.Errorf("%s is left alone: %s; mend it, then try again", f.path, err.Error())
}
