package index

import (
	"math"
	"slices"
)

// series is the list of a unit in a part. Either all of it was read, or it stays
// in its file and is read piece by piece.
type series struct {
	word word
	list []posting // without those that are dead or not asked for

	file   *segment // nil if list is all
	pieces []piece

	count int     // of the documents that are not dead, as far as that is known
	least int     // so many are not dead
	gain  float32 // no document has more
	most  uint32  // the same, as it is added to a sum
}

// forget lets go of all but room.
func (r *series) forget() { *r = series{pieces: r.pieces[:0]} }

// Postings from which on lists are long, all of a search together or one.
const (
	manyPostings = 1 << 16
	longList     = 1 << 12
	denseLong    = 1 << 5 // of a list with bits so much less is enough
)

// of returns the series of a unit in a part.
func (s *search) of(part, unit int) *series { return &s.series[part*len(s.units)+unit] }

// read finds the series of all units, reads those that are short or wholly needed,
// and tells how much each unit counts.
func (s *search) read() error {
	for _, w := range s.workers {
		w.anew()
	}
	n := len(s.parts) * len(s.units)
	s.series = slices.Grow(s.series[:0], n)[:n]
	if err := s.together(s.readers(), n, func(_ *worker, i int) error { return s.find(i) }); err != nil {
		return err
	}
	s.all = 0
	for i := range s.series {
		s.all += s.series[i].word.n
	}
	s.passes = s.passes && s.all >= s.index.many
	s.mute()
	if err := s.together(s.readers(), n, func(w *worker, i int) error { return s.fill(w, i) }); err != nil {
		return err
	}
	s.weigh()
	return nil
}

// find tells where a series is.
func (s *search) find(i int) (err error) {
	s.series[i].forget()
	if u := s.units[i%len(s.units)]; !u.prefix {
		s.series[i].word, err = s.parts[i/len(s.units)].lookUp(u.term)
	}
	return err
}

// mute leaves out the units that are in more than half of the documents, unless all
// are or nothing is to be left out.
func (s *search) mute() {
	muted := 0
	for i := range s.units {
		u, found := &s.units[i], 0
		for part := range s.parts {
			n, _ := s.living(part, s.of(part, i).word)
			found += n
		}
		if u.mute = s.passes && s.mutes && int64(found) > s.index.live/2; u.mute {
			muted++
		}
	}
	if s.mutes = muted > 0 && muted < len(s.units); s.mutes {
		return
	}
	for i := range s.units {
		s.units[i].mute = false
	}
}

// fill reads a series, or prepares it for being read piece by piece.
func (s *search) fill(w *worker, i int) (err error) {
	part := i / len(s.units)
	r, u, p := &s.series[i], s.units[i%len(s.units)], s.parts[part]
	if r.word.n == 0 && !u.prefix {
		return nil
	}
	r.gain = maxGain
	file, _ := p.(*segment)
	if file != nil && !u.prefix {
		r.gain = boundAt(r.word.bound, file.mean, s.mean)
	}
	dead := p.docs().dead
	switch {
	case u.mute, s.counts && file != nil && (r.word.n >= longList || s.dead[part] == 0):
		r.count, r.least = s.living(part, r.word)
		return nil
	case file == nil || u.prefix:
		r.list, err = w.list(p, u)
	case s.passes && r.word.table > 0 && (r.word.n >= s.index.many/2 || r.word.n >= s.index.many/denseLong && isDense(r.word.n, len(file.ids))):
		r.file = file
		r.count, r.least = s.living(part, r.word)
		r.pieces, err = file.pieces(r.pieces, r.word)
		return err
	default:
		r.list, err = file.postings(w.take(r.word.n), r.word)
	}
	if err != nil {
		return err
	}
	if s.query.Own || s.dead[part] > 0 {
		kept := r.list[:0]
		for _, posting := range r.list {
			if !dead.has(posting.doc()) && (!s.query.Own || posting.own()) {
				kept = append(kept, posting)
			}
		}
		r.list = kept
	}
	r.count, r.least = len(r.list), len(r.list)
	return nil
}

// living is how many documents with a word are not dead, if there are as many dead
// among them as among all of the part, and how many are not at least.
func (s *search) living(part int, w word) (count, least int) {
	n, all, dead := w.n, len(s.parts[part].docs().ids), s.dead[part]
	if s.query.Own {
		n = w.own
	}
	return n * (all - dead) / max(all, 1), max(n-dead, 0)
}

// mostOfOne is how many documents at least have the unit that most of them have.
func (s *search) mostOfOne() (most int) {
	for u := range s.units {
		n := 0
		for part := range s.parts {
			n += s.of(part, u).least
		}
		most = max(most, n)
	}
	return most
}

// weigh tells how much each unit counts.
func (s *search) weigh() {
	for i := range s.units {
		u := &s.units[i]
		for part := range s.parts {
			u.found += s.of(part, i).count
		}
		live, found := float64(s.index.live), float64(u.found)
		u.count = float32(max(math.Log((live-found+0.5)/(found+0.5)), minCount))
		for part := range s.parts {
			r := s.of(part, i)
			r.most = uint32(u.count*r.gain*sumOne) + slack
		}
	}
}

// begin is where a piece begins: in bytes after the table, and after which document.
func (r *series) begin(piece int) (at uint32, after uint32) {
	if piece == 0 {
		return 0, 0
	}
	return r.pieces[piece-1].end, r.pieces[piece-1].last
}

// pieceOf returns the first piece from one on that may have a document.
func (r *series) pieceOf(place uint32, from int) int {
	to := len(r.pieces)
	for step := 1; from+step < to; step *= 2 { // it is often near
		if r.pieces[from+step].last >= place {
			to = from + step
			break
		}
	}
	for from < to {
		if mid := (from + to) / 2; r.pieces[mid].last < place {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// dense reports whether the pieces are bitmaps.
func (r *series) dense() bool { return isDense(r.word.n, len(r.file.ids)) }

// sizeOf is how many postings a piece has that is none.
func (r *series) sizeOf(piece int) int { return min(pieceSize, r.word.n-piece*pieceSize) }

// reel is what one goroutine has read of a series.
type reel struct {
	data []byte // of pieces of the file
	list []posting
}

// within returns the postings of the documents from one place to another.
func (l *reel) within(r *series, from, to uint32) ([]posting, error) {
	if r.file == nil {
		return within(r.list, from, to), nil
	}
	first := r.pieceOf(from, 0)
	stop := first
	for ; stop < len(r.pieces); stop++ {
		if _, after := r.begin(stop); stop > first && after+1 >= to {
			break
		}
	}
	l.list = l.list[:0]
	err := l.read(r, first, stop)
	for k := first; k < stop && err == nil; k++ {
		err = l.decode(r, first, k)
	}
	return within(l.list, from, to), err
}

// read reads the bytes of pieces.
func (l *reel) read(r *series, first, stop int) error {
	if first >= stop {
		return nil
	}
	at, _ := r.begin(first)
	n := int(r.pieces[stop-1].end - at)
	l.data = slices.Grow(l.data[:0], n)[:n]
	return r.file.readInto(l.data, r.word.offset+r.word.table+uint64(at))
}

// decode appends a piece, of those that were read from the first on.
func (l *reel) decode(r *series, first, k int) (err error) {
	if r.dense() {
		b, at, err := l.bitmap(r, first, k)
		if err == nil {
			l.list = b.append(l.list, at)
		}
		return err
	}
	data, after := l.bytes(r, first, k)
	l.list, err = decode(l.list, data, r.sizeOf(k), uint64(after), uint64(len(r.file.ids)))
	if err == nil && k < len(r.pieces)-1 && l.list[len(l.list)-1].doc() != r.pieces[k].last {
		err = damaged("the table of a list does not fit")
	}
	return err
}

// bytes returns those of a piece, and after which document it is.
func (l *reel) bytes(r *series, first, k int) (data []byte, after uint32) {
	start, _ := r.begin(first)
	at, after := r.begin(k)
	return l.data[at-start : r.pieces[k].end-start], after
}

// bitmap returns a piece that is one, and the place of its first document.
func (l *reel) bitmap(r *series, first, k int) (b bitmap, at uint32, err error) {
	data, _ := l.bytes(r, first, k)
	b, at = bitmap{data[:blockBits], data[blockBits:]}, uint32(k)*blockDocs
	return b, at, b.fits(len(r.file.ids) - int(at))
}

// among calls f for those of some documents, in order, that are in a series.
func (l *reel) among(r *series, docs []uint32, f func(i int, p posting)) error {
	if len(docs) == 0 {
		return nil
	}
	if r.file == nil {
		pick(r.list, docs, f)
		return nil
	}
	first, stop := r.pieceOf(docs[0], 0), r.pieceOf(docs[len(docs)-1], 0)+1
	stop = min(stop, len(r.pieces))
	if err := l.read(r, first, stop); err != nil {
		return err
	}
	for i, k := 0, first; i < len(docs); {
		if k = r.pieceOf(docs[i], k); k >= stop {
			return nil
		}
		n := i
		for n < len(docs) && docs[n] <= r.pieces[k].last {
			n++
		}
		if err := l.pick(r, first, k, docs[i:n], i, f); err != nil {
			return err
		}
		i = n
	}
	return nil
}

// pick calls f for those of some documents that are in a piece. The first of them is
// the one of a number.
func (l *reel) pick(r *series, first, k int, docs []uint32, number int, f func(i int, p posting)) error {
	if r.dense() {
		b, at, err := l.bitmap(r, first, k)
		if err == nil {
			b.pick(at, docs, number, f)
		}
		return err
	}
	data, after := l.bytes(r, first, k)
	return scan(data, r.sizeOf(k), uint64(after), uint64(len(r.file.ids)), docs, number, f)
}

// pick calls f for the postings of some documents, in order.
func pick(list []posting, docs []uint32, f func(i int, p posting)) {
	for i, doc := range docs {
		step := 1 // the next is often near
		for step < len(list) && list[step].doc() < doc {
			step *= 2
		}
		list = list[step/2:]
		list = list[placeIn(list[:min(step-step/2+1, len(list))], doc):]
		if len(list) == 0 {
			return
		}
		if list[0].doc() == doc {
			f(i, list[0])
		}
	}
}

// within returns the postings of some documents.
func within(list []posting, from, to uint32) []posting {
	list = list[placeIn(list, from):]
	return list[:placeIn(list, to)]
}

// placeIn returns how many postings are of documents before one.
func placeIn(list []posting, doc uint32) int {
	from, to := 0, len(list)
	for from < to {
		if mid := (from + to) / 2; list[mid].doc() < doc {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}
