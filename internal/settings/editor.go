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
	page          *page
	path          string
	section, name string // of the key
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

// look returns all the file's keys, and which of them is the section.
func (e *editor) look() (top mapping, section int, err error) {
	body, err := root(e.path, e.page.text())
	if err != nil || body == nil {
		return mapping{}, -1, err
	}
	top = mappingOf(body)
	return top, top.find(e.section), nil
}

// set gives the key a value.
func (e *editor) set(k kind, v value) error {
	top, i, err := e.look()
	if err != nil {
		return err
	}
	pair := e.name + ": " + k.yaml(v)
	if i < 0 {
		return e.addSection(top, pair)
	}
	inner := mappingOf(top.pairs[i].Value)
	n := inner.find(e.name)
	if n < 0 {
		return e.addKey(top, top.pairs[i], inner, pair)
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
		return e.addInside(top, e.section+": {"+pair+"}")
	}
	end := len(e.page.lines)
	for i, l := range e.page.lines {
		if l.text == "..." {
			end = i
		}
	}
	e.page.insert(end, e.section+":", "  "+pair)
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
	top, i, err := e.look()
	if err != nil || i < 0 {
		return err
	}
	inner := mappingOf(top.pairs[i].Value)
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
		e.removeEmpty(e.page.place(top.pairs[i].Key.GetToken()), first)
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
	if was == section.line+1 && !comment && strings.TrimRight(e.page.line(section.line), " \t") == e.section+":" {
		e.page.remove(section.line, section.line)
	}
}
