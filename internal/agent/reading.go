package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"os"

	"ambry.dev/ambry"
)

// maxWhole bounds a file that has to be read as one document, after its long
// strings were cut.
const maxWhole = 16 << 20

// Read reads a file on from a mark. If the bytes before the mark are not the
// ones that were read, the file was rewritten and is read from its beginning.
func (f Files[S]) Read(ctx context.Context, src Source, from Mark) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		r, err := f.begin(src, from)
		if err != nil {
			yield(Item{}, err)
			return
		}
		defer r.file.Close()
		if err := r.run(ctx, yield); err != nil && !errors.Is(err, errStopped) {
			yield(Item{}, err)
		}
	}
}

var errStopped = errors.New("the consumer wants no more")

// reading is the reading of one file.
type reading[S any] struct {
	Files[S]
	src     Source
	file    io.ReadCloser
	plain   *os.File // nil if the bytes of the file are not those that are read
	lines   *lines
	decoder Decoder
	state   S
	b       *Builder
	mark    struct { // the open part, where reading has to go on
		offset int64
		line   int
		before int64 // messages before it
		carry  carry[S]
	}
	told int64 // bytes told in items so far
}

// carry is what a mark remembers for the reader: what stood before the record
// that the open part begins in.
type carry[S any] struct {
	Session ambry.Session `json:"session"`
	Ordinal int           `json:"ordinal,omitempty"`
	Reader  S             `json:"reader"`

	// Part is the head of the open part, if it goes on with a turn. Steps is how
	// much of the record was done before it opened.
	Part     ambry.Turn `json:"part,omitzero"`
	Steps    int        `json:"steps,omitempty"`
	Withheld bool       `json:"withheld,omitempty"`
}

func (f Files[S]) begin(src Source, from Mark) (*reading[S], error) {
	if f.ItemBytes == 0 {
		f.ItemBytes = itemBytes
	}
	r := &reading[S]{Files: f, src: src, b: &Builder{}}
	if err := r.open(); err != nil {
		return nil, err
	}
	r.b.at.path = src.Path
	r.state = f.Start(src, r.b)
	r.lines = newLines(r.file, 0, 0)
	r.mark.carry = r.snapshot()
	if !r.resumes(from) || !r.restore(from) {
		return r, nil
	}
	if err := r.skipTo(from.Offset); err != nil {
		r.file.Close()
		return nil, fmt.Errorf("read on: %w", err)
	}
	r.lines = newLines(r.file, from.Offset, from.Line)
	r.mark.offset, r.mark.line = from.Offset, from.Line
	r.mark.before = from.Before
	r.told = from.Offset
	return r, nil
}

// open opens the file in the way its bytes ask for.
func (r *reading[S]) open() error {
	if r.Open != nil {
		file, err := r.Open(r.src)
		if err != nil {
			return err
		}
		if file != nil {
			r.file = file
			return nil
		}
	}
	file, err := OpenRegular(r.src.Path)
	if err != nil {
		return err
	}
	if utf16, err := asUTF8(file); err != nil || utf16 != nil {
		r.file = utf16
		return err
	}
	r.file, r.plain = file, file
	return nil
}

// resumes reports whether the bytes before the mark are those that were read.
func (r *reading[S]) resumes(from Mark) bool {
	if from.Offset <= 0 || from.FileID != r.src.FileID || r.isWhole() {
		return false
	}
	if r.plain == nil {
		return from.Size == r.src.Size && from.ModTime.Equal(r.src.ModTime)
	}
	head, tail, err := prints(r.plain, from.Offset)
	return err == nil && head == from.Head && tail == from.Tail
}

// restore takes up what the mark remembers, or leaves everything as it is. The
// title is that of Start: marks hold none.
func (r *reading[S]) restore(from Mark) bool {
	var stored carry[S]
	if err := json.Unmarshal(from.State, &stored); err != nil {
		return false
	}
	r.mark.carry = stored
	stored.Session.Title = r.b.Session.Title
	r.state = stored.Reader
	r.b.Session, r.b.ordinal, r.b.closed = stored.Session, stored.Ordinal, from.Before
	r.b.goesOn, r.b.done, r.b.withheld = stored.Part, stored.Steps, stored.Withheld
	return true
}

func (r *reading[S]) skipTo(offset int64) error {
	if r.plain != nil {
		_, err := r.plain.Seek(offset, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, r.file, offset)
	return err
}

func (r *reading[S]) run(ctx context.Context, yield func(Item, error) bool) error {
	if r.isWhole() {
		if err := r.whole(); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return r.last(yield)
		}
		if err != nil {
			if !yield(r.item(r.b.take(), false), nil) { // what was read is good
				return errStopped
			}
			return fmt.Errorf("line %d: %w", r.lines.number+1, err)
		}
		r.record(l)
		if r.b.size >= r.ItemBytes && !yield(r.item(r.b.take(), false), nil) {
			return errStopped
		}
	}
}

// record parses one line. When a part of a turn opens in it, the reading would
// have to go on here, with the state as it was before the line.
func (r *reading[S]) record(l line) {
	r.b.at = place{path: r.src.Path, line: l.number, offset: l.offset, end: l.stop}
	if l.skipped {
		r.b.Skip("longer than can be held")
		return
	}
	before := r.snapshot()
	r.b.steps, r.b.opened = 0, false
	n, ok := r.decoder.decode(l.text, l.torn, func(v Value) { r.Parse(&r.state, v, r.b) })
	if !ok && !l.torn { // a torn last line is normal: the agent may be writing it
		r.b.Skip("not JSON")
	}
	r.b.done = 0
	if r.b.opened {
		before.Part, before.Steps = r.b.head, r.b.before
		before.Withheld = r.b.withheld && r.b.head.ID != ""
		r.mark.offset, r.mark.line, r.mark.before = l.offset, l.number-1, r.b.closed
		r.mark.carry = before
	}
	if r.b.turn != nil && n > 0 {
		r.b.turn.Source.End = l.stop
	}
}

func (r *reading[S]) snapshot() carry[S] {
	return carry[S]{Session: r.b.Session, Ordinal: r.b.ordinal, Reader: r.state}
}

// marshal returns the state for a mark. A title is words of a person, which
// may hold a secret; nothing has taken it out yet.
func marshal[S any](c carry[S]) []byte {
	c.Session.Title = ""
	data, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("agent: the state of a reader must be JSON: %v", err))
	}
	return data
}

func (r *reading[S]) last(yield func(Item, error) bool) error {
	c := r.b.take()
	if t, ok := r.b.finished(); ok {
		c.Turns = append(c.Turns, t)
	}
	if !yield(r.item(c, true), nil) {
		return errStopped
	}
	return nil
}

func (r *reading[S]) item(c ambry.Conversation, done bool) Item {
	m := Mark{
		FileID: r.src.FileID, Size: r.src.Size, ModTime: r.src.ModTime, Stamp: r.src.Stamp,
		Offset: r.mark.offset, Line: r.mark.line, State: marshal(r.mark.carry), Done: done,
		Before: r.mark.before, Messages: r.b.closed,
	}
	if done && r.b.turn != nil && !r.b.withheld {
		m.Messages += int64(len(r.b.turn.Messages))
	}
	if r.plain != nil && m.Offset > 0 {
		head, tail, err := prints(r.plain, m.Offset)
		if err != nil {
			m.Offset, m.Line, m.Before, m.State = 0, 0, 0, nil
		}
		m.Head, m.Tail = head, tail
	}
	item := Item{Conversation: c, Next: m, Read: r.lines.offset - r.told, Skipped: r.b.skipped, Notes: r.b.notes}
	r.told, r.b.skipped, r.b.notes = r.lines.offset, 0, nil
	return item
}

func (r *reading[S]) isWhole() bool { return r.Whole != nil && r.Whole(r.src.Path) }

// whole parses the file as one document.
func (r *reading[S]) whole() error {
	var data []byte
	var cut cutter
	size, buf := int64(0), make([]byte, 64<<10)
	for {
		n, err := r.file.Read(buf)
		size += int64(n)
		data = cut.append(data, buf[:n])
		if len(data) > maxWhole {
			return fmt.Errorf("longer than %d MiB", maxWhole>>20)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	r.decoder.whole = true
	r.record(line{text: bytes.TrimPrefix(data, []byte("\ufeff")), number: 1, end: size, stop: size})
	r.lines.offset = size
	return nil
}

const printSize = 4 << 10

// prints returns hashes of the first and the last bytes before offset.
func prints(f io.ReaderAt, offset int64) (head, tail uint64, err error) {
	buf := make([]byte, min(printSize, offset))
	if _, err := f.ReadAt(buf, 0); err != nil {
		return 0, 0, err
	}
	h := fnv.New64a()
	h.Write(buf)
	head = h.Sum64()
	if _, err := f.ReadAt(buf, offset-int64(len(buf))); err != nil {
		return 0, 0, err
	}
	h.Reset()
	h.Write(buf)
	return head, h.Sum64(), nil
}
