package recall

import "unicode/utf8"

// needle is a text to be found in many others, as [indexFold] finds it: it passes
// over as much at once as the byte at the end allows (Horspool, Practical Fast
// Searching in Strings, 1980).
type needle struct {
	text  string // in lower case
	skips []int  // by byte; nil if the text is not ASCII
}

func newNeedle(text string) *needle {
	n := &needle{text: text}
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return n
		}
	}
	n.skips = make([]int, 256)
	for i := range n.skips {
		n.skips[i] = len(text)
	}
	for i := range max(len(text)-1, 0) {
		n.skips[text[i]] = len(text) - 1 - i
	}
	return n
}

// index returns where the needle is in text, or -1.
func (n *needle) index(text string) int {
	if n.skips == nil || n.text == "" {
		return indexFold(text, n.text)
	}
	last := len(n.text) - 1
	for i := last; i < len(text); i += n.skips[lower[text[i]]] {
		k := last
		for k >= 0 && lower[text[i-last+k]] == n.text[k] {
			k--
		}
		if k < 0 {
			return i - last
		}
	}
	return -1
}
