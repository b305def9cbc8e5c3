package index

import (
	"slices"
	"testing"
)

// FuzzLists reads bytes as the list of a word, whole and of some documents: it is an
// error, or both ways find the same; never a crash.
func FuzzLists(f *testing.F) {
	w := &author{docs: documents{sizes: make([]uint16, 1000)}, mean: 1}
	for _, n := range []int{1, 2, pieceSize, 3*pieceSize + 5} {
		var list []posting
		for i := range n {
			list = append(list, posting(2*i)<<placeBit|posting(i%256))
		}
		w.pack(list)
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
		again.pack(list)
		if whole, err := decode(nil, again.list, int(n), 0, docs); err != nil || !slices.Equal(whole, list) {
			t.Fatalf("written anew it is %v, %v, want %v", whole, err, list)
		}
	})
}
