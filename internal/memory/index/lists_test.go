package index

import (
	"slices"
	"testing"
)

// FuzzLists reads bytes as the list of a word, whole and of some documents: it is an
// error, or both ways find the same; never a crash.
func FuzzLists(f *testing.F) {
	w := &author{docs: documents{ids: make([]int64, 1000), sizes: make([]uint16, 1000)}, mean: 1}
	for _, n := range []int{1, 2, pieceSize, 3*pieceSize + 5} {
		var list []posting
		for i := range n {
			list = append(list, posting(2*i)<<placeBit|posting(i%256))
		}
		w.table, w.list = nil, nil
		w.packPieces(list)
		f.Add(slices.Concat(w.table, w.list), uint16(n), uint16(len(w.table)), uint16(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, n, table, wanted uint16) {
		const docs = 1000
		if n == 0 || n > docs || int(table) > len(data) {
			return
		}
		list, err := decode(nil, data[table:], int(n), 0, docs)
		if err != nil {
			return
		}
		if len(list) != int(n) || !slices.IsSorted(list) || list[n-1].doc() >= docs {
			t.Fatalf("%d postings of %d: %v", len(list), n, list)
		}
		var some []uint32
		for doc := uint32(wanted % docs); doc < docs; doc += 1 + uint32(wanted%97) {
			some = append(some, doc)
		}
		var want, got []posting
		pick(list, some, func(_ int, p posting) { want = append(want, p) })
		take := func(i int, p posting) {
			if p.doc() != some[i] {
				t.Errorf("%d is told to be %d", p.doc(), some[i])
			}
			got = append(got, p)
		}
		if err := scan(data[table:], int(n), 0, docs, some, 0, take); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v of %v, want %v, error %v", got, some, want, err)
		}
		again := &author{docs: w.docs, mean: 1}
		again.packPieces(list)
		if whole, err := decode(nil, again.list, int(n), 0, docs); err != nil || !slices.Equal(whole, list) {
			t.Fatalf("written anew it is %v, %v, want %v", whole, err, list)
		}
	})
}

// FuzzDense reads bytes as a dense list, whole, block by block and of some documents: it
// is an error, or all ways find the same; never a crash.
func FuzzDense(f *testing.F) {
	const docs = 3*blockDocs + 100
	s := &segment{documents: documents{ids: make([]int64, docs)}}
	for _, n := range []int{docs, docs / denseFrom * 2, docs / 2} {
		w := &author{docs: documents{ids: s.ids}}
		var list []posting
		for i := range n {
			list = append(list, posting(i*docs/n)<<placeBit|posting(i%256))
		}
		w.packDense(list)
		f.Add(w.list, w.table, uint16(n), uint16(7))
	}
	f.Fuzz(func(t *testing.T, data, table []byte, n, wanted uint16) {
		if !isDense(int(n), docs) {
			return
		}
		list, err := decodeDense(nil, data, int(n), docs)
		if err != nil {
			return
		}
		if len(list) != int(n) || !slices.IsSorted(list) || list[n-1].doc() >= docs {
			t.Fatalf("%d postings of %d: %v", len(list), n, list)
		}
		again := &author{docs: documents{ids: s.ids}}
		again.packDense(list)
		if !slices.Equal(again.list, data) {
			t.Fatal("written anew it is other bytes")
		}
		pieces, err := s.bitmaps(nil, word{n: int(n), length: uint64(len(table) + len(data)), table: uint64(len(table))}, table)
		if err != nil || !slices.Equal(table, again.table) {
			return // a table that is wrong by itself is found block by block
		}
		var whole, want, got []posting
		begin := uint32(0)
		for k, p := range pieces {
			b, first := bitmap{data[begin:][:blockBits], data[begin+blockBits : p.end]}, uint32(k*blockDocs)
			if err := b.fits(docs - int(first)); err != nil {
				t.Fatal(err)
			}
			whole = b.append(whole, first)
			var some []uint32
			for doc := first + uint32(wanted%97); doc <= p.last; doc += 1 + uint32(wanted%31) {
				some = append(some, doc)
			}
			pick(list, some, func(_ int, p posting) { want = append(want, p) })
			b.pick(first, some, 5, func(i int, p posting) {
				if p.doc() != some[i-5] {
					t.Errorf("%d is told to be %d", p.doc(), some[i-5])
				}
				got = append(got, p)
			})
			begin = p.end
		}
		if !slices.Equal(whole, list) || !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
