package store

import (
	"container/list"
	"slices"
	"sync"
)

// What is kept of memories that were read.
const (
	maxRecent   = 16 << 20 // bytes of all
	maxGlance   = 64 << 10 // of one
	glanceBytes = 768      // of one without its text, roughly
	saidBytes   = 160      // likewise, of a message
	heldStep    = 4 << 20  // by which it grows or shrinks until that is told
)

// size is how much room it takes, roughly.
func (g *glance) size() int { return glanceBytes + saidBytes*len(g.text.Said) + g.text.Size() }

// recent holds what searches read of memories: one question after the other finds
// the same ones, and to look them up in the tables is a fifth of what it takes to
// answer. Without changed it tells nobody.
//
// It never has what is not so any more. A commit takes out what it changes before
// anybody is told that it is done, and who began to read before that cannot put
// anything in after it.
type recent struct {
	changed chan struct{} // gets one when there is much more or less than before

	mu    sync.Mutex // guards the rest
	since int64      // grows when anything is taken out
	bytes int
	told  int // bytes
	known map[int64]*list.Element
	order list.List // of *glance, the one used last at the front
}

// get returns what is known of each of some rows, nil for nothing, and what put
// wants to know.
func (r *recent) get(rows []int64) (known []*glance, since int64) {
	known = make([]*glance, len(rows))
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, row := range rows {
		if e := r.known[row]; e != nil {
			known[i] = e.Value.(*glance)
		}
	}
	return known, r.since
}

// put notes what was used, and lets go of what was not used for the longest.
func (r *recent) put(used []*glance, since int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[int64]*list.Element{}
	}
	for _, g := range used {
		if e := r.known[g.text.Row]; e != nil {
			r.order.MoveToFront(e)
		} else if n := g.size(); n <= maxGlance && since == r.since {
			r.known[g.text.Row] = r.order.PushFront(g)
			r.bytes += n
		}
	}
	for r.bytes > maxRecent {
		r.remove(r.order.Back())
	}
	r.tell()
}

// tell has changed get one if there is reason to.
func (r *recent) tell() {
	if more := r.bytes - r.told; -heldStep < more && more < heldStep {
		return
	}
	r.told = r.bytes
	select {
	case r.changed <- struct{}{}:
	default: // whoever waits has not looked yet
	}
}

// drop forgets memories, and those that are of some turns.
func (r *recent) drop(memories, turns []int64) {
	if len(memories)+len(turns) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since++
	for _, row := range memories {
		if e := r.known[row]; e != nil {
			r.remove(e)
		}
	}
	if len(turns) > 0 {
		for _, e := range r.known {
			if slices.Contains(turns, e.Value.(*glance).turn) {
				r.remove(e)
			}
		}
	}
	r.tell()
}

// clear forgets all.
func (r *recent) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since++
	r.known, r.bytes = nil, 0
	r.order.Init()
	r.tell()
}

// Held returns how many bytes of memories are held for the next search, roughly.
func (s *Store) Held() int64 {
	s.recent.mu.Lock()
	defer s.recent.mu.Unlock()
	return int64(s.recent.bytes)
}

// HeldChanged gets a value when that has become much more, or less.
func (s *Store) HeldChanged() <-chan struct{} { return s.recent.changed }

func (r *recent) remove(e *list.Element) {
	g := r.order.Remove(e).(*glance)
	delete(r.known, g.text.Row)
	r.bytes -= g.size()
}
