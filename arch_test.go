package ambry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The floors of the house. An arrow may only go down, and only as listed; what
// is not listed may not import anything of ours. Names are relative to the
// module, without internal/. A star stands for one folder, "language" for the
// root package, "everything" for all that is below. What a library may be used
// for is written in .golangci.yml.
const floors = `
9  cmd/ambry           app client tray mcp hook hook/first home language
9  cmd/ambry-account   account secret state web home language
9  bench/*             everything
8  app                 everything
7  memory/engine       language memory memory/store memory/dump memory/recall memory/meaning memory/learn redact
6  memory/recall       language memory/store memory/words memory/when model
6  memory/learn        language memory/store memory/words model
6  memory/meaning      language memory/store model
5  memory/store        language memory/sqlite memory/document memory/tables memory/dump memory/report memory/words memory/index home
4  server              language agent channel model memory scan skill converse settings event web
4  mcp                 language memory web mcp/upstream
4  panel               web
4  tray                language client
4  memory/report       language memory/sqlite memory/document memory/tables
4  memory/dump         language memory/sqlite memory/document memory/tables
3  mcp/upstream        language supervise
3  scan                language agent memory redact event
3  skill               language agent edit event home
3  converse            language channel memory model redact
3  gateway             language channel secret event
3  account             language secret event home
3  keep                language secret event home memory state keep/foreign
3  memory/host         language memory redact web
3  memory/remote       language memory redact web
3  memory/memorytest   language memory redact
3  agent/all           agent agent/*
3  channel/all         channel channel/*
3  model/all           model model/*
3  broker              language model secret
3  relay               language model web
3  memory/tables       language memory/sqlite memory/document
2  memory/static       model
2  memory              language redact
2  hook                language redact home
3  hook/first          language hook hook/door home
2  agent/*             language agent edit
2  keep/foreign        language home
2  channel/*           language channel
2  model/*             language model
2  memory/document     language memory/sqlite memory/words
1  memory/sqlite       language home
1  agent               language edit
1  channel             language
1  model               language
1  redact              language
1  event               language
1  web                 language
1  supervise           language
1  state               language home
1  settings            language home
1  secret              language home
1  client              language
0  account/accounttest
0  channel/ntfy/ntfytest
0  language
0  home
0  hook/door
0  edit
0  memory/index
0  memory/words
0  memory/when
`

// families are the kinds of plug-in: each folder of one is in its all/all.go.
var families = []string{"agent", "channel", "model"}

// banned are names that say nothing about what is inside.
var banned = []string{"util", "utils", "common", "types", "models", "helpers", "shared", "core", "base", "misc"}

const (
	module     = "ambry.dev/ambry"
	maxLines   = 500
	maxMethods = 7
)

// floor is a line of floors.
type floor struct {
	level   int
	name    string
	imports []string
}

func parseFloors(t *testing.T) []floor {
	var all []floor
	for line := range strings.Lines(floors) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		level, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, floor{level, words[1], words[2:]})
	}
	return all
}

// find returns the line of a package: its own, or that of its family.
func find(all []floor, name string) (floor, bool) {
	for _, pattern := range []string{name, path.Dir(name) + "/*"} {
		if i := slices.IndexFunc(all, func(f floor) bool { return f.name == pattern }); i >= 0 {
			return all[i], true
		}
	}
	return floor{}, false
}

func (f floor) lists(imported string) bool {
	return slices.ContainsFunc(f.imports, func(pattern string) bool {
		match, _ := path.Match(pattern, imported)
		return match || pattern == "everything"
	})
}

// pkg is a package of ours with all its files, also those for other systems.
type pkg struct {
	ImportPath     string
	Name           string
	Dir            string
	GoFiles        []string
	IgnoredGoFiles []string
	TestGoFiles    []string
	XTestGoFiles   []string

	code  []*ast.File
	tests []*ast.File
}

// name is what floors calls the package.
func (p *pkg) name() string { return name(p.ImportPath) }

func name(importPath string) string {
	if importPath == module {
		return "language"
	}
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module+"/"), "internal/")
}

// imports are the import paths of the code, without those of its tests.
func (p *pkg) imports() []string {
	var all []string
	for _, f := range p.code {
		for _, spec := range f.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			all = append(all, imported)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func ours(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

var fileSet = token.NewFileSet()

func (p *pkg) parse() error {
	for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
		f, err := parser.ParseFile(fileSet, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.go") {
			p.tests = append(p.tests, f)
		} else {
			p.code = append(p.code, f)
		}
	}
	return nil
}

// read asks the go command for the packages of ours, once.
var read = sync.OnceValues(func() ([]*pkg, error) {
	out, err := exec.Command("go", "list", "-e", "-json", "./...").Output()
	if err != nil {
		return nil, err
	}
	var all []*pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pkg)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if err := p.parse(); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// packages returns the packages of ours. It fails when there are too few to be
// the house: a test that sees nothing must not pass.
func packages(t *testing.T) []*pkg {
	t.Helper()
	all, err := read()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"language", "agent", "memory", "redact"} {
		if !slices.ContainsFunc(all, func(p *pkg) bool { return p.name() == want && len(p.code) > 0 }) {
			t.Fatalf("package %s was not found among %d", want, len(all))
		}
	}
	return all
}

func position(p token.Pos) string {
	at := fileSet.Position(p)
	if dir, err := os.Getwd(); err == nil {
		at.Filename, _ = filepath.Rel(dir, at.Filename)
	}
	return at.String()
}

func TestFloorsOnlyGoDown(t *testing.T) {
	all := parseFloors(t)
	for _, f := range all {
		for _, imported := range f.imports {
			if imported == "everything" {
				continue
			}
			if below, found := find(all, imported); !found {
				t.Errorf("%s may import %s, which has no floor", f.name, imported)
			} else if below.level >= f.level {
				t.Errorf("%s on floor %d may import %s on floor %d", f.name, f.level, imported, below.level)
			}
		}
	}
}

func TestImportsAreListed(t *testing.T) {
	all, arrows := parseFloors(t), 0
	for _, p := range packages(t) {
		from, found := find(all, p.name())
		for _, imported := range p.imports() {
			if !ours(imported) {
				continue
			}
			arrows++
			to, known := find(all, name(imported))
			switch {
			case !found:
				t.Errorf("%s has no floor and may not import %s", p.name(), name(imported))
			case !known:
				t.Errorf("%s imports %s, which has no floor", p.name(), name(imported))
			case !from.lists(name(imported)) || to.level >= from.level:
				t.Errorf("%s may not import %s", p.name(), name(imported))
			}
		}
	}
	if arrows == 0 {
		t.Error("no package imports another; the test sees nothing")
	}
}

func TestLanguageImportsTheStandardLibraryOnly(t *testing.T) {
	imports := 0
	for _, p := range packages(t) {
		if p.name() != "language" {
			continue
		}
		for _, imported := range p.imports() {
			imports++
			if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
				t.Errorf("the language imports %s", imported)
			}
		}
	}
	if imports == 0 {
		t.Error("the language imports nothing; the test sees nothing")
	}
}

func TestEachPackageHasOneComment(t *testing.T) {
	for _, p := range packages(t) {
		var docs []string
		for _, f := range p.code {
			if f.Doc != nil && strings.TrimSpace(f.Doc.Text()) != "" {
				docs = append(docs, position(f.Doc.Pos()))
			}
		}
		if len(p.code) > 0 && len(docs) != 1 {
			t.Errorf("%s has %d package comments, want 1: %v", p.name(), len(docs), docs)
		}
	}
}

func TestPackageNamesSaySomething(t *testing.T) {
	for _, p := range packages(t) {
		words := append(strings.Split(p.name(), "/"), p.Name)
		if slices.ContainsFunc(words, func(word string) bool { return slices.Contains(banned, word) }) {
			t.Errorf("%s: a package of this name could hold anything", p.name())
		}
	}
}

func TestNothingHappensAtImport(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range slices.Concat(p.code, p.tests) {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: func init; make it a list or a value", position(fn.Pos()))
				}
			}
		}
	}
}

// TestNothingIsCompiledAtStart: each process of a hook, which an agent waits for,
// would compile it.
func TestNothingIsCompiledAtStart(t *testing.T) {
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, module+"/internal/") || strings.HasSuffix(p.name(), "test") {
			continue
		}
		for _, f := range p.code {
			for _, d := range f.Decls {
				if decl, ok := d.(*ast.GenDecl); !ok || decl.Tok != token.VAR {
					continue
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "MustCompile" {
						t.Errorf("%s: MustCompile at the start of every process; put it into a sync.OnceValue", position(n.Pos()))
					}
					_, later := n.(*ast.FuncLit)
					return !later
				})
			}
		}
	}
}

func TestInterfacesAreSmall(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		for _, f := range p.code {
			ast.Inspect(f, func(n ast.Node) bool {
				if i, ok := n.(*ast.InterfaceType); ok {
					seen++
					if len(i.Methods.List) > maxMethods {
						t.Errorf("%s: an interface of %d methods, at most %d", position(i.Pos()), len(i.Methods.List), maxMethods)
					}
				}
				return true
			})
		}
	}
	if seen == 0 {
		t.Error("no interface found; the test sees nothing")
	}
}

func TestEachPlugInIsInItsList(t *testing.T) {
	lists := 0
	for _, family := range families {
		var listed, folders []string
		for _, p := range packages(t) {
			switch {
			case p.name() == family+"/all":
				listed = p.imports()
				lists++
			case path.Dir(p.name()) == family && p.name() != family+"/"+family+"test":
				folders = append(folders, p.ImportPath)
			}
		}
		if listed == nil && len(folders) > 0 {
			t.Errorf("internal/%s/all is missing, but there are %v", family, folders)
		}
		if listed != nil && len(folders) == 0 {
			t.Errorf("internal/%s/all lists nothing; the test sees nothing", family)
		}
		for _, folder := range folders {
			if !slices.Contains(listed, folder) {
				t.Errorf("%s is not in internal/%s/all/all.go", name(folder), family)
			}
		}
	}
	if lists == 0 {
		t.Error("no list of plug-ins found; the test sees nothing")
	}
}

// tracked returns the files that are in the repository or about to be.
func tracked(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	if !slices.Contains(files, "doc.go") {
		t.Fatalf("doc.go was not found among %d files", len(files))
	}
	return files
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func TestFilesAreShort(t *testing.T) {
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, ".go") || strings.Contains(file, "testdata/") {
			continue
		}
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > maxLines && !generated.Match(text) {
			t.Errorf("%s has %d lines, at most %d: two ideas in one file?", file, n, maxLines)
		}
	}
}

func TestDecisionsAreInTheirIndex(t *testing.T) {
	index, err := os.ReadFile("docs/adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/adr/[0-9]*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no decision found: %v", err)
	}
	for _, page := range pages {
		if !bytes.Contains(index, []byte("("+filepath.Base(page)+")")) {
			t.Errorf("%s is not in docs/adr/README.md", page)
		}
	}
}

// machine matches paths of the machines this is developed on. They are put
// together from parts so that this file does not match itself.
var machine = regexp.MustCompile(`/work` + `/(main|shared|steering|\.library|\.mirror)|/tmp` + `/homes|/farm` + `/|/bash_` + `jobs`)

func TestNoMachinePaths(t *testing.T) {
	for _, file := range tracked(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // deleted, or a link to nowhere
		}
		if at := machine.FindIndex(text); at != nil {
			t.Errorf("%s:%d: %s exists on one machine only", file, 1+bytes.Count(text[:at[0]], []byte("\n")), text[at[0]:at[1]])
		}
	}
}
