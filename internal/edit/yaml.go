package edit

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// yamlDoc is a YAML document. What it says is decoded by a library; where
// things are is found by indentation.
type yamlDoc struct {
	text    []byte
	decoded any
	lines   []yamlLine
}

// yamlLine is a line that says something: no comment, not empty.
type yamlLine struct {
	from, to int // without its line break
	indent   int
}

// flowStyle is how values stand between braces.
var flowStyle = layout{colon: ": ", comma: ", ", bare: true}

func parseYAML(text []byte) (*yamlDoc, error) {
	decoded, err := decodeYAML(trimBOM(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	d := &yamlDoc{text: text, decoded: decoded}
	begun := false
	for at := len(text) - len(trimBOM(text)); at < len(text); at = nextLine(text, at) {
		line := yamlLine{from: at, to: lineEnd(text, at)}
		said := string(text[line.from:line.to])
		trimmed := strings.TrimLeft(said, " ")
		line.indent = len(said) - len(trimmed)
		switch {
		case strings.TrimSpace(said) == "" || trimmed[0] == '#':
		case line.indent == 0 && (said == "---" || strings.HasPrefix(said, "--- ")):
			if begun || said != "---" {
				return nil, ErrShape // a second document, or one that begins on this line
			}
			begun = true
		case line.indent == 0 && (said == "..." || said[0] == '%'):
		default:
			d.lines, begun = append(d.lines, line), true
		}
	}
	return d, nil
}

func decodeYAML(text []byte) (tree any, err error) {
	defer func() {
		if r := recover(); r != nil { // the library has no fault of its own to lose to us
			err = errors.New("it cannot be read")
		}
	}()
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, errors.New("line " + faultLine(err))
	}
	if tree == nil {
		return map[string]any{}, nil
	}
	return tidy(tree), nil
}

var faultAt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[(\d+):\d+\] ([^\n]*)`) })

// faultLine is the line and the reason of an error, without the text around.
func faultLine(err error) string {
	if m := faultAt().FindStringSubmatch(err.Error()); m != nil {
		return m[1] + ": " + m[2]
	}
	return "unknown"
}

func (d *yamlDoc) tree() any { return d.decoded }

// yamlPair is a key with what stands below it, or an item of a list.
type yamlPair struct {
	key         string
	first, last int // lines
	colon       int // after the colon, or after the dash
	value       int // where the value begins on the line of its key, -1 if it does not
}

var yamlKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s"'#&*!|>{}\[\],%@` + "`" + `?-][^\s]*?(?:[ \t]+[^\s#][^\s]*?)*?))[ \t]*:(?:[ \t]|$)`)
})

// pairs returns the keys of the block of lines [first, last], or its items.
func (d *yamlDoc) pairs(first, last int, items bool) (all []yamlPair) {
	if first > last {
		return nil
	}
	indent := d.lines[first].indent
	for i := first; i <= last; i++ {
		line := d.lines[i]
		said := string(d.text[line.from+line.indent : line.to])
		p := yamlPair{first: i, last: i, value: -1}
		starts := line.indent == indent
		if items {
			starts = starts && (said == "-" || strings.HasPrefix(said, "- "))
			p.colon = line.from + line.indent + 1
		} else if m := yamlKey().FindStringSubmatchIndex(said); starts && m != nil && !isItem(said) {
			p.colon = line.from + line.indent + strings.LastIndexByte(said[:m[1]], ':') + 1
			p.key = yamlKeyText(yamlKey().FindStringSubmatch(said))
		} else {
			starts = false
		}
		if !starts {
			if len(all) > 0 {
				all[len(all)-1].last = i
			}
			continue
		}
		if rest := strings.TrimLeft(string(d.text[p.colon:line.to]), " \t"); rest != "" && rest[0] != '#' {
			p.value = line.to - len(rest)
		}
		all = append(all, p)
	}
	return all
}

func isItem(said string) bool { return said == "-" || strings.HasPrefix(said, "- ") }

func yamlKeyText(m []string) string {
	switch {
	case m[1] != "":
		if tree, err := decodeYAML([]byte("k: \"" + m[1] + "\"")); err == nil {
			s, _ := tree.(map[string]any)["k"].(string)
			return s
		}
		return m[1]
	case m[2] != "":
		return strings.ReplaceAll(m[2], "''", "'")
	}
	return m[3]
}

// spot is a place in the document: a block of keys, a value between braces, or
// the key of something else.
type spot struct {
	pair  *yamlPair // nil for the root
	first int       // the lines of the block
	last  int
	kind  byte  // 'm' block of keys, 's' list of items, 'f' in braces, '0' nothing, 'v' the rest
	node  *node // of kind f
}

// find goes down a path. It returns the deepest spot that is there, and what of
// the path is left.
func (d *yamlDoc) find(path []string) (spot, []string) {
	at := spot{first: 0, last: len(d.lines) - 1, kind: 'm'}
	if len(d.lines) == 0 {
		at.kind = '0'
	} else if c := d.text[d.lines[0].from+d.lines[0].indent]; c == '{' || c == '[' {
		at = d.flow(nil, d.lines[0].from+d.lines[0].indent)
	}
	for len(path) > 0 {
		switch at.kind {
		case 'm':
			var found *yamlPair
			for _, p := range d.pairs(at.first, at.last, false) {
				if p.key == path[0] {
					found = &p
				}
			}
			if found == nil {
				return at, path
			}
			at = d.spot(found)
		case 'f':
			i := at.node.field(path[0])
			if at.node.kind != '{' || i < 0 {
				return at, path
			}
			at = spot{pair: at.pair, kind: 'f', node: at.node.parts[i].value}
		default:
			return at, path
		}
		path = path[1:]
	}
	return at, nil
}

// spot returns what a pair has as its value.
func (d *yamlDoc) spot(p *yamlPair) spot {
	at := spot{pair: p, first: p.first + 1, last: p.last, kind: 'v'}
	begin := p.value
	for begin >= 0 && (d.text[begin] == '&' || d.text[begin] == '!') { // names and tags
		rest := d.text[begin:d.lines[p.first].to]
		n := bytes.IndexAny(rest, " \t")
		if n < 0 {
			begin = -1
			break
		}
		begin += n + len(rest[n:]) - len(bytes.TrimLeft(rest[n:], " \t"))
		if begin < d.lines[p.first].to && d.text[begin] == '#' {
			begin = -1
		}
	}
	switch {
	case begin < 0 && at.first > at.last:
		at.kind = '0'
	case begin < 0:
		line := d.lines[at.first]
		said := string(d.text[line.from+line.indent : line.to])
		at.kind = 'm'
		if isItem(said) {
			at.kind = 's'
		} else if said[0] == '{' || said[0] == '[' {
			return d.flow(p, line.from+line.indent)
		}
	case d.text[begin] == '{' || d.text[begin] == '[':
		return d.flow(p, begin)
	}
	return at
}

// flow reads a value between braces.
func (d *yamlDoc) flow(p *yamlPair, at int) spot {
	s := &flowScanner{text: d.text, at: at}
	n := s.value(0)
	if n == nil || n.kind == 'v' {
		return spot{pair: p, kind: 'v'}
	}
	return spot{pair: p, kind: 'f', node: n}
}
