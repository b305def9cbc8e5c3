package settings

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// lockWait is how long a change waits for another one of the same file.
const lockWait = 10 * time.Second

// Change gives a key a value in the file at path, written as in an environment
// variable, and reports whether that made a difference. The rest of the file,
// comments, order and line ends, stays as it is. A file that is not valid, or
// would not be afterwards, is not touched; the error names the line. The write
// is whole or not there; changes at the same time come one after the other.
func Change(ctx context.Context, path, key, text string) (bool, error) {
	o, ok := find(key)
	if !ok {
		return false, unknown(key)
	}
	want, err := o.kind.parse(text)
	if err == nil {
		err = o.put(&Settings{}, want)
	}
	if err != nil {
		return false, ambry.InvalidArgument.Errorf("%s %v", key, err)
	}
	return edit(ctx, path, o, &want)
}

// Unset takes a key out of the file at path, under the same promises as
// [Change]. A key that is not there makes no difference.
func Unset(ctx context.Context, path, key string) (bool, error) {
	o, ok := find(key)
	if !ok {
		return false, unknown(key)
	}
	return edit(ctx, path, o, nil)
}

func unknown(key string) error {
	return ambry.NotFound.Errorf("there is no setting %q; there are %s", key, strings.Join(Keys(), ", "))
}

// edit gives an option the value want, or takes it out if want is nil.
func edit(ctx context.Context, path string, o option, want *value) (bool, error) {
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock, err := home.AcquireWithin(waiting, filepath.Join(filepath.Dir(path), "config.lock"))
	if err != nil {
		return false, fmt.Errorf("wait for another change of the settings: %w", err)
	}
	defer lock.Release()
	data, err := read(path)
	if err != nil {
		return false, err
	}
	edited, err := rewrite(path, data, o, want)
	if err != nil || bytes.Equal(edited, data) {
		return false, err
	}
	return true, home.WriteFile(path, edited, 0o600)
}

// rewrite returns data with an option set to want. Whatever the edit did, the result
// is parsed again: unless it says what it should, it is not returned.
func rewrite(path string, data []byte, o option, want *value) ([]byte, error) {
	key := o.key
	before, err := valuesOf(path, newPage(data).text())
	if err != nil {
		return nil, fmt.Errorf("the file is not valid, so it was not touched: %w", err)
	}
	old, found := before[key]
	if want == nil && !found || want != nil && found && old.equal(*want) {
		return data, nil
	}
	after := maps.Clone(before)
	if want == nil {
		delete(after, key)
	} else {
		after[key] = *want
	}
	if err := agree(path, after); err != nil {
		return nil, ambry.InvalidArgument.Errorf("%v", err)
	}
	p := newPage(data)
	words := strings.Split(key, ".")
	last := len(words) - 1
	e := editor{page: p, path: path, sections: words[:last], name: words[last]}
	if want == nil {
		err = e.unset()
	} else {
		err = e.set(o.kind, *want)
	}
	got, invalid := valuesOf(path, p.text())
	if err != nil || invalid != nil || !maps.EqualFunc(got, after, value.equal) {
		return nil, byHand(path, key)
	}
	return p.bytes(), nil
}

// byHand is the error of a file that is written in a way which an edit does not
// understand.
func byHand(path, key string) error {
	return ambry.Conflict.Errorf("%s is written in a way that only a person can change; edit %s by hand", key, path)
}

// valuesOf returns what a text sets, if all of it is valid.
func valuesOf(path, text string) (map[string]value, error) {
	entries, err := fromYAML(path, text)
	if err != nil {
		return nil, err
	}
	if _, err := assemble(entries); err != nil {
		return nil, err
	}
	values := map[string]value{}
	for _, e := range entries {
		o, _ := find(e.key)
		if values[e.key], err = e.value(o.kind); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (v value) equal(w value) bool {
	return v.text == w.text && v.number == w.number && slices.Equal(v.list, w.list) && reflect.DeepEqual(v.servers, w.servers)
}

// agree reports what is wrong with values that are each valid.
func agree(path string, values map[string]value) error {
	var entries []entry
	for key, v := range values {
		entries = append(entries, entry{key, filepath.Base(path), func(kind) (value, error) { return v, nil }})
	}
	_, err := assemble(entries)
	return err
}

// bare is a word that is a text to every version of YAML without quotes.
var bare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{3,}$`) })

// notBare are words that are something else than text to some version.
var notBare = []string{"true", "false", "null", "yes", "off"}

// yaml writes a value on one line, as it may stand in both of YAML's styles. The
// JSON of texts and lists is YAML too.
func (k kind) yaml(v value) string {
	switch {
	case k == number:
		return strconv.Itoa(v.number)
	case k == servers:
		return writeServers(v.servers)
	case k == list:
		parts := make([]string, len(v.list))
		for i, part := range v.list {
			parts[i] = quoted(part)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case bare().MatchString(v.text) && !slices.Contains(notBare, v.text):
		return v.text
	}
	return quoted(v.text)
}

func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // of a string never fails
	return strings.TrimSuffix(b.String(), "\n")
}
