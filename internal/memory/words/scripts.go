package words

import (
	"unicode"
	"unicode/utf8"
)

// beyond yields the terms of the run beyond ASCII that begins at start, and
// returns where it ends.
func (c *Cutter) beyond(text string, start int, yield func(Term)) int {
	r, size := utf8.DecodeRuneInString(text[start:])
	switch {
	case Unspaced(r):
		return c.unspacedRun(text, start, yield)
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return c.foreignWord(text, start, yield)
	}
	return start + size
}

// unspacedRun yields single characters and pairs.
func (c *Cutter) unspacedRun(text string, start int, yield func(Term)) int {
	i := start
	_, size := utf8.DecodeRuneInString(text[i:])
	for {
		next := i + size
		wanted := c.wanted == nil || c.wanted.Has(text[i], text[i+1])
		if wanted {
			yield(Term{Text: append(c.lower[:0], text[i:next]...), Start: i, End: next, Kind: Single})
		}
		if next >= len(text) || classes[text[next]] != high {
			return next
		}
		r, n := utf8.DecodeRuneInString(text[next:])
		if !Unspaced(r) {
			return next
		}
		if wanted {
			yield(Term{Text: append(c.lower[:0], text[i:next+n]...), Start: i, End: next + n, Kind: Pair})
		}
		i, size = next, n
	}
}

// foreignWord yields the word that begins at start, lower-cased, whatever ASCII
// is in it.
func (c *Cutter) foreignWord(text string, start int, yield func(Term)) int {
	i, b := start, c.lower[:0]
	for i < len(text) {
		if inWord(text[i]) {
			if len(b) < MaxTerm {
				b = append(b, c.lowerByte(text[i]))
			}
			i++
			continue
		}
		if classes[text[i]] != high || !continuesWord(text, i) {
			break
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if low := unicode.ToLower(r); len(b)+utf8.RuneLen(low) <= MaxTerm {
			b = utf8.AppendRune(b, low)
		}
		i += size
	}
	if len(b) >= 2 {
		yield(Term{Text: b, Start: start, End: i, Kind: Word})
	}
	return i
}

func (c *Cutter) lowerByte(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + ('a' - 'A')
	}
	return b
}

// continuesWord reports whether the character at i, which is beyond ASCII, can
// stand in a word that is written with spaces around it.
func continuesWord(text string, i int) bool {
	r, _ := utf8.DecodeRuneInString(text[i:])
	return r != utf8.RuneError && !Unspaced(r) && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// Unspaced reports whether r belongs to a script that is written without spaces
// between words (Hangul has some, but its words carry their particles).
func Unspaced(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r < 0x0f00: // Thai, Lao
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r < 0x1000:
		return false
	case r < 0x10a0, 0x1100 <= r && r < 0x1200, 0x1780 <= r && r < 0x1800: // Myanmar, Hangul jamo, Khmer
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r < 0x3005:
		return false
	case r <= 0x3007, 0x3040 <= r && r < 0x3100, 0x3105 <= r && r < 0x3190, 0x31a0 <= r && r < 0x3200: // Kana, Bopomofo
		return true
	case 0x3400 <= r && r < 0xa000, 0xac00 <= r && r < 0xd7b0, 0xf900 <= r && r < 0xfb00: // Han, Hangul
		return true
	case 0xff66 <= r && r < 0xffe0: // half-width Kana and Hangul
		return true
	}
	return 0x20000 <= r && r < 0x40000 // Han beyond the basic plane
}
