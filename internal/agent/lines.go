package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// The limits that bound the memory of a reader whatever a file holds.
const (
	longLine   = 1 << 20  // a longer line is taken with its long strings cut
	longString = 64 << 10 // what is kept of a string in such a line
	maxLine    = 8 << 20  // a line that is longer even so is skipped
)

// line is a physical line of a file, without its end.
type line struct {
	text    []byte // good until the next call
	number  int    // counted from 1
	offset  int64
	end     int64 // first byte of the next line
	stop    int64 // first byte after the text: the same before the line is ended
	torn    bool  // the file ends without an end of line
	skipped bool  // longer than can be held
}

// lines reads the lines of a file in bounded memory. Pasted pictures make
// lines of many megabytes; their strings are cut while they are read.
type lines struct {
	r      *bufio.Reader
	buf    []byte
	offset int64
	number int
}

func newLines(r io.Reader, offset int64, number int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), offset: offset, number: number}
}

// next returns the next line, or io.EOF.
func (l *lines) next() (line, error) {
	out := line{number: l.number + 1, offset: l.offset}
	l.buf = l.buf[:0]
	var cut *cutter
	for {
		chunk, err := l.r.ReadSlice('\n')
		l.offset += int64(len(chunk))
		switch {
		case err == nil && int64(len(chunk)) == l.offset-out.offset:
			return l.finish(out, chunk), nil // most lines are in the reader's buffer as a whole
		case out.skipped:
		case cut != nil:
			l.buf = cut.append(l.buf, chunk)
		case len(l.buf)+len(chunk) > longLine:
			cut = &cutter{}
			l.buf = cut.append(cut.append(nil, l.buf), chunk)
		default:
			l.buf = append(l.buf, chunk...)
		}
		if len(l.buf) > maxLine {
			out.skipped, l.buf = true, l.buf[:0]
		}
		switch {
		case err == nil:
			return l.finish(out, l.buf), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if l.offset == out.offset {
				return line{}, io.EOF
			}
			out.torn = true
			return l.finish(out, l.buf), nil
		default:
			return line{}, err
		}
	}
}

func (l *lines) finish(out line, text []byte) line {
	l.number++
	if out.offset == 0 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	out.text = bytes.TrimRight(text, "\r\n")
	out.end = l.offset
	out.stop = l.offset - int64(len(text)-len(out.text))
	if cap(l.buf) > 2*longLine {
		l.buf = nil
	}
	return out
}

// cutter copies JSON text and cuts its long strings. What was cut is told in
// their place, so that a reader can still say how large a picture was.
type cutter struct {
	inString bool
	escape   int // bytes of an escape sequence that are still to come
	length   int // bytes of the string so far
	dropped  int // bytes of it that were left out
}

// append appends the cut form of src to dst.
func (c *cutter) append(dst, src []byte) []byte {
	for len(src) > 0 {
		switch {
		case !c.inString:
			n := bytes.IndexByte(src, '"') + 1
			if n == 0 {
				return append(dst, src...)
			}
			dst, src = append(dst, src[:n]...), src[n:]
			*c = cutter{inString: true}
		case c.escape > 0:
			if c.escape--; src[0] == 'u' && c.escape == 0 {
				c.escape = -4
			}
			dst, src = c.keep(dst, src[:1]), src[1:]
		case c.escape < 0:
			c.escape++
			dst, src = c.keep(dst, src[:1]), src[1:]
		case src[0] == '"':
			if c.dropped > 0 {
				dst = fmt.Appendf(dst, cutFormat, c.dropped)
			}
			dst, src = append(dst, '"'), src[1:]
			c.inString = false
		case src[0] == '\\':
			c.escape = 1
			dst, src = c.text(dst, src[:1]), src[1:]
		default:
			n := plain(src)
			dst, src = c.text(dst, src[:n]), src[n:]
		}
	}
	return dst
}

// plain returns the length of the text that src begins with, up to a quote or
// a backslash.
func plain(src []byte) int {
	for i, b := range src {
		if b == '"' || b == '\\' {
			return i
		}
	}
	return len(src)
}

// text takes a part of a string at whose beginning, and between whose runes,
// the string can be cut.
func (c *cutter) text(dst, run []byte) []byte {
	n := min(max(0, longString-c.length), len(run))
	if c.dropped > 0 {
		n = 0
	} else {
		for n < len(run) && !utf8.RuneStart(run[n]) {
			n++
		}
	}
	c.length += n
	c.dropped += len(run) - n
	return append(dst, run[:n]...)
}

// keep takes the rest of what text took the beginning of.
func (c *cutter) keep(dst, part []byte) []byte {
	if c.dropped > 0 {
		c.dropped += len(part)
		return dst
	}
	c.length += len(part)
	return append(dst, part...)
}

const (
	cutFormat = "[... %d bytes cut ...]"
	cutOpen   = "[... "
	cutClose  = " bytes cut ...]"
)

// cutNote is the room for the note in a text that was cut.
const cutNote = 48

// Cap returns s if it is not longer than limit bytes, else its beginning and
// its end with a note between that says how many bytes are missing. The result
// is not longer than limit; where a note has no room, it is the beginning.
func Cap(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return capped(s, limit)
}

func capped[T string | []byte](s T, limit int) string {
	if len(s) <= limit {
		return string(s)
	}
	room := limit - cutNote
	if room < cutNote {
		return string(s[:runeStart(s, max(0, limit))])
	}
	head, tail := runeStart(s, room*3/4), len(s)-room/4
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return string(s[:head]) + "\n" + fmt.Sprintf(cutFormat, tail-head) + "\n" + string(s[tail:])
}

// runeStart returns the last place not after i where a rune of s begins.
func runeStart[T string | []byte](s T, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// DataSize returns how many bytes the base64 text b stands for, also if its
// line was too long to be kept whole.
func DataSize(b []byte) int64 {
	n := int64(len(b))
	if at := bytes.LastIndex(b, []byte(cutOpen)); at >= 0 && bytes.HasSuffix(b, []byte(cutClose)) {
		number := b[at+len(cutOpen) : len(b)-len(cutClose)]
		if dropped, err := strconv.ParseInt(string(number), 10, 64); err == nil {
			n = int64(at) + dropped
		}
	}
	return n * 3 / 4
}
