// Package edit changes a setting in the text of a file that other programs and
// people write: JSON with or without comments, TOML, YAML, and marked blocks in
// any text. It replaces the range of text that must change and leaves every
// other byte as it is. It reads and writes no files and does not know whose
// they are.
package edit

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is how a file is written.
type Format string

// The formats. JSON is read with comments and trailing commas, JSON5 with all
// else that it allows.
const (
	JSON  Format = "json"
	JSON5 Format = "json5"
	TOML  Format = "toml"
	YAML  Format = "yaml"
)

// The errors of this package, apart from bugs.
var (
	// ErrSyntax says that the text is not of its format.
	ErrSyntax = errors.New("it cannot be parsed")

	// ErrShape says that the text is written in a way that we do not edit: a list
	// where an object belongs, an alias.
	ErrShape = errors.New("it is written in a way that cannot be edited safely")
)

// Change replaces Old, which stands at At, by New.
type Change struct {
	At       int
	Old, New string
}

// Apply returns text with the change made. It does not change text.
func (c Change) Apply(text []byte) []byte {
	return slices.Concat(text[:c.At], []byte(c.New), text[c.At+len(c.Old):])
}

// Nothing reports whether the change changes nothing.
func (c Change) Nothing() bool { return c.Old == c.New }

// Object is an object whose fields stand in an order. The values of fields are
// string, bool, int, []string, []any, Object and [Default].
type Object []Field

// Field is a field of an object.
type Field struct {
	Key   string
	Value any
}

// Default is a value that is written where there is none. What is there, stays.
type Default struct{ Value any }

// Place is where in a document something of ours stands.
type Place struct {
	// Path is the keys from the root of the document.
	Path []string `json:"path"`

	// Mine makes the value at Path a list, of which one item is ours: the one
	// that has all these texts somewhere in it.
	Mine []string `json:"mine,omitempty"`
}

// number is a number as it is written.
type number string

// document is a parsed text. Its methods that return a change do not look at
// what is around it; the functions of the package check the result as a whole.
type document interface {
	// tree is all that the text says: map[string]any, []any, string, bool, number
	// and nil.
	tree() any

	// insert writes a value at a path that is not there, with the objects that
	// lead to it.
	insert(path []string, value any) (Change, error)
	// replace writes another value at a path that is there.
	replace(path []string, value any) (Change, error)
	// remove takes a path out. What is written in several places may take
	// several calls.
	remove(path []string) (Change, error)

	// add writes an item at the end of the list at a path, which is there.
	add(path []string, value any) (Change, error)
	replaceItem(path []string, i int, value any) (Change, error)
	removeItem(path []string, i int) (Change, error)
}

var bom = []byte("\xef\xbb\xbf")

// maxDepth bounds how deep a document may be nested.
const maxDepth = 200

func parse(f Format, text []byte) (document, error) {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%w: it is not UTF-8 text", ErrSyntax)
	}
	switch f {
	case JSON, JSON5:
		return parseJSON(text, f == JSON5)
	case TOML:
		return parseTOML(text)
	case YAML:
		return parseYAML(text)
	}
	return nil, fmt.Errorf("there is no format %q", f)
}

// Check reports why a text is not of its format.
func Check(f Format, text []byte) error {
	_, err := parse(f, text)
	return err
}

// Put returns a change that brings the text nearer to having value at a place,
// and nothing if it is there. Apply it and call Put again until there is none.
// Fields that the text has beside those of an [Object] stay.
func Put(f Format, text []byte, at Place, value any) (Change, error) {
	doc, err := parse(f, text)
	if err != nil {
		return Change{}, err
	}
	before := doc.tree()
	c, want, err := put(doc, before, at, value)
	if err != nil || c.Nothing() {
		return Change{}, err
	}
	after, err := parse(f, c.Apply(text))
	if err != nil || !reflect.DeepEqual(after.tree(), want) {
		return Change{}, fmt.Errorf("%w (%s)", ErrShape, strings.Join(at.Path, "."))
	}
	return c, nil
}

// put also returns the tree that the change makes of before.
func put(doc document, before any, at Place, value any) (c Change, want any, err error) {
	there, found, err := get(before, at.Path)
	if err != nil {
		return c, nil, err
	}
	if len(at.Mine) == 0 {
		return putValue(doc, before, at.Path, there, found, value)
	}
	if !found {
		c, err = doc.insert(at.Path, []any{value})
		return c, with(before, at.Path, []any{plain(value)}), err
	}
	list, ok := there.([]any)
	if !ok {
		return c, nil, fmt.Errorf("%w (%s is no list)", ErrShape, strings.Join(at.Path, "."))
	}
	switch i := slices.IndexFunc(list, at.mine); {
	case i < 0:
		c, err = doc.add(at.Path, value)
		return c, with(before, at.Path, append(slices.Clone(list), plain(value))), err
	case satisfied(list[i], value):
		return Change{}, before, nil
	default:
		c, err = doc.replaceItem(at.Path, i, value)
		list = slices.Clone(list)
		list[i] = plain(value)
		return c, with(before, at.Path, list), err
	}
}

func putValue(doc document, before any, path []string, there any, found bool, value any) (c Change, want any, err error) {
	fields, isObject := value.(Object)
	_, hasObject := there.(map[string]any)
	switch {
	case !found:
		c, err = doc.insert(path, value)
		return c, with(before, path, plain(value)), err
	case satisfied(there, value):
		return Change{}, before, nil
	case !isObject || !hasObject:
		c, err = doc.replace(path, value)
		return c, with(before, path, plain(value)), err
	}
	for _, field := range fields {
		below := append(slices.Clone(path), field.Key)
		inner, found, err := get(before, below)
		if err != nil {
			return c, nil, err
		}
		if c, want, err = putValue(doc, before, below, inner, found, field.Value); err != nil || !c.Nothing() {
			return c, want, err
		}
	}
	return Change{}, before, nil
}

// Has reports whether the text has something of ours at a place: for a list an
// item, else any value.
func Has(f Format, text []byte, at Place) (bool, error) {
	doc, err := parse(f, text)
	if err != nil {
		return false, err
	}
	there, found, err := get(doc.tree(), at.Path)
	if err != nil || len(at.Mine) == 0 {
		return found && err == nil, nil //nolint:nilerr // where a path leads through a list there is nothing of ours
	}
	list, _ := there.([]any)
	return slices.ContainsFunc(list, at.mine), nil
}

// Value returns the texts that stand somewhere in the value at a path, in no
// order, and whether there is one.
func Value(f Format, text []byte, path []string) (texts []string, found bool, err error) {
	doc, err := parse(f, text)
	if err != nil {
		return nil, false, err
	}
	there, found, err := get(doc.tree(), path)
	if err != nil {
		return nil, false, err
	}
	walk(there, func(s string) { texts = append(texts, s) })
	return texts, found, nil
}

// Drop returns a change that takes what is ours at a place out of the text, and
// nothing if there is none. Apply it and call Drop again until there is none.
// The last made objects and lists of the path go too when nothing else is in
// them.
func Drop(f Format, text []byte, at Place, made int) (Change, error) {
	doc, err := parse(f, text)
	if err != nil {
		return Change{}, err
	}
	before := doc.tree()
	want, path, item := without(before, at, made)
	if path == nil {
		return Change{}, nil
	}
	var c Change
	if item >= 0 {
		c, err = doc.removeItem(path, item)
	} else {
		c, err = doc.remove(path)
	}
	if err != nil || c.Nothing() {
		return Change{}, err
	}
	after, err := parse(f, c.Apply(text))
	if err != nil {
		return Change{}, fmt.Errorf("%w (%s)", ErrShape, strings.Join(at.Path, "."))
	}
	// A table of TOML may be written in parts, of which this was one.
	if !reflect.DeepEqual(stripped(after.tree(), at), stripped(want, at)) {
		return Change{}, fmt.Errorf("%w (%s)", ErrShape, strings.Join(at.Path, "."))
	}
	return c, nil
}

// SameBut reports whether two texts say the same apart from what is at a place.
func SameBut(f Format, a, b []byte, at Place) bool {
	one, err := parse(f, a)
	if err != nil {
		return false
	}
	other, err := parse(f, b)
	if err != nil {
		return false
	}
	return reflect.DeepEqual(stripped(one.tree(), at), stripped(other.tree(), at))
}

// Missing returns how many of the objects and lists around a place are not
// there yet.
func Missing(f Format, text []byte, at Place) int {
	doc, err := parse(f, text)
	if err != nil {
		return 0
	}
	around := at.Path
	if len(at.Mine) == 0 {
		around = around[:len(around)-1]
	}
	tree := doc.tree()
	for i, key := range around {
		object, _ := tree.(map[string]any)
		if _, ok := object[key]; !ok {
			return len(around) - i
		}
		tree = object[key]
	}
	return 0
}

// stripped is a tree without anything of ours. What is around that and empty, or
// null, is as good as not there.
func stripped(tree any, at Place) any {
	for {
		next, path, _ := without(tree, at, 0)
		if path == nil {
			break
		}
		tree = next
	}
	around := len(at.Path)
	if len(at.Mine) == 0 {
		around--
	}
	for up := around; up > 0; up-- {
		if there, _, err := get(tree, at.Path[:up]); err == nil && empty(there) {
			tree = cut(tree, at.Path[:up])
		}
	}
	if empty(tree) {
		return nil
	}
	return tree
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
