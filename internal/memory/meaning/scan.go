package meaning

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// Numbers of a search.
const (
	preselected = 300 // by their signs, to be compared exactly
	maxWorkers  = 4
	slabsApart  = 4 // fewer are not worth another goroutine
)

// layerBit is the bit of a layer in a place.
func layerBit(l ambry.Layer) uint8 {
	if i := slices.Index(ambry.Layers, l); i >= 0 {
		return firstLayer << i
	}
	return 0
}

// filter is store.Places, ready to be compared.
type filter struct {
	layers                     uint8 // 0: all
	hidden                     uint8 // bits that must not be there
	agents, projects, sessions []uint32
	after, before              int64
	open                       bool // only hidden matters
}

func newFilter(p store.Places) filter {
	f := filter{agents: narrow(p.Agents), projects: narrow(p.Projects), sessions: narrow(p.Sessions), after: p.After, before: p.Before}
	for _, l := range p.Layers {
		f.layers |= layerBit(l)
	}
	if !p.Archived {
		f.hidden = archived
	}
	f.open = f.layers == 0 && len(f.agents)+len(f.projects)+len(f.sessions) == 0 && f.after == 0 && f.before == 0
	return f
}

func narrow(ids []int64) []uint32 {
	out := make([]uint32, len(ids))
	for i, id := range ids {
		out[i] = uint32(id)
	}
	return out
}

// passes reports whether a row that is there is wanted, as far as bits do not tell.
func (f *filter) passes(s *slab, i int) bool {
	p := &s.places[i]
	return (f.layers == 0 || s.bits[i]&f.layers != 0) &&
		(len(f.agents) == 0 || slices.Contains(f.agents, p.agent)) &&
		(len(f.projects) == 0 || slices.Contains(f.projects, p.project)) &&
		(len(f.sessions) == 0 || slices.Contains(f.sessions, p.session)) &&
		(f.after == 0 || p.at >= f.after) && (f.before == 0 || p.at < f.before)
}

// neighbour is a memory and the cosine between it and what was asked.
type neighbour struct {
	row    int64
	at     int64
	cosine float32
	script store.Script
}

// scripts is how many there are.
const scripts = 2

// nearest returns the memories that are most like v, at most n of the script of
// the question and half as many of the other, each best first: what is in one
// language with the question is likelier by itself, whatever it means. Then it
// asks for also, if it is not nil, and returns those of it that are there; and for
// each script the mean cosine of v with memories that were not chosen for being
// like it.
func (x *index) nearest(v []float32, script store.Script, f filter, n int, also func() []int64) (found []neighbour, mean [scripts]float32) {
	found, mean = x.best(v, script, f, n)
	if also == nil {
		return found, mean
	}
	rows := also() // nothing is locked while it takes its time
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(v) != x.dims {
		return nil, mean
	}
	rows = slices.DeleteFunc(rows, func(row int64) bool {
		return !x.has(row) || slices.ContainsFunc(found, func(f neighbour) bool { return f.row == row })
	})
	return x.exactly(found, v, rows), mean
}

func (x *index) best(v []float32, script store.Script, f filter, n int) (found []neighbour, mean [scripts]float32) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.count == 0 || len(v) != x.dims {
		return nil, mean
	}
	codes := store.NewVector(v).Codes
	q := sought{lead: leadOf(codes), signs: make([]uint64, x.others()), filter: f}
	signsOf(q.signs, codes)
	q.cuts = x.cuts(&q)
	lists := x.look(&q)
	other := 1 - script
	found = x.closest(v, lists[script].best(), n)
	others := lists[other].best()
	found = append(found, x.closest(v, others[:min(len(others), preselected/2)], n/2)...)
	shortlists.Put(lists)
	return found, x.background(v)
}

// closest compares rows exactly and returns the best n.
func (x *index) closest(v []float32, rows []int64, n int) []neighbour {
	found := x.exactly(make([]neighbour, 0, len(rows)), v, rows)
	slices.SortFunc(found, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(b.row, a.row))
	})
	return found[:min(n, len(found))]
}

func (x *index) has(row int64) bool {
	n := row / slabRows
	return row >= 0 && n < int64(len(x.slabs)) && x.slabs[n] != nil && x.slabs[n].bits[row%slabRows] != 0
}

// sought is what rows are compared with.
type sought struct {
	lead   uint64 // as in a slab
	signs  []uint64
	filter filter
	cuts   [scripts]int // more of the first signs do not differ in a row that is looked at whole
}

// look returns, of each script, the rows that pass the filter and have the fewest
// signs otherwise.
func (x *index) look(q *sought) *[scripts]shortlist {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, len(x.slabs)/slabsApart+1)
	var lists [maxWorkers]*[scripts]shortlist
	look := (*slab).look
	if q.skims() {
		look = (*slab).skim
	}
	var wait sync.WaitGroup
	for w := range workers {
		lists[w] = shortlists.Get().(*[scripts]shortlist)
		for i := range lists[w] {
			lists[w][i].begin(preselected, 64*(1+len(q.signs)))
		}
		work := func() {
			for n := len(x.slabs) - 1 - w; n >= 0; n -= workers {
				if s := x.slabs[n]; s != nil {
					look(s, n*slabRows, q, lists[w])
				}
			}
		}
		if w < workers-1 {
			wait.Go(work)
		} else {
			work()
		}
	}
	wait.Wait()
	for _, others := range lists[1:workers] {
		for i := range others {
			lists[0][i].join(&others[i])
		}
		shortlists.Put(others)
	}
	return lists[0]
}

// look adds the rows of a slab to the shortlists, the newest first. The usual
// length is written out here: to call distance takes as long as what it does.
func (s *slab) look(first int, q *sought, lists *[scripts]shortlist) {
	f, others, want := &q.filter, len(q.signs), present|q.filter.hidden
	usual := others == usualOthers
	var own [usualOthers]uint64
	copy(own[:], q.signs)
	bounds := [scripts]int{lists[0].bound, lists[1].bound}
	for i := slabRows - 1; i >= 0; i-- {
		has := s.bits[i]
		if has&want != present || !f.open && !f.passes(s, i) {
			continue
		}
		d := bits.OnesCount64(q.lead ^ s.lead[i])
		if usual {
			row := (*[usualOthers]uint64)(s.signs[usualOthers*i:])
			d += bits.OnesCount64(own[0]^row[0]) + bits.OnesCount64(own[1]^row[1]) + bits.OnesCount64(own[2]^row[2])
		} else {
			d += distance(q.signs, s.signs[i*others:(i+1)*others])
		}
		if script := scriptOf(has); d < bounds[script] {
			lists[script].add(first+i, d)
			bounds[script] = lists[script].bound
		}
	}
}

// usualOthers are the words of signs after the first one of the embedding in the
// binary, of 256 numbers.
const usualOthers = 3

// distance counts the signs that differ. Lengths that are frequent are written
// out, which halves the time.
func distance(a, b []uint64) int {
	switch {
	case len(a) == usualOthers && len(b) == usualOthers:
		return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2])
	case len(a) == 5 && len(b) == 5:
		return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) +
			bits.OnesCount64(a[3]^b[3]) + bits.OnesCount64(a[4]^b[4])
	}
	d := 0
	for i, x := range a {
		d += bits.OnesCount64(x ^ b[i])
	}
	return d
}

// abreast is how many rows are compared at a time: the sum of one would wait for
// each of its additions.
const abreast = 4

// rowBuffers are for codes that are read from the shelf.
var rowBuffers = sync.Pool{New: func() any { return new([abreast][maxDims]byte) }}

// exactly compares v with rows that are there, and appends those to out that can be
// read.
func (x *index) exactly(out []neighbour, v []float32, rows []int64) []neighbour {
	buffers := rowBuffers.Get().(*[abreast][maxDims]byte)
	defer rowBuffers.Put(buffers)
	var codes [abreast][]byte
	var of [abreast]int64
	n := 0
	for _, row := range rows {
		if codes[n] = x.codes(int(row), buffers[n][:]); codes[n] == nil {
			continue
		}
		of[n] = row
		if n++; n == abreast {
			for i, sum := range products(v, &codes) {
				out = append(out, x.neighbour(of[i], sum))
			}
			n = 0
		}
	}
	for i := range n {
		var sum float32
		for j, q := range v {
			sum += q * float32(int8(codes[i][j]))
		}
		out = append(out, x.neighbour(of[i], sum))
	}
	return out
}

// products multiplies v with several rows.
func products(v []float32, codes *[abreast][]byte) (sums [abreast]float32) {
	a, b, c, d := codes[0][:len(v)], codes[1][:len(v)], codes[2][:len(v)], codes[3][:len(v)]
	var s0, s1, s2, s3 float32
	for j, q := range v {
		s0 += q * float32(int8(a[j]))
		s1 += q * float32(int8(b[j]))
		s2 += q * float32(int8(c[j]))
		s3 += q * float32(int8(d[j]))
	}
	return [abreast]float32{s0, s1, s2, s3}
}

func (x *index) neighbour(row int64, sum float32) neighbour {
	s, i := x.slabs[row/slabRows], row%slabRows
	return neighbour{row: row, at: s.places[i].at, cosine: sum * s.scales[i], script: s.script(int(i))}
}
