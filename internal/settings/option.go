package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

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

// options are all that can be set, ordered by key.
var options = []option{
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
var originShape = regexp.MustCompile(`^([a-z][a-z0-9+.-]*)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([1-9][0-9]{0,4}))?$`)

func eachOrigin(origins []string) error {
	for _, o := range origins {
		if err := origin(o); err != nil {
			return fmt.Errorf("has %q, which %w", o, err)
		}
	}
	return nil
}

func origin(s string) error {
	m := originShape.FindStringSubmatch(s)
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
