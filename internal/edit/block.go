package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// Block is the marks between which a text of ours stands in a file. Each is on
// a line of its own.
type Block struct{ Begin, End string }

// Markdown marks a block in a file of Markdown; who reads it shown does not see
// the marks.
var Markdown = Block{"<!-- ambry:begin -->", "<!-- ambry:end -->"}

// Put returns a change that makes content what stands between the marks. Where
// there are none the block is written at the end.
func (b Block) Put(text []byte, content string) (Change, error) {
	from, to, err := b.find(text)
	if err != nil {
		return Change{}, err
	}
	nl := newline(text)
	whole := b.Begin + "\n" + strings.TrimRight(content, "\n") + "\n" + b.End
	whole = strings.ReplaceAll(whole, "\n", nl)
	if from >= 0 {
		return Change{At: from, Old: string(text[from:to]), New: whole}, nil
	}
	lead := ""
	switch {
	case len(text) == 0 || bytes.Equal(text, bom):
	case bytes.HasSuffix(text, []byte("\n")):
		lead = nl
	default:
		lead = nl + nl
	}
	return Change{At: len(text), New: lead + whole + nl}, nil
}

// Drop returns a change that takes the block out, and nothing if there is none.
func (b Block) Drop(text []byte) (Change, error) {
	from, to, err := b.find(text)
	if err != nil || from < 0 {
		return Change{}, err
	}
	to = nextLine(text, to)
	if above := bytes.TrimSuffix(bytes.TrimSuffix(text[:from], []byte("\n")), []byte("\r")); len(above) < from &&
		(len(above) == 0 || above[len(above)-1] == '\n') {
		from = len(above) // the empty line that we wrote above
	}
	return Change{At: from, Old: string(text[from:to])}, nil
}

// find returns where the block is, from its first mark to the end of its last,
// or -1.
func (b Block) find(text []byte) (from, to int, err error) {
	from, to = -1, -1
	for at := 0; at < len(text); at = nextLine(text, at) {
		switch line := strings.TrimPrefix(string(text[at:lineEnd(text, at)]), string(bom)); {
		case line == b.Begin && from < 0:
			from = at
			if bytes.HasPrefix(text[at:], bom) {
				from += len(bom)
			}
		case line == b.End && from >= 0 && to < 0:
			to = lineEnd(text, at)
		case line == b.Begin || line == b.End:
			return -1, -1, fmt.Errorf("%w: line %d: a mark of our block stands where none belongs", ErrShape, 1+bytes.Count(text[:at], []byte("\n")))
		}
	}
	if from >= 0 && to < 0 {
		return -1, -1, fmt.Errorf("%w: our block has no end", ErrShape)
	}
	return from, to, nil
}
