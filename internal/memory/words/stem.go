package words

import "github.com/kljensen/snowball/english"

// Stemming allocates and takes a microsecond, and a text uses the same few
// thousand words again and again: a small table that forgets by overwriting
// answers nearly all of them.
const stemSlots = 1 << 13

type stems struct {
	slots []stemSlot
}

type stemSlot struct {
	word string
	stem []byte
}

// of returns the stem of a lower-case ASCII word.
func (s *stems) of(word []byte) []byte {
	if len(word) < 3 {
		return word
	}
	if s.slots == nil {
		s.slots = make([]stemSlot, stemSlots)
	}
	slot := &s.slots[hash(word)%stemSlots]
	if slot.word != string(word) {
		w := string(word)
		*slot = stemSlot{word: w, stem: []byte(english.Stem(w, true))}
	}
	return slot.stem
}

// hash is 64-bit FNV-1a, whose upper half is folded in because tables take the
// lower bits.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h ^ h>>32
}
