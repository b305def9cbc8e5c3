package index

import (
	"encoding/binary"
	mathbits "math/bits"
	"slices"
)

// A list with many of the documents of its file has a bit for each of them: one of
// them is found without those before (see docs/adr/0033). In blocks of blockDocs
// documents it is their bits, the lowest first, then a code for each that is set.
// Its table is how many are set in each block, two bytes, little-endian.
const (
	blockDocs  = 1 << 10
	blockBits  = blockDocs / 8 // bytes
	blockWords = blockDocs / 64
	denseFrom  = 12 // a list is dense if one document of so many has the term
)

// isDense reports whether a list of n postings has bits in a file of documents.
func isDense(n, docs int) bool { return n > pieceSize && n*denseFrom >= docs }

// blocksOf is how many blocks documents make.
func blocksOf(docs int) int { return (docs + blockDocs - 1) / blockDocs }

// packDense encodes a list that is dense, and its table.
func (w *author) packDense(list []posting) {
	for block := range blocksOf(len(w.docs.ids)) {
		n := placeIn(list, uint32(block+1)*blockDocs)
		var words [blockWords]uint64
		for _, p := range list[:n] {
			i := p.doc() % blockDocs
			words[i/64] |= 1 << (i % 64)
		}
		for _, word := range words {
			w.list = binary.LittleEndian.AppendUint64(w.list, word)
		}
		for _, p := range list[:n] {
			w.list = append(w.list, byte(p))
		}
		w.table = binary.LittleEndian.AppendUint16(w.table, uint16(n))
		list = list[n:]
	}
}

// bitmaps appends the blocks of a dense list as its pieces.
func (s *segment) bitmaps(to []piece, w word, table []byte) ([]piece, error) {
	docs, end, n := len(s.ids), 0, 0
	if len(table) != 2*blocksOf(docs) {
		return to, damaged("the table of a list does not fit")
	}
	for i := range blocksOf(docs) {
		set := int(binary.LittleEndian.Uint16(table[2*i:]))
		n += set
		end += blockBits + set
		to = append(to, piece{last: uint32(min((i+1)*blockDocs, docs) - 1), end: uint32(end)})
	}
	if n != w.n || uint64(end) != w.length-w.table {
		return to, damaged("the table of a list does not fit")
	}
	return to, nil
}

// decodeDense appends all postings of a dense list.
func decodeDense(to []posting, data []byte, n, docs int) ([]posting, error) {
	to = slices.Grow(to, n)
	for first := 0; first < docs; first += blockDocs {
		if len(data) < blockBits {
			return to, damaged("a list is too short")
		}
		b := bitmap{bits: data}
		set := b.count()
		if b.codes = data[blockBits:]; set > len(b.codes) {
			return to, damaged("a list is too short")
		}
		b.codes, data = b.codes[:set], b.codes[set:]
		if err := b.fits(docs - first); err != nil {
			return to, err
		}
		to = b.append(to, uint32(first))
		n -= set
	}
	if n != 0 || len(data) > 0 {
		return to, damaged("a list is too long")
	}
	return to, nil
}

// bitmap is a block of a dense list.
type bitmap struct {
	bits  []byte
	codes []byte
}

func (b bitmap) word(i int) uint64 { return binary.LittleEndian.Uint64(b.bits[8*i:]) }

func (b bitmap) count() (n int) {
	for i := range blockWords {
		n += mathbits.OnesCount64(b.word(i))
	}
	return n
}

// fits returns an error unless there is a code for each bit, and no bit beyond the
// documents from its first on.
func (b bitmap) fits(docs int) error {
	for i := max(docs, 0) / 64; i < blockWords; i++ {
		if b.word(i)>>max(docs-64*i, 0) != 0 {
			return damaged("a list has no such document")
		}
	}
	if b.count() != len(b.codes) {
		return damaged("a list is too short")
	}
	return nil
}

// append appends the postings of a block whose first document is at a place.
func (b bitmap) append(to []posting, first uint32) []posting {
	codes := b.codes
	for i := range blockWords {
		for word := b.word(i); word != 0; word &= word - 1 {
			doc := first + uint32(64*i+mathbits.TrailingZeros64(word))
			to = append(to, posting(doc<<placeBit)|posting(codes[0]))
			codes = codes[1:]
		}
	}
	return to
}

// pick calls f for those of some documents, in order, that are in a block whose
// first document is at a place. The first of them is the one of a number.
func (b bitmap) pick(first uint32, docs []uint32, number int, f func(i int, p posting)) {
	at, before := 0, 0 // codes of the words before that one
	for i, doc := range docs {
		place := doc - first
		word, bit := b.word(int(place/64)), uint64(1)<<(place%64)
		if word&bit == 0 {
			continue
		}
		for ; at < int(place/64); at++ {
			before += mathbits.OnesCount64(b.word(at))
		}
		f(number+i, posting(doc<<placeBit)|posting(b.codes[before+mathbits.OnesCount64(word&(bit-1))]))
	}
}
