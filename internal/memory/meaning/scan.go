package meaning

import (
	"cmp"
	"math"
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
	apart       = 1 << 15 // memories; fewer are not worth another goroutine
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
	open                       bool // only hidden matters, and project
	of                         bool // it must be of project, which is not among projects then
	project                    uint32
}

func newFilter(p store.Places) filter {
	f := filter{agents: narrow(p.Agents), projects: narrow(p.Projects), sessions: narrow(p.Sessions), after: p.After, before: p.Before}
	for _, l := range p.Layers {
		f.layers |= layerBit(l)
	}
	if !p.Archived {
		f.hidden = archived
	}
	if f.of = len(f.projects) == 1; f.of { // as of most searches
		f.project, f.projects = f.projects[0], nil
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

// passes reports whether a memory that is there is wanted, as far as it does not
// matter that it is archived, or of the one project.
func (f *filter) passes(s *stretch, i int) bool {
	r := &s.records[i]
	return (f.layers == 0 || s.bits[i]&f.layers != 0) &&
		(len(f.agents) == 0 || slices.Contains(f.agents, r.agent)) &&
		(len(f.projects) == 0 || slices.Contains(f.projects, s.projects[i])) &&
		(len(f.sessions) == 0 || slices.Contains(f.sessions, r.session)) &&
		(f.after == 0 || r.at >= f.after) && (f.before == 0 || r.at < f.before)
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
	desk := desks.Get().(*desk)
	defer desks.Put(desk)
	q := sought{signs: make([]uint64, x.words()), filter: f}
	signsOf(q.signs, store.NewVector(v).Codes)
	desk.order = x.order(desk.order, v)
	found = x.closest(v, x.look(&q, desk, script, preselected), n)
	return append(found, x.closest(v, x.look(&q, desk, 1-script, preselected/2), n/2)...), x.background(v)
}

// closest compares rows exactly and returns the best n.
func (x *index) closest(v []float32, rows []int64, n int) []neighbour {
	found := x.exactly(make([]neighbour, 0, len(rows)), v, rows)
	slices.SortFunc(found, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(b.row, a.row))
	})
	return found[:min(n, len(found))]
}

// sought is what memories are compared with.
type sought struct {
	signs  []uint64
	filter filter
}

// desk is room for a search.
type desk struct {
	order     []ranked
	stretches []*stretch
	list      shortlist
}

var desks = sync.Pool{New: func() any { return &desk{} }}

// look returns so many rows of a script that pass the filter and have the fewest
// signs otherwise, of those that are looked at: all that are not sorted, and of the
// others the nearest cells until there is enough.
func (x *index) look(q *sought, d *desk, script store.Script, want int) []int64 {
	d.list.begin(want, x.dims)
	d.stretches = d.stretches[:0]
	all := 0 // that are sorted
	for i := range x.cells {
		switch c := &x.cells[i]; {
		case c.sorted():
			all += c.rows[script]
		case !c.empty():
			d.stretches = append(d.stretches, c.piles[0][script].stretches...)
		}
	}
	d.lookThrough(q)
	looked, passed := 0, 0
	for order := d.order; len(order) > 0 && passed < enough(all, looked, passed); {
		least := enough(all, looked, passed)
		if looked > 0 {
			least = min(max(least*looked/max(passed, 1), looked+1), 2*looked)
		}
		d.stretches = d.stretches[:0]
		for looked < least && len(order) > 0 {
			l := &order[0].piles[script]
			d.stretches = append(d.stretches, l.stretches...)
			looked += l.n
			order = order[1:]
		}
		passed += d.lookThrough(q)
	}
	return d.list.best()
}

// visited is how many memories that pass the filter a search looks at, in cells: so
// many times how many there are, to the power of three quarters. It is measured in
// docs/adr/0032.
const visited = 5

// enough is how many memories that pass a filter are to be looked at of all, when of
// those that were looked at so many passed.
func enough(all, looked, passed int) int {
	share := float64(max(passed, 1)) / float64(max(looked, 1))
	return int(visited * math.Pow(float64(all)*share, 0.75))
}

// lookThrough adds what is on the desk to its list, on several cores if it is much,
// and returns how many passed the filter.
func (d *desk) lookThrough(q *sought) (passed int) {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, len(d.stretches)*stretchRows/apart+1)
	var others [maxWorkers]*desk
	var passing [maxWorkers]int
	var wait sync.WaitGroup
	part := (len(d.stretches) + workers - 1) / workers
	for w := 1; w < workers; w++ {
		others[w] = desks.Get().(*desk)
		l := &others[w].list
		l.begin(d.list.want, len(d.list.at)-1)
		wait.Go(func() {
			passing[w] = l.look(q, d.stretches[min(w*part, len(d.stretches)):min((w+1)*part, len(d.stretches))])
		})
	}
	passed = d.list.look(q, d.stretches[:min(part, len(d.stretches))])
	wait.Wait()
	for w := 1; w < workers; w++ {
		passed += passing[w]
		d.list.join(&others[w].list)
		desks.Put(others[w])
	}
	return passed
}

// look adds what passes the filter, and returns how many did. The usual length is
// written out: to call distance takes as long as what it does.
func (l *shortlist) look(q *sought, stretches []*stretch) (passed int) {
	f, words, want := &q.filter, len(q.signs), present|q.filter.hidden
	usual := words == usualWords
	var own [usualWords]uint64
	copy(own[:], q.signs)
	for _, s := range stretches {
		for i, has := range s.bits[:s.n] {
			if has&want != present || f.of && s.projects[i] != f.project || !f.open && !f.passes(s, i) {
				continue
			}
			passed++
			var d int
			if usual {
				row := (*[usualWords]uint64)(s.signs[usualWords*i:])
				d = bits.OnesCount64(own[0]^row[0]) + bits.OnesCount64(own[1]^row[1]) +
					bits.OnesCount64(own[2]^row[2]) + bits.OnesCount64(own[3]^row[3])
			} else {
				d = distance(q.signs, s.signs[i*words:(i+1)*words])
			}
			if d < l.bound {
				l.add(int(s.records[i].row), d)
			}
		}
	}
	return passed
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
	r, script := x.record(int(row))
	return neighbour{row: row, at: r.at, cosine: sum * r.scale, script: script}
}
