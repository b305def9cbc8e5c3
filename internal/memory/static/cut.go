package static

import (
	"strings"
	"unicode"
)

// Numbers of cutting; scripts/embedding/words.py has the same.
const (
	maxWord  = 40 // runes; what is longer is no word
	maxHan   = 6  // runes of the longest word of a script without spaces
	minPart  = 3  // runes of a part of a word that is not known as a whole
	maxWords = 400
)

// part is how much such a part counts.
const part float32 = 0.5

// unspaced reports whether c is of a script that puts no spaces between words.
func unspaced(c rune) bool {
	return c >= 0x3041 && c <= 0x30FF || c >= 0x3400 && c <= 0x9FFF || c >= 0xF900 && c <= 0xFAFF || c == 0x3005
}

// kind of a character.
type kind int

const (
	other kind = iota
	letter
	ideograph
)

func kindOf(c rune) kind {
	switch {
	case c < 0x80:
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return letter
		}
	case unspaced(c):
		return ideograph
	case unicode.IsLetter(c):
		return letter
	}
	return other
}

// cut calls use with the row of each known word of a text, and how much the word
// counts, until use returns false.
func (v *vocabulary) cut(text string, use func(row int, share float32) bool) {
	begin, last := 0, other
	lower := false
	more := true
	run := func(end int) {
		if more && last != other && begin < end {
			more = v.run(strings.ToLower(text[begin:end]), last == ideograph, use)
		}
	}
	for i, c := range text {
		k := kindOf(c)
		if k != last || k == letter && lower && unicode.IsUpper(c) {
			run(i)
			begin = i
		}
		if !more {
			return
		}
		last, lower = k, k == letter && unicode.IsLower(c)
	}
	run(len(text))
}

// run looks up one stretch of letters.
func (v *vocabulary) run(text string, unspaced bool, use func(row int, share float32) bool) bool {
	if unspaced {
		return v.pieces([]rune(text), 1, maxHan, 1, use)
	}
	if row, ok := v.words.row(text); ok {
		return use(row, 1)
	}
	if r := []rune(text); len(r) <= maxWord {
		return v.pieces(r, minPart, maxWord, part, use)
	}
	return true
}

// pieces looks for the longest known word at each place, from the left.
func (v *vocabulary) pieces(text []rune, least, most int, share float32, use func(row int, share float32) bool) bool {
	for i := 0; i+least <= len(text); {
		row, n := v.longest(text[i:], least, most)
		if n == 0 {
			i++
			continue
		}
		if !use(row, share) {
			return false
		}
		i += n
	}
	return true
}

// longest returns the row of the longest known word that text begins with, and
// its length in runes, 0 if there is none.
func (v *vocabulary) longest(text []rune, least, most int) (row, n int) {
	for n = min(most, len(text)); n >= least; n-- {
		if row, ok := v.words.row(string(text[:n])); ok {
			return row, n
		}
	}
	return 0, 0
}
