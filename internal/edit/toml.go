package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tomlDoc is a TOML document with its places in the text.
type tomlDoc struct {
	text     []byte
	decoded  any
	sections []section // the first one has no header
}

// section is what stands below a header.
type section struct {
	path     []string
	list     bool // the header is [[path]]
	from, to int  // from its header to the end of the last line that says something
	pairs    []pair
}

// pair is a line of a section.
type pair struct {
	keys  []string
	from  int
	value *node
}

// onOneLine is how values stand within a line of TOML.
var onOneLine = layout{colon: " = ", comma: ", ", open: " ", bare: true}

func parseTOML(text []byte) (*tomlDoc, error) {
	var decoded map[string]any
	if err := toml.Unmarshal(trimBOM(text), &decoded); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if decoded == nil {
		decoded = map[string]any{}
	}
	d := &tomlDoc{text: text, decoded: tidy(decoded)}
	return d, d.scan()
}

func trimBOM(text []byte) []byte {
	if len(text) >= len(bom) && string(text[:len(bom)]) == string(bom) {
		return text[len(bom):]
	}
	return text
}

func (d *tomlDoc) tree() any { return d.decoded }

// inline returns the value at a path that is written on the right of a key, or
// within such a value.
func (d *tomlDoc) inline(path []string) *node {
	for _, s := range d.sections {
		if s.list {
			continue
		}
		for _, p := range s.pairs {
			full := slices.Concat(s.path, p.keys)
			if len(full) <= len(path) && slices.Equal(full, path[:len(full)]) {
				if n := p.value.descend(path[len(full):]); n != nil {
					return n
				}
			}
		}
	}
	return nil
}

func (n *node) descend(path []string) *node {
	for len(path) > 0 {
		i := n.field(path[0])
		if n.kind != '{' || i < 0 {
			return nil
		}
		n, path = n.parts[i].value, path[1:]
	}
	return n
}

// header returns the section of a table.
func (d *tomlDoc) header(path []string) *section {
	for i := range d.sections {
		if s := &d.sections[i]; !s.list && slices.Equal(s.path, path) {
			return s
		}
	}
	return nil
}

// items returns the sections [[path]].
func (d *tomlDoc) items(path []string) (all []section) {
	for _, s := range d.sections {
		if s.list && slices.Equal(s.path, path) {
			all = append(all, s)
		}
	}
	return all
}

func (d *tomlDoc) insert(path []string, value any) (Change, error) {
	for k := len(path) - 1; k > 0; k-- { // as deep as there is something
		nested := value
		for i := len(path) - 1; i > k; i-- {
			nested = Object{{path[i], nested}}
		}
		if n := d.inline(path[:k]); n != nil {
			if n.kind != '{' {
				return Change{}, ErrShape
			}
			return d.json().append(n, onOneLine.key(path[k])+" = "+onOneLine.value(nested, ""), onOneLine, ""), nil
		}
		if after, rest := d.dotted(path, k); after > 0 {
			return d.line(after, dottedKey(rest)+" = "+onOneLine.value(value, "")), nil
		}
		if s := d.header(path[:k]); s != nil && !isTable(value) && k == len(path)-1 {
			return d.line(s.to, onOneLine.key(path[k])+" = "+onOneLine.value(value, "")), nil
		}
	}
	if !isTable(value) && len(path) == 1 {
		return d.line(d.sections[0].to, onOneLine.key(path[0])+" = "+onOneLine.value(value, "")), nil
	}
	return d.section(path, value)
}

// isTable reports whether a value gets a header of its own.
func isTable(value any) bool {
	switch v := value.(type) {
	case Object:
		return true
	case []any:
		_, ok := v[0].(Object)
		return ok
	}
	return false
}

// dotted returns where the last line ends that defines the table path[:k] with
// a dotted key, and path as it is seen from there; 0 if there is none.
func (d *tomlDoc) dotted(path []string, k int) (after int, rest []string) {
	for _, s := range d.sections {
		for _, p := range s.pairs {
			full := slices.Concat(s.path, p.keys)
			if !s.list && len(s.path) < k && len(full) > k && slices.Equal(full[:k], path[:k]) {
				after, rest = nextLine(d.text, p.value.to), path[len(s.path):]
			}
		}
	}
	return after, rest
}

func dottedKey(path []string) string {
	keys := make([]string, 0, len(path))
	for _, key := range path {
		keys = append(keys, onOneLine.key(key))
	}
	return strings.Join(keys, ".")
}

// line writes a line at a place where one begins, or at the end.
func (d *tomlDoc) line(at int, written string) Change {
	nl := newline(d.text)
	if at > 0 && d.text[at-1] != '\n' && !(at == len(bom) && len(trimBOM(d.text)) < len(d.text)) {
		return Change{At: at, New: nl + written}
	}
	return Change{At: at, New: written + nl}
}

// section writes a table with its header at the end.
func (d *tomlDoc) section(path []string, value any) (Change, error) {
	nl, open, end := newline(d.text), "[", "]"
	switch v := value.(type) {
	case []any:
		if len(v) != 1 {
			return Change{}, ErrShape
		}
		value, open, end = v[0], "[[", "]]"
	case Object:
	default:
		value, path = Object{{path[len(path)-1], value}}, path[:len(path)-1]
	}
	lead := ""
	if rest := trimBOM(d.text); len(rest) > 0 {
		lead = nl
		if rest[len(rest)-1] != '\n' {
			lead += nl
		}
	}
	written := open + dottedKey(path) + end + nl + d.fields(value, nl)
	return Change{At: len(d.text), New: lead + written}, nil
}

func (d *tomlDoc) fields(value any, nl string) string {
	var b strings.Builder
	for _, f := range value.(Object) {
		b.WriteString(onOneLine.key(f.Key) + " = " + onOneLine.value(f.Value, "") + nl)
	}
	return b.String()
}

// json is the document as that of values on one line.
func (d *tomlDoc) json() *jsonDoc { return &jsonDoc{text: d.text} }

func (d *tomlDoc) replace(path []string, value any) (Change, error) {
	n := d.inline(path)
	if n == nil {
		return Change{}, ErrShape
	}
	return Change{At: n.from, Old: string(d.text[n.from:n.to]), New: onOneLine.value(value, "")}, nil
}

func (d *tomlDoc) add(path []string, value any) (Change, error) {
	if n := d.inline(path); n != nil {
		if n.kind != '[' {
			return Change{}, ErrShape
		}
		return d.json().append(n, onOneLine.value(value, ""), onOneLine, ""), nil
	}
	return d.section(path, []any{value})
}

func (d *tomlDoc) replaceItem(path []string, i int, value any) (Change, error) {
	if n := d.inline(path); n != nil && n.kind == '[' && i < len(n.parts) {
		n = n.parts[i].value
		return Change{At: n.from, Old: string(d.text[n.from:n.to]), New: onOneLine.value(value, "")}, nil
	}
	items := d.items(path)
	object, ok := value.(Object)
	if !ok || i >= len(items) {
		return Change{}, ErrShape
	}
	s := items[i]
	nl := newline(d.text)
	written := "[[" + dottedKey(path) + "]]" + nl + d.fields(object, nl)
	old := string(d.text[s.from:s.to])
	if !strings.HasSuffix(old, "\n") {
		written = strings.TrimSuffix(written, nl)
	}
	return Change{At: s.from, Old: old, New: written}, nil
}

func (d *tomlDoc) remove(path []string) (Change, error) {
	for i, s := range d.sections {
		if i > 0 && len(s.path) >= len(path) && slices.Equal(s.path[:len(path)], path) {
			return d.cut(s), nil
		}
		for _, p := range s.pairs {
			full := slices.Concat(s.path, p.keys)
			switch {
			case s.list:
			case len(full) >= len(path) && slices.Equal(full[:len(path)], path):
				from := lineStart(d.text, p.from)
				return Change{At: from, Old: string(d.text[from:nextLine(d.text, p.value.to)])}, nil
			case slices.Equal(full, path[:min(len(full), len(path))]):
				parent := p.value.descend(path[len(full) : len(path)-1])
				if parent == nil || parent.field(path[len(path)-1]) < 0 {
					continue
				}
				return d.json().take(parent, parent.field(path[len(path)-1])), nil
			}
		}
	}
	return Change{}, ErrShape
}

func (d *tomlDoc) removeItem(path []string, i int) (Change, error) {
	if n := d.inline(path); n != nil && n.kind == '[' && i < len(n.parts) {
		return d.json().take(n, i), nil
	}
	if items := d.items(path); i < len(items) {
		return d.cut(items[i]), nil
	}
	return Change{}, ErrShape
}

// cut takes out a section, with the empty line above it.
func (d *tomlDoc) cut(s section) Change {
	from := s.from
	above := strings.TrimSuffix(strings.TrimSuffix(string(d.text[:from]), "\n"), "\r")
	if len(above) < from && (above == "" || strings.HasSuffix(above, "\n")) {
		from = len(above)
	}
	return Change{At: from, Old: string(d.text[from:s.to])}
}

func parseTOMLTree(text string) (tree map[string]any, err error) {
	err = toml.Unmarshal([]byte(text), &tree)
	return tree, err
}
