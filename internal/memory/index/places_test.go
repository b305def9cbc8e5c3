package index

import "testing"

// TestPlacesTellOnlyWhatTheyWereTold remembers many more terms than there is room
// for: what is still there must be as it was.
func TestPlacesTellOnlyWhatTheyWereTold(t *testing.T) {
	var p places
	if _, ok := p.get("nothing"); ok {
		t.Error("it remembers what it was not told")
	}
	if _, ok := p.get(""); ok {
		t.Error("it remembers the empty term")
	}
	term := func(i int) string { return string([]byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676)}) }
	const n = 4 * maxPlaces
	for i := range n {
		p.put(term(i), word{n: i, offset: uint64(2 * i)})
	}
	kept := 0
	for i := range n {
		at, ok := p.get(term(i))
		if !ok {
			continue
		}
		kept++
		if at.n != i || at.offset != uint64(2*i) {
			t.Fatalf("%s is at %+v", term(i), at)
		}
	}
	if kept == 0 || kept > maxPlaces {
		t.Errorf("it remembers %d of %d terms", kept, n)
	}
}
