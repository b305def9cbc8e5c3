package index

import (
	"encoding/binary"
	"slices"
)

// word is an entry of the dictionary.
type word struct {
	term   string
	n      int    // postings
	own    int    // of them, in a column of its own
	bound  byte   // see boundOf
	offset uint64 // of the list
	length uint64 // of it, in bytes
	table  uint64 // of that, its table
}

// pieceSize is how many postings of a list can be read without those before.
const pieceSize = 128

// piece is a part of a list.
type piece struct {
	last uint32 // place of its last document
	end  uint32 // where it ends, in bytes after the table
}

func (s *segment) list(r *room, term string) ([]posting, error) {
	at, err := s.lookUp(term)
	if err != nil || at.n == 0 {
		return nil, err
	}
	return s.postings(r.take(at.n), at)
}

// lookUp returns where the list of a term is; it has no postings if there is none.
func (s *segment) lookUp(term string) (at word, err error) {
	if at, ok := s.places.get(term); ok {
		return at, nil
	}
	i := s.blockOf(term)
	if i < 0 {
		return word{}, nil
	}
	err = s.block(i, func(t []byte, w word) bool {
		if string(t) == term {
			at = w
		}
		return string(t) < term
	})
	if err == nil {
		s.places.put(term, at)
	}
	return at, err
}

// postings appends the list of a word.
func (s *segment) postings(to []posting, w word) ([]posting, error) {
	data, free, err := s.read(w.offset+w.table, w.length-w.table)
	if err != nil {
		return to, err
	}
	defer free()
	if isDense(w.n, len(s.ids)) {
		return decodeDense(to, data, w.n, len(s.ids))
	}
	return decode(to, data, w.n, 0, uint64(len(s.ids)))
}

// pieces appends the pieces of the list of a word.
func (s *segment) pieces(to []piece, w word) ([]piece, error) {
	data, free, err := s.read(w.offset, w.table)
	if err != nil {
		return to, err
	}
	defer free()
	if isDense(w.n, len(s.ids)) {
		return s.bitmaps(to, w, data)
	}
	in := reader{data: data}
	last, end, size := uint64(0), uint64(0), w.length-w.table
	for range (w.n - 1) / pieceSize {
		last += in.number()
		end += in.number()
		if in.err != nil || last >= uint64(len(s.ids)) || end > size {
			return to, damaged("the table of a list does not fit")
		}
		to = append(to, piece{uint32(last), uint32(end)})
	}
	if in.at != len(data) {
		return to, damaged("the table of a list is too long")
	}
	return append(to, piece{uint32(len(s.ids) - 1), uint32(size)}), nil
}

// decode appends n postings of documents below a place. The first is so far from
// a place before, which is 0 at the beginning of a list.
func decode(to []posting, data []byte, n int, before, below uint64) ([]posting, error) {
	to = slices.Grow(to, n)
	out := to[len(to) : len(to)+n]
	doc, at := before, 0
	for i := range out {
		var step uint64
		var code byte
		if at+1 < len(data) && data[at] < 0x80 {
			step, code, at = uint64(data[at]), data[at+1], at+2
		} else if step, code, at = far(data, at); at == 0 {
			return to, damaged("a list is too short")
		}
		if doc += step; step >= below || step == 0 && (i > 0 || before > 0) {
			return to, damaged("a list has no such document")
		}
		out[i] = posting(doc<<placeBit) | posting(code)
	}
	if doc >= below || at != len(data) {
		return to, damaged("a list has no such document")
	}
	return to[:len(to)+n], nil
}

// scan decodes like decode, and calls f for the postings of some documents, in
// order, the first of which is the one of a number. It ends with the last of them.
// How a posting begins is written out in both: as a call it made a search of 300,000
// documents a quarter slower.
func scan(data []byte, n int, before, below uint64, docs []uint32, number int, f func(i int, p posting)) error {
	doc, at := before, 0
	for i := range n {
		var step uint64
		var code byte
		if at+1 < len(data) && data[at] < 0x80 {
			step, code, at = uint64(data[at]), data[at+1], at+2
		} else if step, code, at = far(data, at); at == 0 {
			return damaged("a list is too short")
		}
		if doc += step; step >= below || doc >= below || step == 0 && (i > 0 || before > 0) {
			return damaged("a list has no such document")
		}
		for doc >= uint64(docs[0]) {
			if doc == uint64(docs[0]) {
				f(number, posting(doc<<placeBit)|posting(code))
			}
			if docs, number = docs[1:], number+1; len(docs) == 0 {
				return nil
			}
		}
	}
	return nil
}

// far decodes a posting whose distance may be more than a byte, and returns where
// the next begins; 0 if there is none.
func far(data []byte, at int) (step uint64, code byte, next int) {
	step, n := binary.Uvarint(data[at:])
	if n <= 0 || at+n >= len(data) {
		return 0, 0, 0
	}
	return step, data[at+n], at + n + 1
}
