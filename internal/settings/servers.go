package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"ambry.dev/ambry"
)

// maxServers is how many MCP servers may be set.
const maxServers = 32

// parseServers reads servers from one text, as YAML or JSON.
func parseServers(s string) ([]ambry.Upstream, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	parsed, err := parser.ParseBytes([]byte(s), 0)
	if err != nil || len(parsed.Docs) != 1 || parsed.Docs[0].Body == nil {
		return nil, fmt.Errorf("must be %s", servers)
	}
	return readServers(parsed.Docs[0].Body)
}

// readServers takes servers from a node. Its errors name the line.
func readServers(node ast.Node) ([]ambry.Upstream, error) {
	items, ok := node.(*ast.SequenceNode)
	if !ok {
		return nil, fmt.Errorf("must be %s", servers)
	}
	var all []ambry.Upstream
	var wrong []error
	for _, item := range items.Values {
		u, err := readServer(item)
		if err == nil {
			err = in(item, checkServer(u))
		}
		all, wrong = append(all, u), append(wrong, err)
	}
	return all, errors.Join(wrong...)
}

// in says in which line err is.
func in(n ast.Node, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("line %d: %w", n.GetToken().Position.Line, err)
}

// checkServer reports what makes u unusable.
func checkServer(u ambry.Upstream) error {
	if err := u.Validate(); err != nil || u.URL == "" {
		return err
	}
	at, err := url.Parse(u.URL)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "" || at.User != nil || at.Fragment != "" {
		return ambry.InvalidArgument.Errorf("%s: url must be an address such as https://mcp.example.org/mcp, without a user", u.ID)
	}
	return nil
}

func readServer(node ast.Node) (ambry.Upstream, error) {
	m, ok := node.(ast.MapNode)
	if !ok {
		return ambry.Upstream{}, in(node, errors.New("a server must be keys and values, such as id: docs"))
	}
	var u ambry.Upstream
	var wrong []error
	seen := map[string]bool{}
	for it := m.MapRange(); it.Next(); {
		name := it.Key().GetToken().Value
		if seen[name] {
			wrong = append(wrong, in(it.Key(), fmt.Errorf("%s is there twice", name)))
		}
		seen[name] = true
		wrong = append(wrong, in(it.Key(), readServerKey(&u, name, it.Value())))
	}
	return u, errors.Join(wrong...)
}

func readServerKey(u *ambry.Upstream, name string, n ast.Node) (err error) {
	switch name {
	case "id":
		u.ID, err = readText(n)
	case "command":
		u.Command, err = readText(n)
	case "url":
		u.URL, err = readText(n)
	case "args":
		u.Args, err = readTexts(n)
	case "tools":
		u.Tools, err = readTexts(n)
	case "env":
		u.Env, err = readPairs(n)
	case "headers":
		u.Headers, err = readPairs(n)
	case "passThrough":
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return errors.New("passThrough must be true or false")
		}
		u.PassThrough = b.Value
	case "timeout":
		var s string
		if s, err = readText(n); err == nil {
			u.Timeout, err = time.ParseDuration(s)
		}
		if err != nil || u.Timeout <= 0 {
			return errors.New("timeout must be a time such as 90s")
		}
	default:
		return fmt.Errorf("unknown key %s; known are id, command, args, env, url, headers, tools, passThrough, timeout", name)
	}
	if err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	return nil
}

func readText(n ast.Node) (string, error) {
	v, err := text.read(n)
	return v.text, err
}

func readTexts(n ast.Node) ([]string, error) {
	v, err := list.read(n)
	if err == nil && v.list == nil {
		v.list = []string{} // none is something else than not set
	}
	return v.list, err
}

func readPairs(n ast.Node) (map[string]string, error) {
	m, ok := n.(ast.MapNode)
	if !ok {
		return nil, errors.New("must be names and texts")
	}
	pairs := map[string]string{}
	for it := m.MapRange(); it.Next(); {
		name := it.Key().GetToken().Value
		value, err := readText(it.Value())
		if err != nil {
			return nil, fmt.Errorf("of %s %w", name, err)
		}
		pairs[name] = value
	}
	return pairs, nil
}

// eachServer reports what is wrong with servers that are each valid.
func eachServer(all []ambry.Upstream) error {
	if len(all) > maxServers {
		return fmt.Errorf("has more than %d servers", maxServers)
	}
	seen := map[string]bool{}
	for _, u := range all {
		if seen[u.ID] {
			return fmt.Errorf("has the id %s twice", u.ID)
		}
		seen[u.ID] = true
		if u.PassThrough && len(all) > 1 {
			return fmt.Errorf("has passThrough at %s, which only a single server may have: names could clash", u.ID)
		}
	}
	return nil
}

// writeServers writes servers on one line, as JSON, which is YAML too.
func writeServers(all []ambry.Upstream) string {
	type server struct {
		ID          string            `json:"id"`
		Command     string            `json:"command,omitempty"`
		Args        []string          `json:"args,omitempty"`
		Env         map[string]string `json:"env,omitempty"`
		URL         string            `json:"url,omitempty"`
		Headers     map[string]string `json:"headers,omitempty"`
		Tools       *[]string         `json:"tools,omitempty"`
		PassThrough bool              `json:"passThrough,omitempty"`
		Timeout     string            `json:"timeout,omitempty"`
	}
	list := make([]server, 0, len(all))
	for _, u := range all {
		s := server{ID: u.ID, Command: u.Command, Args: u.Args, Env: u.Env, URL: u.URL, Headers: u.Headers, PassThrough: u.PassThrough}
		if u.Tools != nil {
			s.Tools = &u.Tools
		}
		if u.Timeout > 0 {
			s.Timeout = u.Timeout.String()
		}
		list = append(list, s)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(list) // of texts never fails
	return strings.TrimSuffix(b.String(), "\n")
}

// showServers shows servers without the secrets that stand in the settings
// themselves; references to secrets are shown.
func showServers(all []ambry.Upstream) string {
	if len(all) == 0 {
		return ""
	}
	shown := make([]ambry.Upstream, 0, len(all))
	for _, u := range all {
		u.Env, u.Headers = hidden(u.Env), hidden(u.Headers)
		shown = append(shown, u)
	}
	return writeServers(shown)
}

func hidden(values map[string]string) map[string]string {
	shown := map[string]string{}
	for name, value := range values {
		if _, reference := ambry.Reference(value); reference == "" && value != "" {
			value = "********"
		}
		shown[name] = value
	}
	return shown
}
