package static

import "strings"

// wordList finds the row of a word. The words stay in the table they were read
// from, so that it takes some ten bytes for each.
type wordList struct {
	text  string   // all words, with a line feed between them
	ends  []uint32 // where each ends
	slots []uint32 // 1 + a row, by the hash of its word; 0 where there is none
}

func newWordList(text string, n int) (wordList, bool) {
	size := 8
	for size < 2*n {
		size *= 2
	}
	l := wordList{text: text, ends: make([]uint32, 0, n), slots: make([]uint32, size)}
	at := 0
	for word := range strings.SplitSeq(text, "\n") {
		if len(l.ends) == n {
			return l, n == 0 && text == ""
		}
		at += len(word)
		l.ends = append(l.ends, uint32(at))
		at++
		l.slots[l.slot(word)] = uint32(len(l.ends))
	}
	return l, len(l.ends) == n
}

// row returns the row of a word.
func (l *wordList) row(word string) (int, bool) {
	row := int(l.slots[l.slot(word)])
	return row - 1, row > 0
}

// slot returns where the row of a word is, or should be.
func (l *wordList) slot(word string) uint32 {
	h := uint32(2166136261) // FNV-1a
	for i := range len(word) {
		h = (h ^ uint32(word[i])) * 16777619
	}
	mask := uint32(len(l.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		if row := l.slots[i]; row == 0 || l.word(int(row)-1) == word {
			return i
		}
	}
}

func (l *wordList) word(row int) string {
	begin := uint32(0)
	if row > 0 {
		begin = l.ends[row-1] + 1
	}
	return l.text[begin:l.ends[row]]
}
