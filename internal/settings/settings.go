// Package settings is what a person may set outside of Ambry: loaded, checked,
// explained and changed. A default gives way to the file config.yaml, that to
// the environment, that to a flag. It is not for the choices made in the panel,
// which package state keeps.
package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ambry.dev/ambry"
)

// Settings are the values in force. Make them with [Load].
type Settings struct {
	Memory  Memory
	API     API
	Account Account
	Log     Log
	MCP     MCP
	Model   Model
	Secret  Secret

	// Warnings are for the person, a sentence each: what is allowed but unwise.
	Warnings []string

	origins map[string]string // of the keys that have no default value
}

// Memory is where the memory runtime is, if the service is not to start its own.
type Memory struct {
	URL   string // http or https, without a slash at its end; empty means a runtime of our own
	Token string

	Embedding string // the model that embeds memories: static or off
}

// API is how the local API behaves.
type API struct {
	AllowedOrigins  []string // exact origins of pages that may call it, beside our own panel's
	MaxEventStreams int      // at the same time, 1 to 199
}

// MCP is what agents get through the bridge, beside our own tools.
type MCP struct{ Upstreams []ambry.Upstream }

// Log is what is logged.
type Log struct{ Level slog.Level }

// Model is what models may do and cost; which ones there are is chosen in the
// panel.
type Model struct {
	Background   bool // they may be called without being asked
	CallsPerDay  int  // in the background
	TokensPerDay int
	CostPerDay   Amount

	InputPrice, OutputPrice, EmbeddingPrice Amount // of a million tokens
}

// Amount is an amount of money such as 0.25, or empty.
type Amount string

// Micros returns the amount in millionths, or none if it is empty.
func (a Amount) Micros(none int64) int64 {
	const million = 1e6
	f, err := strconv.ParseFloat(string(a), 64)
	if err != nil {
		return none
	}
	return int64(math.Round(f * million))
}

// Secret is where keys are kept.
type Secret struct{ Store string } // auto, keychain or file

// Sources are where settings come from, the weakest first. The zero value has
// the defaults alone.
type Sources struct {
	File   string              // path of config.yaml, which need not exist
	Getenv func(string) string // nil means an empty environment
	Flags  map[string]string   // the flags that were given, by key
}

// Load returns the settings that the sources give. Its error says everything
// that is wrong with them, a line each, with the file and line, the variable or
// the flag at fault. It repeats no secret.
func Load(from Sources) (Settings, error) {
	entries, err := fromFile(from.File)
	entries = slices.Concat(entries, fromEnvironment(from.Getenv), fromFlags(from.Flags))
	s, wrong := assemble(entries)
	if err := errors.Join(err, wrong); err != nil {
		return Settings{}, err
	}
	s.Warnings = warnings(s, from.File)
	return s, nil
}

// assemble puts entries over the defaults; the later of two wins.
func assemble(entries []entry) (Settings, error) {
	s := Settings{origins: map[string]string{}}
	var wrong []error
	for _, o := range options {
		if err := o.put(&s, o.initial); err != nil {
			wrong = append(wrong, fmt.Errorf("default of %s: %w", o.key, err))
		}
	}
	for _, e := range entries {
		wrong = append(wrong, s.take(e))
	}
	if s.Memory.Token != "" && s.Memory.URL == "" {
		wrong = append(wrong, fmt.Errorf("%s: memory.token needs memory.url beside it", s.origins["memory.token"]))
	}
	wrong = append(wrong, s.Account.agree(s.origins))
	return s, errors.Join(wrong...)
}

// take puts what was found in its place.
func (s *Settings) take(e entry) error {
	o, ok := find(e.key)
	if !ok {
		return fmt.Errorf("%s: unknown key %s; known are %s", e.origin, e.key, strings.Join(Keys(), ", "))
	}
	v, err := e.value(o.kind)
	if err == nil {
		err = o.put(s, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %s %w", e.origin, e.key, err)
	}
	s.origins[o.key] = e.origin
	return nil
}

// Explanation is a setting with where its value comes from.
type Explanation struct {
	Key    string `json:"key"`
	Name   string `json:"name"`   // of the environment variable that sets it
	Value  string `json:"value"`  // a secret that is set shows as stars
	Origin string `json:"origin"` // default, file:line, a variable, or a flag
	Live   bool   `json:"live"`   // a running service takes a new value over by itself
	About  string `json:"about"`
}

// Explain returns every setting, ordered by key.
func (s Settings) Explain() []Explanation {
	var all []Explanation
	for _, o := range options {
		e := Explanation{Key: o.key, Name: variable(o.key), Value: o.show(s), Origin: s.origins[o.key], Live: o.live, About: o.about}
		if o.secret && e.Value != "" {
			e.Value = "********"
		}
		if e.Origin == "" {
			e.Origin = "default"
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Explanation) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// Changed returns the keys that are set otherwise in next, and those of them
// that a running service cannot take over.
func (s Settings) Changed(next Settings) (keys, restart []string) {
	for _, o := range options {
		if o.same(s, next) {
			continue
		}
		keys = append(keys, o.key)
		if !o.live {
			restart = append(restart, o.key)
		}
	}
	return keys, restart
}

// same reports whether the option has the same value in both.
func (o option) same(a, b Settings) bool {
	if o.whole != nil {
		return reflect.DeepEqual(o.whole(a), o.whole(b))
	}
	return o.show(a) == o.show(b)
}

// entry is a value as it was found: a text, or a node of the file.
type entry struct {
	key, origin string
	value       func(kind) (value, error)
}

func fromEnvironment(getenv func(string) string) []entry {
	if getenv == nil {
		return nil
	}
	var found []entry
	for _, o := range options {
		if text := getenv(variable(o.key)); text != "" {
			found = append(found, textEntry(o.key, variable(o.key), text))
		}
	}
	return found
}

func fromFlags(flags map[string]string) []entry {
	var found []entry
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		found = append(found, textEntry(key, "flag "+key, flags[key]))
	}
	return found
}

func textEntry(key, origin, text string) entry {
	return entry{key, origin, func(k kind) (value, error) { return k.parse(text) }}
}

// variable returns the name of the variable that sets key:
// api.maxEventStreams is AMBRY_API_MAX_EVENT_STREAMS.
func variable(key string) string {
	name := []rune("AMBRY_")
	for _, r := range key {
		switch {
		case r == '.':
			r = '_'
		case unicode.IsUpper(r):
			name = append(name, '_')
		}
		name = append(name, unicode.ToUpper(r))
	}
	return string(name)
}
