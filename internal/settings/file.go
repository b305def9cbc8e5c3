package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFile is how large config.yaml may be; a hundred times what it ever needs.
const maxFile = 256 << 10

// fromFile returns what the file sets, in its order. A file that does not exist
// sets nothing.
func fromFile(path string) ([]entry, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return fromYAML(path, newPage(data).text())
}

// read returns the bytes of the file, none if it does not exist.
func read(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	return data, nil
}

// fromYAML returns what a text sets, in its order. Its lines end with \n alone:
// of others the parser does not know the numbers.
func fromYAML(path, text string) ([]entry, error) {
	body, err := root(path, text)
	if body == nil || err != nil {
		return nil, err
	}
	return collect(path, "", body)
}

// root returns the keys and values of a text, nil if it has none.
func root(path, text string) (ast.MapNode, error) {
	parsed, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, syntax(path, err)
	}
	if len(parsed.Docs) > 1 {
		return nil, fmt.Errorf("%s: holds more than one document", path)
	}
	for _, doc := range parsed.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.NullNode:
		case ast.MapNode:
			return body, nil
		default:
			return nil, fmt.Errorf("%s: must be keys and values, such as log: {level: debug}", at(path, body))
		}
	}
	return nil, nil
}

// syntax says where the file stops being YAML, and nothing of what stands there.
func syntax(path string, err error) error {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", path, e.GetToken().Position.Line, e.GetMessage())
	}
	return fmt.Errorf("%s: not YAML", path)
}

// collect returns the entries of a mapping, whose keys continue prefix.
func collect(path, prefix string, m ast.MapNode) ([]entry, error) {
	var found []entry
	var wrong []error
	for it := m.MapRange(); it.Next(); {
		name, node := it.Key().GetToken().Value, it.Value()
		key := prefix + name
		if !section(key) || strings.Contains(name, ".") {
			found = append(found, nodeEntry(path, prefix, name, it.Key(), node))
			continue
		}
		switch body := node.(type) {
		case *ast.NullNode:
		case ast.MapNode:
			deeper, err := collect(path, key+".", body)
			found, wrong = append(found, deeper...), append(wrong, err)
		default:
			wrong = append(wrong, fmt.Errorf("%s: %s must hold keys and values", at(path, it.Key()), key))
		}
	}
	return found, errors.Join(wrong...)
}

func nodeEntry(path, prefix, name string, keyNode, node ast.Node) entry {
	if strings.Contains(name, ".") {
		name = strconv.Quote(name) // or a.b would pass for b below a
	}
	return entry{prefix + name, at(path, keyNode), func(k kind) (value, error) { return k.read(node) }}
}

// read takes a value from a node, which has to be of the kind as it stands.
func (k kind) read(node ast.Node) (value, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		if k == text {
			return value{text: n.Value}, nil
		}
		if k == amount {
			return k.parse(n.Value)
		}
	case *ast.LiteralNode:
		if k == text {
			return value{text: n.Value.Value}, nil
		}
	case *ast.IntegerNode:
		if k == number {
			return k.parse(fmt.Sprint(n.Value))
		}
		if k == amount {
			return k.parse(n.GetToken().Value)
		}
	case *ast.FloatNode:
		if k == amount {
			return k.parse(n.GetToken().Value)
		}
	case *ast.SequenceNode:
		if k == list {
			return texts(n.Values)
		}
		if k == servers {
			all, err := readServers(n)
			return value{servers: all}, err
		}
	}
	if k == text {
		return value{}, errors.New("must be text; put it in quotes")
	}
	return value{}, fmt.Errorf("must be %s", k)
}

func texts(nodes []ast.Node) (value, error) {
	var v value
	for _, n := range nodes {
		t, err := text.read(n)
		if err != nil {
			return value{}, fmt.Errorf("must be %s", list)
		}
		v.list = append(v.list, t.text)
	}
	return v, nil
}

func at(path string, n ast.Node) string {
	return fmt.Sprintf("%s:%d", path, n.GetToken().Position.Line)
}

// warnings returns what is allowed but unwise.
func warnings(s Settings, file string) []string {
	var all []string
	if s.Memory.Token != "" && strings.HasPrefix(s.Memory.URL, "http:") && !loopback(s.Memory.URL) {
		all = append(all, "memory.url is not https: the token and every memory travel in the clear")
	}
	if !strings.HasPrefix(s.origins["memory.token"], file+":") || runtime.GOOS == "windows" {
		return all
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
		all = append(all, fmt.Sprintf("%s holds a token and others can read it; run: chmod 600 '%s'", file, file))
	}
	return all
}
