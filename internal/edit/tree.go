package edit

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// get returns what is at a path of a tree. A path that leads through something
// that is no object, and is not null, is an [ErrShape].
func get(tree any, path []string) (any, bool, error) {
	for i, key := range path {
		object, ok := tree.(map[string]any)
		if !ok {
			if tree == nil {
				return nil, false, nil
			}
			return nil, false, fmt.Errorf("%w (%s is no object)", ErrShape, strings.Join(path[:i], "."))
		}
		if tree, ok = object[key]; !ok {
			return nil, false, nil
		}
	}
	return tree, tree != nil, nil
}

// with returns the tree with a value at a path. The tree itself stays as it is.
func with(tree any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	object, _ := tree.(map[string]any)
	object = maps.Clone(object)
	if object == nil {
		object = map[string]any{}
	}
	object[path[0]] = with(object[path[0]], path[1:], value)
	return object
}

// cut returns the tree without a path.
func cut(tree any, path []string) any {
	object, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	object = maps.Clone(object)
	if len(path) == 1 {
		delete(object, path[0])
	} else if inner, ok := object[path[0]]; ok {
		object[path[0]] = cut(inner, path[1:])
	}
	return object
}

// without returns the tree without our value at a place, and what has to be
// removed for that: a path, or an item of the list at it. The path is nil if
// there is nothing of ours.
func without(tree any, at Place, made int) (rest any, path []string, item int) {
	there, found, err := get(tree, at.Path)
	if err != nil || !found {
		return tree, nil, -1
	}
	path = at.Path
	if len(at.Mine) > 0 {
		list, _ := there.([]any)
		item = slices.IndexFunc(list, at.mine)
		if item < 0 {
			return tree, nil, -1
		}
		if len(list) > 1 || made == 0 {
			return with(tree, path, slices.Delete(slices.Clone(list), item, item+1)), path, item
		}
		made-- // the list
	}
	for ; made > 0 && len(path) > 1; made-- {
		if parent, _, _ := get(tree, path[:len(path)-1]); len(parent.(map[string]any)) > 1 {
			break
		}
		path = path[:len(path)-1]
	}
	return cut(tree, path), path, -1
}

// mine reports whether an item of a list is ours.
func (at Place) mine(item any) bool {
	var all []string
	walk(item, func(s string) { all = append(all, s) })
	for _, part := range at.Mine {
		if !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, part) }) {
			return false
		}
	}
	return true
}

// walk calls visit with every text in a tree.
func walk(tree any, visit func(string)) {
	switch v := tree.(type) {
	case string:
		visit(v)
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	case map[string]any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

// satisfied reports whether a tree has all of a value.
func satisfied(tree, value any) bool {
	switch v := value.(type) {
	case Default:
		return tree != nil
	case Object:
		object, ok := tree.(map[string]any)
		if !ok {
			return false
		}
		for _, f := range v {
			if there, ok := object[f.Key]; !ok || !satisfied(there, f.Value) {
				return false
			}
		}
		return true
	case []any:
		list, ok := tree.([]any)
		if !ok || len(list) != len(v) {
			return false
		}
		for i := range v {
			if !satisfied(list[i], v[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(tree, plain(value))
}

// plain is a value as a tree has it.
func plain(value any) any {
	switch v := value.(type) {
	case Default:
		return plain(v.Value)
	case Object:
		object := make(map[string]any, len(v))
		for _, f := range v {
			object[f.Key] = plain(f.Value)
		}
		return object
	case []any:
		list := make([]any, 0, len(v))
		for _, item := range v {
			list = append(list, plain(item))
		}
		return list
	case []string:
		list := make([]any, 0, len(v))
		for _, item := range v {
			list = append(list, item)
		}
		return list
	case int:
		return number(strconv.Itoa(v))
	}
	return value
}

// tidy is a tree as a library decodes it, as one of ours.
func tidy(tree any) any {
	switch v := tree.(type) {
	case nil, bool, string:
		return v
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = tidy(item)
		}
		return object
	case map[any]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[fmt.Sprint(key)] = tidy(item)
		}
		return object
	case []any:
		list := make([]any, 0, len(v))
		for _, item := range v {
			list = append(list, tidy(item))
		}
		return list
	}
	return number(fmt.Sprint(tree)) // numbers, times
}
