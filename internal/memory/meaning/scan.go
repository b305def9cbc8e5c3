package meaning

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// Numbers of a search.
const (
	preselected = 200 // by their signs, to be compared exactly
	maxWorkers  = 4
	apart       = 1 << 17 // memories; fewer are not worth another goroutine
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
	defer desk.giveBack()
	desk.begin(x, v)
	found = x.closest(v, x.look(&f, desk, script, preselected), n)
	return append(found, x.closest(v, x.look(&f, desk, 1-script, preselected/2), n/2)...), x.background(v)
}

// closest compares rows exactly and returns the best n.
func (x *index) closest(v []float32, rows []int64, n int) []neighbour {
	found := x.exactly(make([]neighbour, 0, len(rows)), v, rows)
	slices.SortFunc(found, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(b.row, a.row))
	})
	return found[:min(n, len(found))]
}

// desk is room for a search.
type desk struct {
	gauge     gauge    // of what is sought
	far       []uint64 // the cells by their signs: distance, which cells, number
	order     []ranked
	stretches []*stretch
	list      shortlist
}

var desks = sync.Pool{New: func() any { return &desk{} }}

// giveBack leaves the desk to another search, without what may be no more by then.
func (d *desk) giveBack() {
	clear(d.order)
	clear(d.stretches[:cap(d.stretches)])
	desks.Put(d)
}

// begin prepares a search for v.
func (d *desk) begin(x *index, v []float32) {
	d.gauge.set(v)
	d.inOrder(x, v)
}

// look returns so many rows of a script that pass the filter and are nearest by their
// signs, of those that are looked at: all that are not sorted, and of the others the
// nearest cells until there is enough.
func (x *index) look(f *filter, d *desk, script store.Script, want int) []int64 {
	d.list.begin(want, d.gauge.farthest)
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
	d.lookThrough(f)
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
		passed += d.lookThrough(f)
	}
	return d.list.best()
}

// visited is how many memories that pass the filter a search looks at, in cells: so
// many times the root of how many there are. It is measured in docs/adr/0034.
const visited = 32

// enough is how many memories that pass a filter are to be looked at of all, when of
// those that were looked at so many passed.
func enough(all, looked, passed int) int {
	share := float64(max(passed, 1)) / float64(max(looked, 1))
	return int(visited * math.Sqrt(float64(all)*share))
}

// lookThrough adds what is on the desk to its list, on several cores if it is much,
// and returns how many passed the filter.
func (d *desk) lookThrough(f *filter) (passed int) {
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
			passing[w] = l.look(&d.gauge, f, d.stretches[min(w*part, len(d.stretches)):min((w+1)*part, len(d.stretches))])
		})
	}
	passed = d.list.look(&d.gauge, f, d.stretches[:min(part, len(d.stretches))])
	wait.Wait()
	for w := 1; w < workers; w++ {
		passed += passing[w]
		d.list.join(&others[w].list)
		others[w].giveBack()
	}
	return passed
}

// look adds what passes the filter, and returns how many did.
func (l *shortlist) look(g *gauge, f *filter, stretches []*stretch) (passed int) {
	words, want := len(g.tables)/8, present|f.hidden
	for _, s := range stretches {
		for i, has := range s.bits[:s.n] {
			if has&want != present || f.of && s.projects[i] != f.project || !f.open && !f.passes(s, i) {
				continue
			}
			passed++
			if d := g.distance(s.signs[i*words:(i+1)*words], l.bound); d < l.bound {
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
