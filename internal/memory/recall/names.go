package recall

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"ambry.dev/ambry/internal/memory/words"
)

// germanWords tell that a text is German, where every noun has a capital letter.
var germanWords = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`ist der das dem den des ein eine einen und wie wir haben hat welche welcher welches welchen wer warum
		wozu für zum zur im vom nicht wurde wird werden gibt auf mit bei`) {
		set[w] = true
	}
	return set
})

func german(text string) bool {
	for _, w := range strings.Fields(text) {
		if germanWords()[strings.ToLower(w)] {
			return true
		}
	}
	return false
}

// named reports whether a word is written like the name of something: with a
// capital letter that neither the sentence nor the language asks for.
func (b *builder) named(t words.Term) bool {
	word := b.text[t.Start:t.End]
	first, n := utf8.DecodeRuneInString(word)
	if strings.ContainsFunc(word[n:], unicode.IsUpper) {
		return true
	}
	before := strings.TrimRight(b.text[:t.Start], " \"'(")
	return unicode.IsUpper(first) && !b.nouns && before != "" && !strings.ContainsRune(".?!:", rune(before[len(before)-1]))
}

// unheard reports whether the question names something that no memory has ever
// heard of, of which r has not even a part.
func (r *ranked) unheard(a asked) bool {
	for i, u := range a.units {
		if u.name && u.known == 0 && r.look.alike[i] == 0 {
			return true
		}
	}
	return false
}
