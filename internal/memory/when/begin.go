package when

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// A regular expression of a hundred alternatives is tried at each place of a text,
// and at almost none of them can one begin. beginnings knows where one can.
type beginnings [256][]beginning // by the first byte, in lower case

// beginning is what a match begins with, ASCII letters in lower case.
type beginning struct {
	text string
	word bool // it begins a word
	open bool // what comes after it is not known
}

const (
	maxBeginning = 4  // bytes that are compared
	maxClass     = 64 // characters of a class that are told apart
)

// beginningsOf returns what matches of a regular expression can begin with, nil if
// that may be anything.
func beginningsOf(expression string) *beginnings {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil // it is compiled, too, and fails there
	}
	all, ok := begin(re)
	if !ok {
		return nil
	}
	var out beginnings
	known := map[beginning]bool{}
	for _, b := range all {
		if b.text == "" {
			return nil
		}
		b.text, b.open = b.text[:min(len(b.text), maxBeginning)], false
		if !known[b] {
			known[b] = true
			out[b.text[0]] = append(out[b.text[0]], b)
		}
	}
	return &out
}

// begin returns what matches begin with; it is not ok if that depends on where in
// the text they are.
func begin(re *syntax.Regexp) (all []beginning, ok bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpNoWordBoundary:
		return []beginning{{}}, true
	case syntax.OpWordBoundary:
		return []beginning{{word: true}}, true
	case syntax.OpLiteral:
		all = []beginning{{}}
		for _, r := range re.Rune {
			all = follow(all, cases(r, re.Flags&syntax.FoldCase != 0))
		}
		return all, true
	case syntax.OpCharClass:
		return class(re.Rune), true
	case syntax.OpCapture:
		return begin(re.Sub[0])
	case syntax.OpConcat:
		all = []beginning{{}}
		for _, sub := range re.Sub {
			next, ok := begin(sub)
			if !ok {
				return nil, false
			}
			all = follow(all, next)
		}
		return all, true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			some, ok := begin(sub)
			if !ok {
				return nil, false
			}
			all = append(all, some...)
		}
		return all, true
	case syntax.OpQuest, syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		return repeated(re)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []beginning{{open: true}}, true
	}
	return nil, false
}

func repeated(re *syntax.Regexp) (all []beginning, ok bool) {
	all, ok = begin(re.Sub[0])
	for i := range all {
		all[i].open = all[i].open || re.Op != syntax.OpQuest
	}
	if re.Op != syntax.OpPlus && (re.Op != syntax.OpRepeat || re.Min == 0) {
		all = append(all, beginning{})
	}
	return all, ok
}

// follow returns each of some beginnings with each of what comes then.
func follow(some, then []beginning) (all []beginning) {
	for _, b := range some {
		if b.open || len(b.text) >= maxBeginning {
			all = append(all, b)
			continue
		}
		for _, t := range then {
			all = append(all, beginning{text: b.text + t.text, word: b.word || b.text == "" && t.word, open: t.open})
		}
	}
	return all
}

// cases returns a character in all its cases, if they are the same.
func cases(r rune, fold bool) []beginning {
	all := []beginning{{text: string(toLower(r))}}
	if !fold {
		return all
	}
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		all = append(all, beginning{text: string(toLower(other))})
	}
	return all
}

// class returns the characters of ranges, each from one to another.
func class(ranges []rune) (all []beginning) {
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if all = append(all, beginning{text: string(toLower(r))}); len(all) > maxClass {
				return []beginning{{open: true}}
			}
		}
	}
	return all
}

func toLower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// next returns the next place from a place on where a match can begin, or -1.
func (b *beginnings) next(text string, from int) int {
	for i := from; i < len(text); i++ {
		for _, one := range b[lower(text[i])] {
			if one.word && text[i] < utf8.RuneSelf && i > 0 && inWord(text[i-1]) == inWord(text[i]) {
				continue
			}
			if len(text)-i >= len(one.text) && hasPrefix(text[i:], one.text) {
				return i
			}
		}
	}
	return -1
}

func hasPrefix(text, beginning string) bool {
	for i := range len(beginning) {
		if lower(text[i]) != beginning[i] {
			return false
		}
	}
	return true
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}

// inWord reports whether a byte is part of a word, as a regular expression sees it.
func inWord(b byte) bool {
	return 'a' <= lower(b) && lower(b) <= 'z' || '0' <= b && b <= '9' || b == '_'
}

// before returns the text from the character before a place on: it tells whether
// a word begins at the place.
func before(text string, place int) string {
	if place == 0 {
		return " " + text
	}
	_, n := utf8.DecodeLastRuneInString(text[:place])
	return text[place-n:]
}
