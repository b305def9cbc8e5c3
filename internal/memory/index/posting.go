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
