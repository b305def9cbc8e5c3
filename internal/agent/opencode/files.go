package opencode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ambry.dev/ambry/internal/agent"
)

// readJSON decodes a file of a tree and reports how long it is.
func readJSON(path string, d *agent.Decoder, f func(agent.Value)) (int64, error) {
	in, err := agent.OpenRegular(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxRecord+1))
	switch {
	case err != nil:
		return 0, err
	case len(text) > maxRecord:
		return int64(len(text)), errors.New("longer than can be held")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if n, ok := d.Decode(text, f); !ok || n == 0 {
		return int64(len(text)), errors.New("not JSON")
	}
	return int64(len(text)), nil
}

// names returns the names of the JSON files in a directory, without the ending,
// in lexical order, which is that of their ids.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var all []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			all = append(all, name)
		}
	}
	return all, absent(err)
}

// readFile reads a session of a tree. One that changed is read again from its
// beginning; a reading that was stopped goes on at the message that the cursor
// names.
func (x history) readFile(ctx context.Context, f file, src agent.Source, from agent.Mark) iter.Seq2[agent.Item, error] {
	return func(yield func(agent.Item, error) bool) {
		if from.Stamp != src.Stamp || from.Size != src.Size || !from.ModTime.Equal(src.ModTime) {
			from = agent.Mark{}
		}
		r := fileReading{file: f, src: src, count: from.Messages}
		rest, err := r.open(from.Cursor)
		if err != nil {
			yield(agent.Item{}, fmt.Errorf("session %s: %w", f.id, err))
			return
		}
		for _, m := range rest {
			if err := ctx.Err(); err != nil {
				yield(agent.Item{}, err)
				return
			}
			r.complete(m)
			if m.asked() && r.took > 0 && r.took >= int64(x.item()) && !yield(r.next(m.id), nil) {
				return
			}
			r.tell(m, m.hidden)
			r.took += m.bytes
		}
		yield(r.next(""), nil)
	}
}

// fileReading is the reading of a session of a tree.
type fileReading struct {
	file
	*teller
	decoder agent.Decoder
	src     agent.Source
	undone  struct{ MessageID, PartID string } // from where on
	took    int64                              // bytes since the last item
	count   int64                              // messages so far
}

// next returns what was told since the last item; cursor is where to go on, ""
// at the end.
func (r *fileReading) next(cursor string) agent.Item {
	item := r.Item()
	for _, turn := range item.Conversation.Turns {
		r.count += int64(len(turn.Messages))
	}
	item.Next = agent.Mark{
		Size: r.src.Size, ModTime: r.src.ModTime, Stamp: r.src.Stamp, Cursor: cursor, Messages: r.count, Done: cursor == "",
	}
	item.Read, r.took = r.took, 0
	return item
}

// open reads what is told of the session, and returns its messages from one on,
// still without their parts.
func (r *fileReading) open(from string) ([]*message, error) {
	s := session{id: r.file.id}
	_, err := readJSON(r.path, &r.decoder, func(v agent.Value) {
		s.parent, s.directory, s.title, s.version = v.Text("parentID"), v.Text("directory"), v.Text("title"), v.Text("version")
		s.created, s.archived = v.Int("time", "created"), v.Int("time", "archived")
		r.undone.MessageID, r.undone.PartID = v.Text("revert", "messageID"), v.Text("revert", "partID")
	})
	if err != nil {
		return nil, err
	}
	all, err := r.heads()
	if err != nil {
		return nil, err
	}
	first, model := 0, ""
	for i, m := range all {
		if m.id == from {
			first = i
		}
		if s.directory == "" && m.cwd != "/" { // the first versions do not tell it
			s.directory = m.cwd
		}
	}
	for _, m := range all[:first] {
		model = cmp.Or(m.model, model)
	}
	r.teller = newTeller(r.path, s, first == 0)
	r.Session.Model = model
	return all[first:], nil
}

// heads returns the messages in their order.
func (r *fileReading) heads() ([]*message, error) {
	ids, err := names(r.messages())
	if err != nil {
		return nil, err
	}
	var all []*message
	for _, id := range ids {
		m := &message{id: id}
		if r.load(m, filepath.Join(r.messages(), id+".json"), m.head) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b *message) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) })
	hidden := false
	for _, m := range all {
		begins := m.id == r.undone.MessageID
		hidden = hidden || begins
		m.hidden = hidden && !(begins && r.undone.PartID != "")
	}
	return all, nil
}

// complete adds the parts of a message.
func (r *fileReading) complete(m *message) {
	dir := r.parts(m.id)
	ids, err := names(dir)
	if err != nil {
		m.broken = "its parts cannot be read"
	}
	for _, id := range ids {
		to := m
		if m.id == r.undone.MessageID && r.undone.PartID != "" && id >= r.undone.PartID {
			to = m.undoneRest()
		}
		r.load(m, filepath.Join(dir, id+".json"), func(v agent.Value) { to.part(id, v) })
	}
}

// load decodes a file of a message, unless it is gone by now. One that cannot
// be read is noted: OpenCode may be writing it.
func (r *fileReading) load(m *message, path string, f func(agent.Value)) bool {
	size, err := readJSON(path, &r.decoder, f)
	m.bytes += size
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case errors.As(err, &pe):
		m.broken = pe.Err.Error()
	case err != nil:
		m.broken = err.Error()
	}
	return true
}
