package edit

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// json is the document as that of values in braces.
func (d *yamlDoc) json() *jsonDoc { return &jsonDoc{text: d.text} }

func (d *yamlDoc) insert(path []string, value any) (Change, error) {
	at, rest := d.find(path)
	if len(rest) == 0 { // the key is there and has nothing
		if at.kind != '0' || at.pair == nil {
			return d.replace(path, value)
		}
		return d.below(at.pair, value), nil
	}
	for i := len(rest) - 1; i > 0; i-- {
		value = Object{{rest[i], value}}
	}
	switch at.kind {
	case 'f':
		if at.node.kind != '{' {
			return Change{}, ErrShape
		}
		return d.json().append(at.node, flowStyle.key(rest[0])+": "+flowStyle.value(value, ""), flowStyle, ""), nil
	case 'm':
		margin := strings.Repeat(" ", d.lines[at.first].indent)
		return d.after(d.lines[at.last].to, d.block(Object{{rest[0], value}}, margin)), nil
	case '0':
		if at.pair == nil {
			return d.after(len(d.text), d.block(Object{{rest[0], value}}, "")), nil
		}
		return d.below(at.pair, Object{{rest[0], value}}), nil
	case 'v':
		if null := d.null(at); null != "" {
			return Change{At: at.pair.value, Old: null, New: flowStyle.value(Object{{rest[0], value}}, "")}, nil
		}
	}
	return Change{}, ErrShape
}

// null returns how a value is written that is null in so many words, else "".
func (d *yamlDoc) null(at spot) string {
	said, _, _ := strings.Cut(string(d.text[at.pair.value:d.lines[at.pair.first].to]), " #")
	switch said = strings.TrimRight(said, " \t"); said {
	case "~", "null", "Null", "NULL":
		return said
	}
	return ""
}

// below writes a value on the lines below a key that has none.
func (d *yamlDoc) below(p *yamlPair, value any) Change {
	line := d.lines[p.first]
	margin := strings.Repeat(" ", line.indent) + d.unit()
	switch value.(type) {
	case Object, []any:
		return d.after(line.to, d.block(value, margin))
	}
	return Change{At: p.colon, New: " " + yamlValue(value)}
}

// after writes lines after the one that ends at a place.
func (d *yamlDoc) after(at int, written string) Change {
	nl := newline(d.text)
	written = strings.ReplaceAll(written, "\n", nl)
	next := nextLine(d.text, at)
	if next > at && d.text[next-1] == '\n' || at == len(d.text) && (at == 0 || d.text[at-1] == '\n' || len(trimBOM(d.text)) == 0) {
		return Change{At: next, New: written + nl}
	}
	return Change{At: at, Old: string(d.text[at:next]), New: string(d.text[at:next]) + nl + written}
}

// unit is one step of indentation: that of the first line that is indented.
func (d *yamlDoc) unit() string {
	for i, line := range d.lines {
		said := string(d.text[line.from+line.indent : line.to])
		if i > 0 && line.indent > 0 && d.lines[i-1].indent == 0 && !isItem(said) {
			return strings.Repeat(" ", min(line.indent, 8))
		}
	}
	return "  "
}

// block writes an object or a list on lines of its own, without the last line
// break.
func (d *yamlDoc) block(value any, margin string) string {
	var lines []string
	switch v := value.(type) {
	case Object:
		for _, f := range v {
			switch inner := unwrap(f.Value).(type) {
			case Object:
				if len(inner) > 0 {
					lines = append(lines, margin+flowStyle.key(f.Key)+":", d.block(inner, margin+d.unit()))
					continue
				}
			case []any:
				if len(inner) > 0 {
					lines = append(lines, margin+flowStyle.key(f.Key)+":", d.block(inner, margin+d.unit()))
					continue
				}
			}
			lines = append(lines, margin+flowStyle.key(f.Key)+": "+yamlValue(f.Value))
		}
	case []any:
		for _, item := range v {
			object, ok := item.(Object)
			if !ok {
				lines = append(lines, margin+"- "+yamlValue(item))
				continue
			}
			written := d.block(object, margin+"  ")
			lines = append(lines, margin+"- "+strings.TrimPrefix(written, margin+"  "))
		}
	}
	return strings.Join(lines, "\n")
}

func unwrap(value any) any {
	if v, ok := value.(Default); ok {
		return v.Value
	}
	return value
}

var (
	plainYAML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`) })
	wordYAML  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|null|y|n|inf|nan)$`) })
)

// yamlValue writes a value on one line.
func yamlValue(value any) string {
	switch v := unwrap(value).(type) {
	case string:
		if plainYAML().MatchString(v) && !wordYAML().MatchString(v) {
			return v
		}
		return quote(v)
	case int:
		return strconv.Itoa(v)
	default:
		return flowStyle.value(v, "")
	}
}

func (d *yamlDoc) replace(path []string, value any) (Change, error) {
	at, rest := d.find(path)
	if len(rest) > 0 || at.pair == nil {
		return Change{}, ErrShape
	}
	if at.kind == 'f' {
		return Change{At: at.node.from, Old: string(d.text[at.node.from:at.node.to]), New: flowStyle.value(value, "")}, nil
	}
	if at.kind != 'v' || at.pair.last > at.pair.first {
		return Change{}, ErrShape
	}
	from, to := at.pair.value, d.lines[at.pair.first].to
	s := &flowScanner{text: d.text[:to], at: from}
	if c := d.text[from]; c == '"' || c == '\'' {
		if !s.quoted() {
			return Change{}, ErrShape
		}
		to = s.at
	} else if i := strings.Index(string(d.text[from:to]), " #"); i >= 0 {
		to = from + i
	}
	old := strings.TrimRight(string(d.text[from:to]), " \t")
	written := yamlValue(value)
	if _, ok := value.(Object); ok {
		written = flowStyle.value(value, "")
	}
	return Change{At: from, Old: old, New: written}, nil
}

func (d *yamlDoc) add(path []string, value any) (Change, error) {
	at, rest := d.find(path)
	switch {
	case len(rest) > 0:
	case at.kind == 'f' && at.node.kind == '[':
		return d.json().append(at.node, flowStyle.value(value, ""), flowStyle, ""), nil
	case at.kind == 's':
		margin := strings.Repeat(" ", d.lines[at.first].indent)
		return d.after(d.lines[at.last].to, d.block([]any{value}, margin)), nil
	}
	return Change{}, ErrShape
}

func (d *yamlDoc) replaceItem(path []string, i int, value any) (Change, error) {
	at, rest := d.find(path)
	switch {
	case len(rest) > 0:
	case at.kind == 'f' && at.node.kind == '[' && i < len(at.node.parts):
		n := at.node.parts[i].value
		return Change{At: n.from, Old: string(d.text[n.from:n.to]), New: flowStyle.value(value, "")}, nil
	case at.kind == 's':
		items := d.pairs(at.first, at.last, true)
		if i >= len(items) {
			break
		}
		first, last := d.lines[items[i].first], d.lines[items[i].last]
		written := strings.ReplaceAll(d.block([]any{value}, strings.Repeat(" ", first.indent)), "\n", newline(d.text))
		return Change{At: first.from, Old: string(d.text[first.from:last.to]), New: written}, nil
	}
	return Change{}, ErrShape
}

func (d *yamlDoc) remove(path []string) (Change, error) {
	parent, rest := d.find(path[:len(path)-1])
	if len(rest) > 0 {
		return Change{}, ErrShape
	}
	key := path[len(path)-1]
	switch parent.kind {
	case 'f':
		if i := parent.node.field(key); i >= 0 {
			return d.json().take(parent.node, i), nil
		}
	case 'm':
		pairs := d.pairs(parent.first, parent.last, false)
		for i := len(pairs) - 1; i >= 0; i-- {
			if pairs[i].key == key {
				return d.cut(parent, pairs[i], len(pairs) == 1, " {}"), nil
			}
		}
	}
	return Change{}, ErrShape
}

func (d *yamlDoc) removeItem(path []string, i int) (Change, error) {
	at, rest := d.find(path)
	switch {
	case len(rest) > 0:
	case at.kind == 'f' && at.node.kind == '[' && i < len(at.node.parts):
		return d.json().take(at.node, i), nil
	case at.kind == 's':
		if items := d.pairs(at.first, at.last, true); i < len(items) {
			return d.cut(at, items[i], len(items) == 1, " []"), nil
		}
	}
	return Change{}, ErrShape
}

// cut takes the lines of a pair or an item out. If it is the only one, what it
// is in becomes empty, which has to be written.
func (d *yamlDoc) cut(parent spot, p yamlPair, only bool, empty string) Change {
	from, to := d.lines[p.first].from, nextLine(d.text, d.lines[p.last].to)
	if !only || parent.pair == nil {
		if to == len(d.text) && from > 0 && d.text[to-1] != '\n' { // the last line has no line break
			from--
			if from > 0 && d.text[from-1] == '\r' {
				from--
			}
		}
		return Change{At: from, Old: string(d.text[from:to])}
	}
	line := d.lines[parent.pair.first]
	comment := strings.TrimRight(string(d.text[parent.pair.colon:line.to]), " \t")
	to = d.lines[p.last].to
	return Change{At: parent.pair.colon, Old: string(d.text[parent.pair.colon:to]), New: empty + comment + string(d.text[line.to:from-len(newline(d.text))])}
}
