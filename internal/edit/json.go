package edit

import (
	"bytes"
	"strings"
)

// jsonDoc is a JSON document with its places in the text.
type jsonDoc struct {
	text []byte
	root *node // nil if there is nothing but blanks and comments
}

// node is a value of a JSON document.
type node struct {
	kind     byte // '{', '[', '"' or 'v' for the rest
	from, to int
	value    any // of what is no object and no list
	parts    []part
	trailing bool // a comma stands after the last part
}

// part is a field of an object or an item of a list.
type part struct {
	key   string
	from  int // where its key begins, or its value
	value *node
	comma int // where the comma after it is, -1 if there is none
}

func (d *jsonDoc) tree() any { return d.root.tree() }

func (n *node) tree() any {
	switch {
	case n == nil:
		return nil
	case n.kind == '{':
		object := make(map[string]any, len(n.parts))
		for _, p := range n.parts {
			object[p.key] = p.value.tree() // of two with a name the last one counts
		}
		return object
	case n.kind == '[':
		list := make([]any, 0, len(n.parts))
		for _, p := range n.parts {
			list = append(list, p.value.tree())
		}
		return list
	}
	return n.value
}

// field returns the index of the field with a name, -1 if there is none.
func (n *node) field(key string) int {
	for i := len(n.parts) - 1; i >= 0; i-- {
		if n.parts[i].key == key {
			return i
		}
	}
	return -1
}

// find goes down a path as far as there are objects. It returns the last one
// and what of the path is left.
func (d *jsonDoc) find(path []string) (*node, []string) {
	at := d.root
	for len(path) > 0 && at != nil && at.kind == '{' {
		i := at.field(path[0])
		if i < 0 || len(path) > 1 && at.parts[i].value.kind != '{' {
			break
		}
		if len(path) == 1 {
			return at, path
		}
		at, path = at.parts[i].value, path[1:]
	}
	return at, path
}

func (d *jsonDoc) at(path []string) *node {
	if len(path) == 0 {
		return d.root
	}
	object, rest := d.find(path)
	if object == nil || object.kind != '{' || len(rest) != 1 {
		return nil
	}
	if i := object.field(rest[0]); i >= 0 {
		return object.parts[i].value
	}
	return nil
}

func (d *jsonDoc) insert(path []string, value any) (Change, error) {
	object, rest := d.find(path)
	for i := len(rest) - 1; i > 0; i-- {
		value = Object{{rest[i], value}}
	}
	if object == nil {
		return d.document(Object{{rest[0], value}}), nil
	}
	if object.kind != '{' {
		return Change{}, ErrShape
	}
	if i := object.field(rest[0]); i >= 0 {
		return d.overwrite(object.parts[i].value, object, value), nil // null is there
	}
	l, inner := d.layout(object)
	return d.append(object, quote(rest[0])+l.colon+l.value(value, inner), l, inner), nil
}

// document is the first value of a text that has none.
func (d *jsonDoc) document(value Object) Change {
	l := layout{nl: newline(d.text), unit: "  ", colon: ": "}
	written, at := l.value(value, "")+l.nl, len(d.text)
	if at > 0 && !bytes.HasSuffix(d.text, []byte("\n")) && !bytes.Equal(d.text, bom) {
		written = l.nl + written
	}
	return Change{At: at, New: written}
}

func (d *jsonDoc) replace(path []string, value any) (Change, error) {
	object, rest := d.find(path)
	at := d.at(path)
	if at == nil || len(rest) != 1 {
		return Change{}, ErrShape
	}
	return d.overwrite(at, object, value), nil
}

func (d *jsonDoc) overwrite(at, parent *node, value any) Change {
	l, inner := d.layout(parent)
	return Change{At: at.from, Old: string(d.text[at.from:at.to]), New: l.value(value, inner)}
}

func (d *jsonDoc) add(path []string, value any) (Change, error) {
	list := d.at(path)
	if list == nil || list.kind != '[' {
		return Change{}, ErrShape
	}
	l, inner := d.layout(list)
	return d.append(list, l.value(value, inner), l, inner), nil
}

func (d *jsonDoc) replaceItem(path []string, i int, value any) (Change, error) {
	list := d.at(path)
	if list == nil || list.kind != '[' || i >= len(list.parts) {
		return Change{}, ErrShape
	}
	return d.overwrite(list.parts[i].value, list, value), nil
}

func (d *jsonDoc) remove(path []string) (Change, error) {
	object, rest := d.find(path)
	if object == nil || object.kind != '{' || len(rest) != 1 {
		return Change{}, ErrShape
	}
	i := object.field(rest[0])
	if i < 0 {
		return Change{}, ErrShape
	}
	return d.take(object, i), nil
}

func (d *jsonDoc) removeItem(path []string, i int) (Change, error) {
	list := d.at(path)
	if list == nil || list.kind != '[' || i >= len(list.parts) {
		return Change{}, ErrShape
	}
	return d.take(list, i), nil
}

// append writes one more part into an object or list.
func (d *jsonDoc) append(n *node, written string, l layout, inner string) Change {
	lead := l.nl + inner
	if l.nl == "" {
		lead = ""
	}
	if len(n.parts) == 0 {
		inside := string(d.text[n.from+1 : n.to-1])
		if strings.TrimSpace(inside) != "" { // comments stay where they are
			return Change{At: n.from + 1, New: lead + written}
		}
		end := strings.TrimSuffix(lead, l.unit)
		if l.nl == "" {
			lead, end = l.open, l.open
		}
		return Change{At: n.from, Old: string(d.text[n.from:n.to]), New: string(d.text[n.from]) + lead + written + end + string(d.text[n.to-1])}
	}
	last := n.parts[len(n.parts)-1]
	from := last.value.to
	if l.nl == "" {
		space := strings.TrimPrefix(l.comma, ",")
		if n.trailing {
			return Change{At: last.comma + 1, New: space + written + ","}
		}
		return Change{At: from, New: "," + space + written}
	}
	rest := d.sameLine(from, n.to-1)
	if n.trailing {
		return Change{At: from, Old: rest, New: rest + lead + written + ","}
	}
	return Change{At: from, Old: rest, New: "," + rest + lead + written}
}

// sameLine is what stands from a place up to the end of its line, or to an end
// before it: a comma, blanks and comments. A comment over several lines that
// begins there is part of it.
func (d *jsonDoc) sameLine(from, end int) string {
	at := from
	for at < end && d.text[at] != '\n' && d.text[at] != '\r' {
		switch {
		case bytes.HasPrefix(d.text[at:end], []byte("/*")):
			n := bytes.Index(d.text[at:end], []byte("*/"))
			if n < 0 {
				return string(d.text[from:at])
			}
			at += n + 2
		case bytes.HasPrefix(d.text[at:end], []byte("//")):
			at = min(lineEnd(d.text, at), end)
		default:
			at++
		}
	}
	for at > from && (d.text[at-1] == ' ' || d.text[at-1] == '\t') && at == end {
		at--
	}
	return string(d.text[from:at])
}

// take removes a part of an object or list, with the comma that belongs to it.
func (d *jsonDoc) take(n *node, i int) Change {
	p := n.parts[i]
	if len(n.parts) == 1 && strings.Trim(string(d.text[n.from+1:p.from])+string(d.text[p.value.to:n.to-1]), " \t\r\n,") == "" {
		return Change{At: n.from + 1, Old: string(d.text[n.from+1 : n.to-1])}
	}
	from, to := p.from, p.value.to
	if p.comma >= 0 {
		to = p.comma + 1
	}
	start := len(bytes.TrimRight(d.text[:from], " \t"))
	onLine := start == 0 || d.text[start-1] == '\n'
	if onLine && start > 0 {
		start--
		if start > 0 && d.text[start-1] == '\r' {
			start--
		}
	}
	if !onLine && i+1 < len(n.parts) { // a, b, c on one line: up to what follows
		return Change{At: from, Old: string(d.text[from:n.parts[i+1].from])}
	}
	if i+1 < len(n.parts) || i == 0 || p.comma >= 0 {
		if !onLine && i == 0 {
			start = from
		}
		return Change{At: start, Old: string(d.text[start:to])}
	}
	comma := n.parts[i-1].comma // the last one, without a comma: that before it goes
	start = max(start, comma+1)
	return Change{At: comma, Old: string(d.text[comma:to]), New: string(d.text[comma+1 : start])}
}

// layout is how the parts of an object or list are written, and the margin of
// their lines.
func (d *jsonDoc) layout(n *node) (l layout, inner string) {
	l = layout{nl: newline(d.text), unit: d.unit(), colon: ": ", comma: ", "}
	root := d.root
	outer := margin(d.text, n.from)
	inner = outer + l.unit
	oneLine := bytes.IndexByte(d.text[root.from:root.to], '\n') < 0 && len(root.parts) > 0
	if len(n.parts) > 0 {
		first := n.parts[0]
		gap := d.text[n.from+1 : first.from]
		after := d.text[n.parts[len(n.parts)-1].value.to:n.to]
		oneLine = bytes.IndexByte(gap, '\n') < 0 && bytes.IndexByte(after, '\n') < 0
		if bytes.IndexByte(gap, '\n') >= 0 {
			inner = margin(d.text, first.from)
		}
		if oneLine && len(gap) > 0 && strings.TrimSpace(string(gap)) == "" {
			l.open = " "
		}
	}
	if !oneLine {
		return l, inner
	}
	l.nl = ""
	if first, ok := firstField(n, root); ok {
		key := d.text[first.from:first.value.from]
		if i := bytes.LastIndexByte(key, ':'); i >= 0 && i == len(key)-1 {
			l.colon, l.comma = ":", ","
		}
	}
	return l, ""
}

// firstField is the first field of an object, or else of the document.
func firstField(n, root *node) (part, bool) {
	for _, object := range []*node{n, root} {
		if object.kind == '{' && len(object.parts) > 0 {
			return object.parts[0], true
		}
	}
	return part{}, false
}

// unit is one step of indentation: that of the first part that is on a line of
// its own.
func (d *jsonDoc) unit() string {
	if d.root != nil && len(d.root.parts) > 0 {
		outer, inner := margin(d.text, d.root.from), margin(d.text, d.root.parts[0].from)
		if step, ok := strings.CutPrefix(inner, outer); ok && step != "" {
			return step
		}
	}
	return "  "
}
