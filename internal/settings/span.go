package settings

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// span returns where the value of a pair is written. With flow the pair stands
// between braces.
func (e *editor) span(pair *ast.MappingValueNode, flow bool) (span, error) {
	t := pair.Value.GetToken()
	from := e.page.place(t)
	switch n := pair.Value.(type) {
	case *ast.StringNode:
		if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
			return e.quotedSpan(from)
		}
		return e.plainSpan(pair, from, flow)
	case *ast.IntegerNode, *ast.FloatNode:
		return e.plainSpan(pair, from, flow)
	case *ast.LiteralNode:
		return e.belowSpan(pair, from, flow)
	case *ast.SequenceNode:
		if n.IsFlowStyle {
			return e.bracketSpan(n.Start, n.End)
		}
		return e.belowSpan(pair, from, flow)
	case *ast.MappingNode:
		if n.IsFlowStyle {
			return e.bracketSpan(n.Start, n.End)
		}
	}
	return span{}, errShape
}

func (e *editor) bracketSpan(open, close *token.Token) (span, error) {
	if close == nil {
		return span{}, errShape
	}
	to := e.page.place(close)
	to.at++
	return span{e.page.place(open), to}, nil
}

// plainSpan is of a text without quotes.
func (e *editor) plainSpan(pair *ast.MappingValueNode, from place, flow bool) (span, error) {
	word := pair.Value.GetToken().Value
	if strings.HasPrefix(e.page.after(from), word) {
		return span{from, place{from.line, from.at + len(word)}}, nil
	}
	s, err := e.belowSpan(pair, from, flow) // it goes on in the next line
	if comment := strings.Index(e.page.line(s.to.line), " #"); err == nil && comment > 0 {
		s.to.at = comment
	}
	return s, err
}

// quotedSpan is of a text in quotes, which may go on over several lines.
func (e *editor) quotedSpan(from place) (span, error) {
	if e.page.after(from) == "" {
		return span{}, errShape
	}
	quote := e.page.after(from)[0]
	for at := (place{from.line, from.at + 1}); at.line < len(e.page.lines); at = (place{line: at.line + 1}) {
		for text := e.page.line(at.line); at.at < len(text); at.at++ {
			switch c := text[at.at]; {
			case c == '\\' && quote == '"':
				at.at++
			case c == quote && quote == '\'' && strings.HasPrefix(text[at.at+1:], "'"):
				at.at++
			case c == quote:
				return span{from, place{at.line, at.at + 1}}, nil
			}
		}
	}
	return span{}, errShape
}

// belowSpan is of a value that is written over the lines below its key: those
// that are indented more than the key, and for a list also those as much.
func (e *editor) belowSpan(pair *ast.MappingValueNode, from place, flow bool) (span, error) {
	if flow {
		return span{}, errShape
	}
	_, items := pair.Value.(*ast.SequenceNode)
	_, literal := pair.Value.(*ast.LiteralNode)
	key := e.page.place(pair.Key.GetToken())
	last := from.line
	for i := key.line + 1; i < len(e.page.lines); i++ {
		text := e.page.line(i)
		deeper := indent(text) > key.at || items && indent(text) == key.at && strings.HasPrefix(text[key.at:], "-")
		if strings.TrimSpace(text) == "" || quiet(text) && !(literal && deeper) {
			continue
		}
		if !deeper {
			break
		}
		last = i
	}
	return span{from, place{last, len(e.page.line(last))}}, nil
}
