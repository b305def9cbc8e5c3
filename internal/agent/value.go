package agent

import (
	"encoding/json/jsontext"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// Value is a JSON value of a record. Everything it returns is a copy, valid
// UTF-8, and stays good after the record is gone; a Value itself is good only
// until the function it was given to returns. The zero Value is absent: its
// texts are empty, its numbers 0, its lists without elements.
type Value struct{ v *fastjson.Value }

// Exists reports whether there is a value that is not null.
func (v Value) Exists() bool { return v.v != nil && v.v.Type() != fastjson.TypeNull }

// Get returns the value at a path of object keys. Of members with the same
// key the last one counts.
func (v Value) Get(path ...string) Value {
	w := v.v
	for _, key := range path {
		if w == nil {
			return Value{}
		}
		o, err := w.Object()
		if err != nil {
			return Value{}
		}
		if w = o.Get(key); w == nil { // by far the fastest answer, and the most frequent
			return Value{}
		}
		o.Visit(func(k []byte, e *fastjson.Value) {
			if string(k) == key {
				w = e
			}
		})
	}
	return Value{w}
}

// Text returns the string at path, "" if there is none.
func (v Value) Text(path ...string) string {
	w := v.Get(path...)
	if w.v == nil || w.v.Type() != fastjson.TypeString {
		return ""
	}
	return valid(w.v.GetStringBytes())
}

// valid returns a copy of b in which what is not UTF-8 is replaced.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// Is reports whether the value at path is the string want.
func (v Value) Is(want string, path ...string) bool {
	w := v.Get(path...)
	return w.v != nil && w.v.Type() == fastjson.TypeString && string(w.v.GetStringBytes()) == want
}

// Bytes returns the string at path without a copy. It dies with the record.
func (v Value) Bytes(path ...string) []byte {
	w := v.Get(path...)
	if w.v == nil {
		return nil
	}
	return w.v.GetStringBytes()
}

// Int returns the number at path, also one that is written as a string.
func (v Value) Int(path ...string) int64 {
	w := v.Get(path...)
	if w.v == nil {
		return 0
	}
	switch w.v.Type() {
	case fastjson.TypeNumber:
		if n, err := w.v.Int64(); err == nil {
			return n
		}
		return truncate(w.v.GetFloat64())
	case fastjson.TypeString:
		s := string(w.v.GetStringBytes())
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(s, 64)
		return truncate(f)
	}
	return 0
}

// truncate returns the whole part of f, or 0 if that is no int64.
func truncate(f float64) int64 {
	if f > -1<<63 && f < 1<<63 {
		return int64(f)
	}
	return 0
}

// Bool reports whether the value at path is true.
func (v Value) Bool(path ...string) bool {
	w := v.Get(path...)
	return w.v != nil && w.v.Type() == fastjson.TypeTrue
}

// IsText reports whether the value is a string.
func (v Value) IsText() bool { return v.v != nil && v.v.Type() == fastjson.TypeString }

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.v != nil && v.v.Type() == fastjson.TypeObject }

// IsList reports whether the value is an array.
func (v Value) IsList() bool { return v.v != nil && v.v.Type() == fastjson.TypeArray }

// List yields the elements of the array at path.
func (v Value) List(path ...string) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		w := v.Get(path...)
		if w.v == nil {
			return
		}
		for _, e := range w.v.GetArray() {
			if !yield(Value{e}) {
				return
			}
		}
	}
}

// Fields yields the members of the object at path in their order.
func (v Value) Fields(path ...string) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		w := v.Get(path...)
		if w.v == nil {
			return
		}
		o, err := w.v.Object()
		if err != nil {
			return
		}
		stop := false
		o.Visit(func(key []byte, e *fastjson.Value) {
			if !stop && !yield(valid(key), Value{e}) {
				stop = true
			}
		})
	}
}

// JSON returns the value at path as JSON text, cut in the middle if it is
// longer than limit bytes. A string is returned as it is, without quotes.
func (v Value) JSON(limit int, path ...string) string {
	w := v.Get(path...)
	switch {
	case !w.Exists():
		return ""
	case w.IsText():
		return strings.ToValidUTF8(capped(w.v.GetStringBytes(), limit), "\ufffd")
	}
	return Cap(string(appendJSON(nil, w.v)), limit)
}

// Raw is [Value.JSON] for a value into which nobody has looked yet: it is
// returned as it was written, and much faster.
func (v Value) Raw(limit int, path ...string) string {
	w := v.Get(path...)
	if !w.Exists() {
		return ""
	}
	return Cap(valid(w.v.MarshalTo(nil)), limit)
}

// appendJSON writes what fastjson's own MarshalTo cannot: a string that was
// looked at and has control characters in it.
func appendJSON(dst []byte, v *fastjson.Value) []byte {
	switch v.Type() {
	case fastjson.TypeString:
		dst, _ = jsontext.AppendQuote(dst, v.GetStringBytes()) // replaces what is not UTF-8
		return dst
	case fastjson.TypeArray:
		dst = append(dst, '[')
		for i, e := range v.GetArray() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, e)
		}
		return append(dst, ']')
	case fastjson.TypeObject:
		dst = append(dst, '{')
		first := true
		v.GetObject().Visit(func(key []byte, e *fastjson.Value) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst, _ = jsontext.AppendQuote(dst, key)
			dst = appendJSON(append(dst, ':'), e)
		})
		return append(dst, '}')
	}
	return v.MarshalTo(dst)
}
