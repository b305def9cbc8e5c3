package settings

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// editor changes one key of a page that is valid. It knows the ways in which
// people write keys and values; what it makes of another one is for
// [rewrite] to find out.
type editor struct {
	page     *page
	path     string
	sections []string // of the key, the outer one first; one at least
	name     string
}

var errShape = errors.New("a shape that is not edited")

// mapping is some keys and values of the file.
type mapping struct {
	pairs       []*ast.MappingValueNode
	flow        bool // between braces
	open, close *token.Token
}

func mappingOf(n any) mapping {
	switch n := n.(type) {
	case *ast.MappingNode:
		return mapping{n.Values, n.IsFlowStyle, n.Start, n.End}
	case *ast.MappingValueNode:
		return mapping{pairs: []*ast.MappingValueNode{n}}
	}
	return mapping{}
}

// find returns the place of a key among the pairs, or -1.
func (m mapping) find(name string) int {
	for i, p := range m.pairs {
		if p.Key.GetToken().Value == name {
			return i
		}
	}
	return -1
}

// within is a section of the file, and what it is in.
type within struct {
	outer mapping
	pair  *ast.MappingValueNode
	inner mapping
}

// look returns all the file's keys, and those of the key's sections that there
// are, the outer one first.
func (e *editor) look() (top mapping, found []within, err error) {
	body, err := root(e.path, e.page.text())
	if err != nil || body == nil {
		return mapping{}, nil, err
	}
	top = mappingOf(body)
	for in := top; len(found) < len(e.sections); {
		i := in.find(e.sections[len(found)])
		if i < 0 {
			break
		}
		s := within{in, in.pairs[i], mappingOf(in.pairs[i].Value)}
		found, in = append(found, s), s.inner
	}
	return top, found, nil
}

// set gives the key a value. A section within a section is written on one line.
func (e *editor) set(k kind, v value) error {
	top, found, err := e.look()
	if err != nil {
		return err
	}
	pair := e.name + ": " + k.yaml(v)
	for depth := len(e.sections) - 1; depth > 0 && depth >= len(found); depth-- {
		pair = e.sections[depth] + ": {" + pair + "}"
	}
	if len(found) == 0 {
		return e.addSection(top, pair)
	}
	in := found[len(found)-1]
	if len(found) < len(e.sections) {
		return e.addKey(in.outer, in.pair, in.inner, pair)
	}
	inner := in.inner
	n := inner.find(e.name)
	if n < 0 {
		return e.addKey(in.outer, in.pair, inner, pair)
	}
	if items, ok := inner.pairs[n].Value.(*ast.SequenceNode); ok && !items.IsFlowStyle && k == list {
		return e.setItems(inner.pairs[n], items, v.list)
	}
	where, err := e.span(inner.pairs[n], inner.flow)
	if err != nil {
		return err
	}
	return e.page.put(where, k.yaml(v))
}

func (e *editor) addSection(top mapping, pair string) error {
	if top.flow {
		return e.addInside(top, e.sections[0]+": {"+pair+"}")
	}
	end := len(e.page.lines)
	for i, l := range e.page.lines {
		if l.text == "..." {
			end = i
		}
	}
	e.page.insert(end, e.sections[0]+":", "  "+pair)
	return nil
}

func (e *editor) addKey(top mapping, section *ast.MappingValueNode, inner mapping, pair string) error {
	key := e.page.place(section.Key.GetToken())
	switch null, isNull := section.Value.(*ast.NullNode); {
	case inner.flow:
		return e.addInside(inner, pair)
	case isNull:
		at := e.page.place(null.GetToken())
		if word := null.GetToken().Value; at.line == key.line && strings.HasPrefix(e.page.after(at), word) {
			return e.page.put(span{at, place{at.line, at.at + len(word)}}, "{"+pair+"}")
		}
		if top.flow {
			return errShape
		}
		e.page.insert(key.line+1, strings.Repeat(" ", key.at+2)+pair)
		return nil
	case len(inner.pairs) == 0:
		return errShape
	}
	last, err := e.span(inner.pairs[len(inner.pairs)-1], false)
	if err != nil {
		return err
	}
	first := e.page.place(inner.pairs[0].Key.GetToken())
	e.page.insert(last.to.line+1, strings.Repeat(" ", first.at)+pair)
	return nil
}

// addInside puts a pair at the end of a mapping between braces.
func (e *editor) addInside(m mapping, pair string) error {
	if len(m.pairs) == 0 {
		at := e.page.place(m.open)
		at.at++
		return e.page.put(span{at, at}, pair)
	}
	last, err := e.span(m.pairs[len(m.pairs)-1], true)
	if err != nil {
		return err
	}
	return e.page.put(span{last.to, last.to}, ", "+pair)
}

// setItems changes a list that has a line for each item: the lines of items
// that stay keep their comments.
func (e *editor) setItems(pair *ast.MappingValueNode, items *ast.SequenceNode, want []string) error {
	margin := e.page.line(e.page.place(items.Start).line)[:e.page.place(items.Start).at]
	kept, at := 0, e.page.place(items.Start).line
	var gone []int
	for _, item := range items.Values {
		line := e.page.place(item.GetToken()).line
		if v, err := text.read(item); err == nil && kept < len(want) && v.text == want[kept] {
			kept, at = kept+1, line+1
		} else {
			gone = append(gone, line)
		}
	}
	var lines []string
	for _, item := range want[kept:] {
		lines = append(lines, margin+"- "+quoted(item))
	}
	e.page.insert(at, lines...)
	for i := len(gone) - 1; i >= 0; i-- {
		line := gone[i]
		if line >= at {
			line += len(lines)
		}
		e.page.remove(line, line)
	}
	if len(want) > 0 {
		return nil
	}
	colon := e.page.place(pair.GetToken())
	colon.at++
	return e.page.put(span{colon, colon}, " []")
}

// unset takes the key out.
func (e *editor) unset() error {
	_, found, err := e.look()
	if err != nil {
		return err
	}
	if len(found) < len(e.sections) {
		return errShape
	}
	in := found[len(found)-1]
	inner := in.inner
	n := inner.find(e.name)
	if n < 0 {
		return errShape
	}
	if inner.flow {
		return e.removeInside(inner, n)
	}
	where, err := e.span(inner.pairs[n], false)
	if err != nil {
		return err
	}
	first := e.page.place(inner.pairs[n].Key.GetToken()).line
	e.page.remove(first, where.to.line)
	if len(inner.pairs) == 1 {
		e.removeEmpty(e.page.place(in.pair.Key.GetToken()), first)
	}
	return nil
}

// removeInside takes a pair out from between braces.
func (e *editor) removeInside(m mapping, n int) error {
	if len(m.pairs) == 1 {
		from := e.page.place(m.open)
		return e.page.put(span{place{from.line, from.at + 1}, e.page.place(m.close)}, "")
	}
	if n+1 < len(m.pairs) {
		return e.page.put(span{e.page.place(m.pairs[n].Key.GetToken()), e.page.place(m.pairs[n+1].Key.GetToken())}, "")
	}
	before, err := e.span(m.pairs[n-1], true)
	if err != nil {
		return err
	}
	own, err := e.span(m.pairs[n], true)
	if err != nil {
		return err
	}
	if strings.Contains(e.page.between(span{before.to, own.from}), "#") {
		return errShape // the comment may be of the pair before
	}
	return e.page.put(span{before.to, own.to}, "")
}

// removeEmpty takes out the line of a section whose only key was in line was,
// unless there is a comment with it.
func (e *editor) removeEmpty(section place, was int) {
	next := e.page.line(was)
	comment := quiet(next) && indent(next) > section.at
	if was == section.line+1 && !comment && strings.Trim(e.page.line(section.line), " \t") == e.sections[len(e.sections)-1]+":" {
		e.page.remove(section.line, section.line)
	}
}
