package channel

import (
	"strings"
	"unicode/utf8"
)

// Split divides a text into parts that a service takes: none is empty, or
// longer than limit by size, which counts as the service does and never counts a
// longer text as less. It divides at paragraphs if it can, else at lines, else
// at spaces, else between characters. Joined, they differ from the text in white
// space only.
func Split(text string, limit int, size func(string) int) []string {
	var parts []string
	for text = strings.TrimSpace(text); text != ""; {
		end := fitting(text, limit, size)
		if end < len(text) {
			end = gentle(text, end)
		}
		if part := strings.TrimRight(text[:end], " \t\r\n"); part != "" {
			parts = append(parts, part)
		}
		text = strings.TrimLeft(text[end:], " \t\r\n")
	}
	return parts
}

// fitting returns how many bytes of a text fit, at least one character.
func fitting(text string, limit int, size func(string) int) int {
	if size(text) <= limit {
		return len(text)
	}
	low, high := 0, len(text) // low fits, high does not
	for high-low > 1 {
		middle := (low + high) / 2
		for middle > low && !utf8.RuneStart(text[middle]) {
			middle--
		}
		if middle == low {
			middle = (low + high) / 2
			for middle < high && !utf8.RuneStart(text[middle]) {
				middle++
			}
			if middle == high {
				break
			}
		}
		if size(text[:middle]) <= limit {
			low = middle
		} else {
			high = middle
		}
	}
	if low == 0 {
		_, low = utf8.DecodeRuneInString(text)
	}
	return low
}

// gentle returns a better place to end than the last possible one, if there is
// one that does not waste half of a part.
func gentle(text string, end int) int {
	for _, at := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(text[:end], at); i > end/2 {
			return i + len(at)
		}
	}
	return end
}

// Bytes counts a text in bytes of UTF-8. Services count so, or as [Runes] or
// [Units] do.
func Bytes(s string) int { return len(s) }

// Runes counts characters.
func Runes(s string) int { return utf8.RuneCountInString(s) }

// Units counts units of UTF-16.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}
