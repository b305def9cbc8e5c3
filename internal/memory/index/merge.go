package index

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
)

// Change is a new file that takes the place of what was in memory, or of older
// files. Until it is installed nothing refers to it.
type Change struct {
	Added   *Segment // nil if there is nothing left
	Removed []int64  // numbers of the files that it replaces
	Cleared []int64  // deleted documents that are in no file any more

	opened *segment
	merged []*segment
	before []bits // the dead of merged when the new file was begun
	tail   bool
}

// Save writes what is only in memory as a file. It is for the goroutine that
// changes the index. Without documents there is no change.
func (x *Index) Save() (*Change, error) {
	if len(x.tail.ids) == 0 {
		return nil, nil
	}
	d, from := x.tail.sorted()
	c := &Change{tail: true}
	if len(d.ids) > 0 {
		to := make([]uint32, len(x.tail.ids))
		for i, place := range from {
			to[place] = uint32(i) + 1
		}
		id := x.number()
		w, err := x.create(id, d)
		if err != nil {
			return nil, err
		}
		var list []posting
		for _, term := range slices.Sorted(maps.Keys(x.tail.lists)) {
			list = list[:0]
			for _, p := range x.tail.lists[term] {
				if place := to[p.doc()]; place > 0 {
					list = append(list, moved(p, place-1))
				}
			}
			slices.Sort(list)
			w.term(term, list)
		}
		if c.opened, err = x.finish(w, id, id); err != nil {
			return nil, err
		}
		c.Added = &c.opened.Segment
	}
	c.Cleared = x.cleared(c)
	return c, nil
}

func moved(p posting, doc uint32) posting { return posting(doc)<<placeBit | p&(1<<placeBit-1) }

// number returns the number of the next file.
func (x *Index) number() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.next++
	return x.next - 1
}

// finish ends a file and opens it.
func (x *Index) finish(w *author, id, seq int64) (*segment, error) {
	if err := w.end(); err != nil {
		w.abandon()
		return nil, err
	}
	s, err := openSegment(x.config.Dir, Segment{ID: id, Seq: seq, Mark: string(w.footer.Mark[:])})
	if err != nil {
		_ = os.Remove(pathOf(x.config.Dir, id))
	}
	return s, err
}

// cleared returns which deleted documents are in no file once c is installed.
func (x *Index) cleared(c *Change) []int64 {
	var out []int64
	for d := range x.gone {
		there := false
		for _, s := range x.segments {
			if slices.Contains(c.merged, s) {
				continue
			}
			_, there = slices.BinarySearch(s.ids, d)
			if there {
				break
			}
		}
		if !there && c.opened != nil {
			_, there = slices.BinarySearch(c.opened.ids, d)
		}
		if !there {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return out
}

// Prepare completes a change with what happened since it was made. It is for the
// goroutine that changes the index, right before the owner writes the change
// into its list. False means that the files were merged otherwise meanwhile: the
// change is to be abandoned.
func (x *Index) Prepare(c *Change) bool {
	for _, s := range c.merged {
		if !slices.Contains(x.segments, s) {
			return false
		}
	}
	for i, s := range c.merged {
		for place, d := range s.ids {
			if s.dead.has(uint32(place)) && !c.before[i].has(uint32(place)) && c.opened != nil {
				if at, ok := slices.BinarySearch(c.opened.ids, d); ok {
					c.opened.dead.set(uint32(at))
				}
			}
		}
	}
	c.Cleared = x.cleared(c)
	return true
}

// Install makes a change that is in the list of the owner the one that is
// searched. The replaced files are removed.
func (x *Index) Install(c *Change) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range c.Cleared {
		delete(x.gone, d)
	}
	if c.tail {
		x.tail = newTail()
	}
	x.segments = slices.DeleteFunc(slices.Clone(x.segments), func(s *segment) bool { return slices.Contains(c.merged, s) })
	if c.opened != nil {
		x.segments = append(x.segments, c.opened)
		slices.SortStableFunc(x.segments, func(a, b *segment) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	return discard(c.merged)
}

// Abandon gives a change up that the owner could not write into its list.
func (x *Index) Abandon(c *Change) {
	if c.opened != nil {
		_ = c.opened.close()
		_ = os.Remove(c.opened.path)
	}
}

// Aim is how few files [Index.Merge] leaves.
type Aim int

// Aims. What is written for Few is a small part of what is added; for Fewest it may be
// several times as much, so it is for when nothing is being added.
const (
	Few    Aim = iota // of about one size fewer than mergeAt
	Fewest            // none that is not restShare times as large as the smaller ones together
	One               // whether there is room or not
)

const (
	mergeAt   = 6 // files; of one size are those of which one is up to so many times as large as another
	restShare = 8
)

// Merge writes several files as one, without what is dead in them. It may run beside
// one that changes the index, which then calls [Index.Prepare] and [Index.Install].
// A nil change means that there is nothing to do, or no room: more may be to do after
// another.
func (x *Index) Merge(ctx context.Context, aim Aim) (*Change, error) {
	c, size := x.plan(aim)
	if c == nil || aim != One && x.config.Room != nil && !x.config.Room(size) {
		return nil, nil
	}
	seq := int64(0)
	for _, s := range c.merged {
		c.Removed, seq = append(c.Removed, s.ID), max(seq, s.Seq)
	}
	m := newMerger(c)
	if len(m.docs.ids) == 0 {
		return c, nil
	}
	id := x.number()
	w, err := x.create(id, m.docs)
	if err != nil {
		return nil, err
	}
	if err := m.run(ctx, w); err != nil {
		w.abandon()
		return nil, err
	}
	if c.opened, err = x.finish(w, id, seq); err != nil {
		return nil, err
	}
	c.Added = &c.opened.Segment
	return c, nil
}

// plan chooses what to merge, of so many bytes; nil for nothing.
func (x *Index) plan(aim Aim) (c *Change, size uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c = &Change{}
	switch aim {
	case One:
		if len(x.segments) > 1 || len(x.segments) == 1 && !empty(x.segments[0].dead) {
			c.merged = slices.Clone(x.segments)
		}
	case Fewest:
		c.merged = smallest(x.segments)
	default:
		c.merged = ofOneSize(x.segments)
	}
	if len(c.merged) == 0 {
		return nil, 0
	}
	docs := 0
	for _, s := range c.merged {
		c.before = append(c.before, slices.Clone(s.dead))
		docs += len(s.ids)
		size += s.footer.End
	}
	if docs > maxDocs {
		return nil, 0
	}
	return c, size
}

// ofOneSize returns the smallest files of about one size that are too many.
func ofOneSize(segments []*segment) []*segment {
	bySize := map[int][]*segment{}
	for _, s := range segments {
		tier := tierOf(s.footer.Postings)
		bySize[tier] = append(bySize[tier], s)
	}
	for _, tier := range slices.Sorted(maps.Keys(bySize)) {
		if same := bySize[tier]; len(same) >= mergeAt {
			return same
		}
	}
	return nil
}

// smallest returns the largest file that is too small beside those that are smaller, and
// these; nil if there is none.
func smallest(segments []*segment) []*segment {
	bySize := slices.SortedStableFunc(slices.Values(segments), func(a, b *segment) int { return cmp.Compare(a.footer.Postings, b.footer.Postings) })
	docs, sum, n := 0, uint64(0), 0
	for i, s := range bySize {
		if docs += len(s.ids); docs > maxDocs {
			break
		}
		if i > 0 && s.footer.Postings < restShare*sum {
			n = i + 1
		}
		sum += s.footer.Postings
	}
	return bySize[:n]
}

// tierOf sorts files by size: the smallest are a quarter of a tail, and those of
// each tier mergeAt times as large as those below.
func tierOf(postings uint64) int {
	tier := 0
	for limit := uint64(tailPostings / 4); postings > limit; limit *= mergeAt {
		tier++
	}
	return tier
}

func empty(b bits) bool { return !slices.ContainsFunc(b, func(w uint64) bool { return w != 0 }) }

// merger reads several files in the order of their terms.
type merger struct {
	docs documents
	from []*cursor
}

// cursor is a place in the dictionary of a file.
type cursor struct {
	*segment
	to    []uint32 // by place: 1 + the place in the new file; 0 for the dead
	next  int      // block
	words []word   // of the block at hand, what is left
}

func newMerger(c *Change) *merger {
	m := &merger{}
	type origin struct {
		id   int64
		file int
		at   int
	}
	var live []origin
	for i, s := range c.merged {
		m.from = append(m.from, &cursor{segment: s, to: make([]uint32, len(s.ids))})
		for at, id := range s.ids {
			if !c.before[i].has(uint32(at)) {
				live = append(live, origin{id, i, at})
			}
		}
	}
	slices.SortFunc(live, func(a, b origin) int { return cmp.Compare(a.id, b.id) })
	for place, o := range live {
		s := c.merged[o.file]
		m.docs.ids, m.docs.at, m.docs.sizes = append(m.docs.ids, o.id), append(m.docs.at, s.at[o.at]), append(m.docs.sizes, s.sizes[o.at])
		m.from[o.file].to[o.at] = uint32(place) + 1
	}
	return m
}

// run writes all terms.
func (m *merger) run(ctx context.Context, w *author) error {
	var list, read []posting
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		term, ok, err := m.term()
		if err != nil || !ok {
			return err
		}
		list = list[:0]
		for _, c := range m.from {
			if len(c.words) == 0 || c.words[0].term != term {
				continue
			}
			if read, err = c.postings(read[:0], c.words[0]); err != nil {
				return err
			}
			for _, p := range read {
				if place := c.to[p.doc()]; place > 0 {
					list = append(list, moved(p, place-1))
				}
			}
			c.words = c.words[1:]
		}
		if !slices.IsSorted(list) {
			slices.Sort(list)
		}
		w.term(term, list)
		if w.err != nil {
			return w.err
		}
	}
}

// term returns the first term that any file has left.
func (m *merger) term() (first string, ok bool, err error) {
	for _, c := range m.from {
		if len(c.words) == 0 && c.next < len(c.first) {
			c.words = c.words[:0:0]
			err := c.block(c.next, func(t []byte, w word) bool {
				w.term = string(t)
				c.words = append(c.words, w)
				return true
			})
			if err != nil {
				return "", false, err
			}
			c.next++
		}
		if len(c.words) > 0 && (!ok || c.words[0].term < first) {
			first, ok = c.words[0].term, true
		}
	}
	return first, ok, nil
}
