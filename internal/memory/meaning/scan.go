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
	preselected = 300     // by their signs, to be compared exactly
	sampled     = 256     // memories, or a few more, that tell how alike any two texts are
	maxLooked   = 1 << 16 // rows that are looked at for them
	maxWorkers  = 4
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
	open                       bool // only hidden is looked at
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

// passes reports whether a row is there and wanted. Most filters are open, and
// then its bits are enough.
func (f *filter) passes(s *slab, i int) bool {
	bits := s.bits[i]
	if bits&present == 0 || bits&f.hidden != 0 {
		return false
	}
	if f.open {
		return true
	}
	p := &s.places[i]
	return (f.layers == 0 || bits&f.layers != 0) &&
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

// distances is what a search writes down, kept for the next one.
var distances = sync.Pool{New: func() any { return new([]uint16) }}

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
	signs := make([]uint64, x.words())
	signsOf(signs, store.NewVector(v).Codes)
	buffer := distances.Get().(*[]uint16)
	defer distances.Put(buffer)
	if need := len(x.slabs) * slabRows; cap(*buffer) < need {
		*buffer = make([]uint16, need)
	}
	all := (*buffer)[:len(x.slabs)*slabRows]
	histogram := x.measure(signs, &f, all)
	other := 1 - script
	found = x.closest(v, all, histogram[script], script, preselected, n)
	found = append(found, x.closest(v, all, histogram[other], other, preselected/2, n/2)...)
	return found, x.background(v)
}

// closest compares the memories of a script exactly that have the fewest signs
// otherwise, as the distances of all tell, and returns the best n.
func (x *index) closest(v []float32, all []uint16, histogram []int, script store.Script, compared, n int) (found []neighbour) {
	cut, below := 0, 0
	for cut < len(histogram)-1 && below+histogram[cut] < compared {
		below += histogram[cut]
		cut++
	}
	atCut := compared - below
	rows := make([]int64, 0, compared)
	for row := len(all) - 1; row >= 0; row-- { // of those at the cut, the newest
		d := all[row]
		if d == absent || int(d) > cut || x.slabs[row/slabRows].script(row%slabRows) != script {
			continue
		}
		if int(d) == cut {
			if atCut == 0 {
				continue
			}
			atCut--
		}
		rows = append(rows, int64(row))
	}
	found = x.exactly(make([]neighbour, 0, len(rows)), v, rows)
	slices.SortFunc(found, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(b.row, a.row))
	})
	return found[:min(n, len(found))]
}

func (x *index) has(row int64) bool {
	n := row / slabRows
	return row >= 0 && n < int64(len(x.slabs)) && x.slabs[n] != nil && x.slabs[n].bits[row%slabRows] != 0
}

// measure writes the distance of each row into all, and returns how many rows of
// each script there are at each distance.
func (x *index) measure(signs []uint64, f *filter, all []uint16) [scripts][]int {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, len(x.slabs))
	counts := make([][scripts][]int, workers)
	var wait sync.WaitGroup
	for w := range workers {
		for i := range counts[w] {
			counts[w][i] = make([]int, x.words()*64+1)
		}
		measure := func() {
			for n := w; n < len(x.slabs); n += workers {
				x.measureSlab(x.slabs[n], signs, f, all[n*slabRows:(n+1)*slabRows], &counts[w])
			}
		}
		if w < workers-1 {
			wait.Go(measure)
		} else {
			measure()
		}
	}
	wait.Wait()
	for _, c := range counts[1:] {
		for i := range c {
			for d, n := range c[i] {
				counts[0][i][d] += n
			}
		}
	}
	return counts[0]
}

func (x *index) measureSlab(s *slab, signs []uint64, f *filter, out []uint16, counts *[scripts][]int) {
	if s == nil {
		for i := range out {
			out[i] = absent
		}
		return
	}
	words := len(signs)
	for i := range out {
		if !f.passes(s, i) {
			out[i] = absent
			continue
		}
		d := distance(signs, s.signs[i*words:(i+1)*words])
		out[i] = uint16(d)
		counts[s.script(i)][d]++
	}
}

// distance counts the signs that differ. The usual lengths are written out; that
// halves the time of a search.
func distance(a, b []uint64) int {
	switch {
	case len(a) == 4 && len(b) == 4:
		return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) + bits.OnesCount64(a[3]^b[3])
	case len(a) == 6 && len(b) == 6:
		return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) +
			bits.OnesCount64(a[3]^b[3]) + bits.OnesCount64(a[4]^b[4]) + bits.OnesCount64(a[5]^b[5])
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

// minSampled is how many memories of a script tell what is usual in it; fewer are
// taken together with all others.
const minSampled = 8

// background returns the mean cosine of v with memories all over the index, of
// each script.
func (x *index) background(v []float32) (mean [scripts]float32) {
	var sum [scripts]float32
	var n [scripts]int
	rows := len(x.slabs) * slabRows
	step := max(x.count/sampled, rows/maxLooked) | 1
	some := make([]int64, 0, rows/step+1)
	for row := 0; row < rows; row += step {
		if x.has(int64(row)) {
			some = append(some, int64(row))
		}
	}
	for _, f := range x.exactly(make([]neighbour, 0, len(some)), v, some) {
		sum[f.script] += f.cosine
		n[f.script]++
	}
	for i := range mean {
		mean[i] = sum[i] / float32(max(n[i], 1))
		if n[i] < minSampled {
			mean[i] = (sum[0] + sum[1]) / float32(max(n[0]+n[1], 1))
		}
	}
	return mean
}
