package ambry_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// dialers may make connections of their own: app through one guard that
// local-only mode closes, client and hook/door (on Windows hook/first) to 127.0.0.1 alone. Benchmarks are not shipped,
// nor are suites; an account service does not run on the person's machine.
var dialers = []string{"app", "client", "hook/door", "hook/first", "cmd/ambry-account", "channel/channeltest"}

// dialing lists what makes a connection or asks a name server.
var dialing = map[string][]string{
	"net": {
		"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer", "Resolver", "DefaultResolver",
		"LookupAddr", "LookupCNAME", "LookupHost", "LookupIP", "LookupMX", "LookupNS", "LookupPort", "LookupSRV", "LookupTXT",
		"ResolveTCPAddr", "ResolveUDPAddr", "ResolveIPAddr",
	},
	"crypto/tls": {"Dial", "DialWithDialer", "Dialer"},
	"net/http":   {"Get", "Head", "Post", "PostForm", "DefaultClient", "DefaultTransport"},
	"net/smtp":   {"Dial", "SendMail"},
	"net/rpc":    {"Dial", "DialHTTP", "DialHTTPPath"},
	"syscall":    {"Connect"},
}

// given lists structs that dial by themselves unless a field says how.
var given = map[string]map[string]string{
	"net/http": {"Client": "Transport", "Transport": "DialContext"},
	"github.com/modelcontextprotocol/go-sdk/mcp": {"StreamableClientTransport": "HTTPClient", "SSEClientTransport": "HTTPClient"},
}

// Whatever goes out goes through a connection that app has made, so that
// local-only mode forbids it by one lock. The memory runtime is given none.
func TestNobodyDialsPastTheGuard(t *testing.T) {
	allowed := 0
	for _, p := range packages(t) {
		if strings.HasPrefix(p.name(), "bench/") {
			continue
		}
		for _, f := range p.code {
			for _, found := range dials(f) {
				if slices.Contains(dialers, p.name()) {
					allowed++
				} else {
					t.Errorf("%s: %s; take a DialContext from app instead", position(found.Pos()), found.(*ast.SelectorExpr).Sel.Name)
				}
			}
		}
	}
	if allowed < len(dialers) {
		t.Errorf("only %d dialers were found where there are some; the test sees nothing", allowed)
	}
}

// dials returns the places of a file that connect to somebody, or could.
func dials(f *ast.File) (found []ast.Node) {
	imported := map[string]string{}
	for _, spec := range f.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = path
	}
	selected := func(n ast.Node) (*ast.SelectorExpr, string) {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return nil, ""
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok {
			return nil, ""
		}
		return sel, imported[pkg.Name]
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, path := selected(n); sel != nil && slices.Contains(dialing[path], sel.Sel.Name) {
			found = append(found, sel)
		}
		if lit, ok := n.(*ast.CompositeLit); ok {
			sel, path := selected(lit.Type)
			if sel != nil && given[path][sel.Sel.Name] != "" && !sets(lit, given[path][sel.Sel.Name]) {
				found = append(found, sel)
			}
		}
		return true
	})
	return found
}

func sets(lit *ast.CompositeLit, field string) bool {
	return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := kv.Key.(*ast.Ident)
		return ok && key.Name == field
	})
}
