package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ambry.dev/ambry"
)

// option is one thing that can be set.
type option struct {
	key, about string
	kind       kind
	secret     bool
	live       bool // a running service takes a new value over
	initial    value
	put        func(*Settings, value) error // an error reads on after the key
	show       func(Settings) string
	whole      func(Settings) any // the value, where what is shown leaves something out
}

// kind is what a value looks like.
type kind string

const (
	text   kind = "text"
	number kind = "a whole number"
	amount kind = "an amount such as 0.25, with at most six decimals"
	list   kind = "a list of texts"

	servers kind = "a list of servers, such as [{id: docs, url: \"https://mcp.example.org/mcp\"}]"
)

// value is a value of a kind, in the field for it.
type value struct {
	text   string
	number int
	list   []string

	servers []ambry.Upstream
}

// parse reads a value from an environment variable or a flag, where commas
// separate the parts of a list.
func (k kind) parse(s string) (value, error) {
	switch k {
	case number:
		n, err := strconv.Atoi(s)
		if err != nil {
			return value{}, fmt.Errorf("must be %s", k)
		}
		return value{number: n}, nil
	case amount:
		if !amountShape().MatchString(s) {
			return value{}, fmt.Errorf("must be %s", k)
		}
	case list:
		var parts []string
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
		return value{list: parts}, nil
	case servers:
		all, err := parseServers(s)
		return value{servers: all}, err
	}
	return value{text: s}, nil
}

// amountShape is an amount of money, or nothing.
var amountShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,9}(\.[0-9]{1,6})?)?$`) })

// options are all that can be set, ordered by key.
var options = slices.Concat(accountOptions, []option{
	{
		key: "api.allowedOrigins", kind: list, live: true,
		about: "origins of pages that may call the API, such as http://localhost:5173; our own panel always may",
		put: func(s *Settings, v value) error {
			s.API.AllowedOrigins = v.list
			return eachOrigin(v.list)
		},
		show: func(s Settings) string { return strings.Join(s.API.AllowedOrigins, ", ") },
	},
	{
		key: "api.maxEventStreams", kind: number, live: true, initial: value{number: 32},
		about: "event streams that may be open at the same time, 1 to 199",
		put: func(s *Settings, v value) error {
			s.API.MaxEventStreams = v.number
			if v.number < 1 || v.number > 199 {
				return errors.New("must be 1 to 199")
			}
			return nil
		},
		show: func(s Settings) string { return strconv.Itoa(s.API.MaxEventStreams) },
	},
	{
		key: "log.level", kind: text, live: true, initial: value{text: "info"},
		about: "what is logged: debug, info, warn or error",
		put: func(s *Settings, v value) (err error) {
			s.Log.Level, err = level(v.text)
			return err
		},
		show: func(s Settings) string { return strings.ToLower(s.Log.Level.String()) },
	},
	{
		key: "mcp.upstreams", kind: servers, live: true,
		about: "MCP servers whose tools agents get through Ambry, see docs/mcp.md",
		put: func(s *Settings, v value) error {
			s.MCP.Upstreams = v.servers
			return eachServer(v.servers)
		},
		show:  func(s Settings) string { return showServers(s.MCP.Upstreams) },
		whole: func(s Settings) any { return s.MCP.Upstreams },
	},
	{
		key: "memory.embedding", kind: text, initial: value{text: "static"},
		about: "what finds memories by their meaning beside their words: static, a table that is built in, or off; a model for embeddings that is chosen in the panel goes before static",
		put: func(s *Settings, v value) error {
			s.Memory.Embedding = v.text
			if v.text != "static" && v.text != "off" {
				return errors.New("must be static or off")
			}
			return nil
		},
		show: func(s Settings) string { return s.Memory.Embedding },
	},
	{
		key: "memory.token", kind: text, secret: true,
		about: "token of the memory runtime at memory.url",
		put: func(s *Settings, v value) error {
			s.Memory.Token = v.text
			return bearer(v.text)
		},
		show: func(s Settings) string { return s.Memory.Token },
	},
	{
		key: "memory.url", kind: text,
		about: "address of a memory runtime that runs elsewhere; if empty, Ambry runs its own",
		put: func(s *Settings, v value) (err error) {
			s.Memory.URL, err = baseURL(v.text)
			return err
		},
		show: func(s Settings) string { return s.Memory.URL },
	},
	{
		key: "model.background", kind: text, live: true, initial: value{text: "never"},
		about: "whether models are called without being asked, to work on the memory: never, or budget for within the budget below",
		put: func(s *Settings, v value) error {
			s.Model.Background = v.text == "budget"
			if v.text != "never" && v.text != "budget" {
				return errors.New("must be never or budget")
			}
			return nil
		},
		show: func(s Settings) string {
			if s.Model.Background {
				return "budget"
			}
			return "never"
		},
	},
	{
		key: "model.callsPerDay", kind: number, live: true, initial: value{number: 200},
		about: "calls in the background in a day at most",
		put:   func(s *Settings, v value) error { return limit(&s.Model.CallsPerDay, v) },
		show:  func(s Settings) string { return strconv.Itoa(s.Model.CallsPerDay) },
	},
	money("model.costPerDay", "what calls in the background may cost in a day, in the currency of the prices; empty is no limit", func(m *Model) *Amount { return &m.CostPerDay }),
	money("model.embeddingPrice", "price of a million tokens of the model for embeddings", func(m *Model) *Amount { return &m.EmbeddingPrice }),
	money("model.inputPrice", "price of a million tokens that a model is given", func(m *Model) *Amount { return &m.InputPrice }),
	money("model.outputPrice", "price of a million tokens that a model answers", func(m *Model) *Amount { return &m.OutputPrice }),
	{
		key: "model.tokensPerDay", kind: number, live: true, initial: value{number: 500_000},
		about: "tokens that calls in the background may use in a day",
		put:   func(s *Settings, v value) error { return limit(&s.Model.TokensPerDay, v) },
		show:  func(s Settings) string { return strconv.Itoa(s.Model.TokensPerDay) },
	},
	{
		key: "secret.store", kind: text, initial: value{text: "auto"},
		about: "where keys are kept: keychain is that of the system, file is encrypted, auto is the keychain if there is one that works",
		put: func(s *Settings, v value) error {
			s.Secret.Store = v.text
			if !slices.Contains([]string{"auto", "keychain", "file"}, v.text) {
				return errors.New("must be auto, keychain or file")
			}
			return nil
		},
		show: func(s Settings) string { return s.Secret.Store },
	},
})

// money is an option that is an amount.
func money(key, about string, of func(*Model) *Amount) option {
	return option{
		key: key, about: about, kind: amount, live: true,
		put: func(s *Settings, v value) error {
			*of(&s.Model) = Amount(v.text)
			return nil
		},
		show: func(s Settings) string { return string(*of(&s.Model)) },
	}
}

const mostPerDay = 1_000_000_000

func limit(to *int, v value) error {
	*to = v.number
	if v.number < 0 || v.number > mostPerDay {
		return fmt.Errorf("must be 0 to %d", mostPerDay)
	}
	return nil
}

func find(key string) (option, bool) {
	for _, o := range options {
		if o.key == key {
			return o, true
		}
	}
	return option{}, false
}

// Keys returns the keys of all settings, in order.
func Keys() []string {
	var keys []string
	for _, o := range options {
		keys = append(keys, o.key)
	}
	return keys
}

// section reports whether name is what keys begin with, before a dot.
func section(name string) bool {
	for _, o := range options {
		if strings.HasPrefix(o.key, name+".") {
			return true
		}
	}
	return false
}

func level(name string) (slog.Level, error) {
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if name == strings.ToLower(l.String()) {
			return l, nil
		}
	}
	return 0, errors.New("must be debug, info, warn or error")
}

func bearer(s string) error {
	// What cannot stand in a header would fail at each request, far from here.
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("must be printable ASCII without spaces")
	}
	return nil
}

func baseURL(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", errors.New("must be an address such as https://memory.example.org:8443")
	}
	if bare := (url.URL{Scheme: u.Scheme, Host: u.Host}); bare.String() != strings.TrimSuffix(s, "/") {
		return "", errors.New("must be scheme, host and port alone, without user, path or query")
	}
	return strings.TrimSuffix(s, "/"), nil
}

// originShape is an origin as browsers write it (RFC 6454, section 6.2). Shells
// have schemes of their own, such as tauri.
var originShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z][a-z0-9+.-]*)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([1-9][0-9]{0,4}))?$`)
})

func eachOrigin(origins []string) error {
	for _, o := range origins {
		if err := origin(o); err != nil {
			return fmt.Errorf("has %q, which %w", o, err)
		}
	}
	return nil
}

func origin(s string) error {
	m := originShape().FindStringSubmatch(s)
	if m == nil {
		return errors.New("is not an exact origin: scheme://host or scheme://host:port in lower case, without path or *")
	}
	scheme, port := m[1], m[3]
	if n, _ := strconv.Atoi(port); n > 65535 {
		return errors.New("has a port above 65535")
	}
	switch {
	case scheme == "file":
		return errors.New("can never match: pages from files have no origin")
	case scheme == "http" && port == "80", scheme == "https" && port == "443":
		return errors.New("can never match: browsers leave the usual port out")
	}
	return nil
}

// loopback reports whether the host of a base URL is this machine.
func loopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
