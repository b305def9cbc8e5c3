package index

import (
	"math"
	"strings"
)

// posting says that a document has a term: its place in the part above, how much
// the term counts in it in the lowest 7 bits, and between them whether it stands
// in a column of its own.
type posting uint32

const (
	ownBit   = 0x80
	placeBit = 8
	maxDocs  = 1 << (32 - placeBit) // of a part
)

func (p posting) doc() uint32     { return uint32(p) >> placeBit }
func (p posting) own() bool       { return p&ownBit != 0 }
func (p posting) weight() float32 { return weightOf[p&0x7f] }

// Weights are kept in 128 steps: of a twentieth up to four, where another mention
// says much, then of six per cent.
const (
	fineStep   = 0.05
	fineSteps  = 80
	coarseStep = 1.06
)

var weightOf = func() (table [128]float32) {
	for i := range table {
		if i < fineSteps {
			table[i] = fineStep * float32(i)
		} else {
			table[i] = fineStep * fineSteps * float32(math.Pow(coarseStep, float64(i-fineSteps)))
		}
	}
	return table
}()

// stepOf returns the step that is nearest to a weight; no weight is nothing.
func stepOf(weight float64) uint32 {
	step := math.Round(weight / fineStep)
	if step >= fineSteps {
		step = fineSteps + math.Round(math.Log(weight/(fineStep*fineSteps))/math.Log(coarseStep))
	}
	return uint32(min(max(step, 0), 127))
}

// gain is what a term says of a document by BM25, from 0 to maxGain, before it is
// multiplied by how much the term counts. The size is in terms, and each of them
// takes so much away, see perTerm.
func gain(weight float32, size uint16, per float32) float32 {
	return weight * (k1 + 1) / (weight + (k1*(1-b) + per*float32(size)))
}

// perTerm is how much a term of a document takes from the gain of others, where
// documents have a mean size.
func perTerm(mean float32) float32 { return k1 * b / mean }

const maxGain = k1 + 1

// boundOf keeps in one byte what no gain of a list exceeds, rounded up.
func boundOf(most float32) byte {
	return byte(min(math.Ceil(float64(most)/maxGain*math.MaxUint8), math.MaxUint8))
}

// boundAt is the bound of a list where the documents have another mean size than
// when it was written. Where they are longer, each of its documents is shorter by
// comparison, and a gain grows by no more than the mean did.
func boundAt(bound byte, before, now float32) float32 {
	return min(float32(bound)/math.MaxUint8*maxGain*max(now/before, 1), maxGain)
}

// document is an entry whose terms are counted.
type document struct {
	id, at int64
	size   uint16
	terms  []counted
}

type counted struct {
	term string
	code uint32 // as in a posting
}

// count adds up how much each term counts. A term of a column that counts
// nothing is there to be asked for, but has no weight.
func (c Config) count(e Entry) document {
	type sum struct {
		weight float64
		own    bool
	}
	sums := map[string]sum{}
	size := 0
	for i, column := range e.Columns {
		for column != "" {
			term, rest, _ := strings.Cut(column, " ")
			column = rest
			if term == "" {
				continue
			}
			s := sums[term]
			s.weight += c.Weights[i]
			s.own = s.own || c.Own[i]
			sums[term] = s
			size++
		}
	}
	d := document{id: e.Doc, at: e.At, size: uint16(min(size, math.MaxUint16)), terms: make([]counted, 0, len(sums))}
	for term, s := range sums {
		code := stepOf(s.weight)
		if s.own {
			code |= ownBit
		}
		d.terms = append(d.terms, counted{term, code})
	}
	return d
}
