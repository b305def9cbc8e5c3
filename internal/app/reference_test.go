package app

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/all"
	"ambry.dev/ambry/internal/memory/host"
	"ambry.dev/ambry/internal/relay"
	"ambry.dev/ambry/internal/server"
	"ambry.dev/ambry/internal/settings"
	"ambry.dev/ambry/internal/web"
)

var update = flag.Bool("update", false, "write docs/reference anew")

const generated = "<!-- Written by \"make gen\" from the code; do not edit. -->\n\n"

// The pages of docs/reference that are made of what this package puts together.
func TestReferenceIsFresh(t *testing.T) {
	pages := map[string]string{
		"openapi.yaml":        serviceDocument(),
		"memory-openapi.yaml": runtimeDocument(),
		"events.md":           eventsPage(),
		"settings.md":         settingsPage(t),
		"agents.md":           agentsPage(),
	}
	for name, want := range pages {
		path := filepath.Join("..", "..", "docs", "reference", name)
		if len(want) < 200 {
			t.Errorf("%s says hardly anything: %q", name, want)
		}
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("docs/reference/%s is stale, run make gen:\n%s", name, diff)
		}
	}
}

func serviceDocument() string {
	s := &service{options: Options{Version: "1"}}
	api := &server.Server{Memory: http.NotFoundHandler(), Events: http.NotFoundHandler(), Bridge: http.NotFoundHandler(), Internal: relay.Routes(nil, "")}
	_, doc := web.New(s.webConfig(), api.Routes())
	return "# Written by \"make gen\" from the routes; do not edit.\n" + string(doc.YAML())
}

func runtimeDocument() string {
	_, doc := web.New(runtimeConfig("1", address{}, nil), host.Routes(nil))
	return "# Written by \"make gen\" from the routes; do not edit.\n" + string(doc.YAML())
}

func eventsPage() string {
	var b strings.Builder
	b.WriteString(generated + "# Events\n\nWhat `GET /api/events` tells. Each event is `{id, type, timestamp, payload}`; these are the payloads.\n")
	for _, payload := range ambry.Events {
		fmt.Fprintf(&b, "\n## %s\n\n| field | type | |\n|---|---|---|\n", payload.Topic())
		describe(&b, "", reflect.TypeOf(payload))
	}
	return b.String()
}

// describe writes a row for each field of a struct, those of inner structs too.
func describe(b *strings.Builder, prefix string, t reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		about := f.Tag.Get("doc")
		if enum := f.Tag.Get("enum"); enum != "" {
			about = strings.TrimSpace(about + " One of `" + strings.ReplaceAll(enum, ",", "`, `") + "`.")
		}
		inner, kind := f.Type, ""
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			if inner.Kind() == reflect.Slice {
				kind += "list of "
			}
			inner = inner.Elem()
		}
		fmt.Fprintf(b, "| `%s%s` | %s%s | %s |\n", prefix, name, kind, kindName(inner), about)
		if inner.Kind() == reflect.Struct && inner.PkgPath() == reflect.TypeFor[ambry.Event]().PkgPath() {
			describe(b, prefix+name+".", inner)
		}
	}
}

func kindName(t reflect.Type) string {
	switch {
	case t.String() == "time.Time":
		return "time"
	case t.Kind() == reflect.Struct:
		return "object"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	}
	return "number"
}

func settingsPage(t *testing.T) string {
	defaults, err := settings.Load(settings.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(generated + "# Settings\n\nIn `config.yaml` of the home directory, in the environment, or as a flag of `ambry serve --set`; " +
		"the later of these wins. A running service follows the file: what is marked *live* is in force a moment after it was saved, the rest after a restart. A file that is not valid changes nothing; `ambry doctor` and `settingsError` in the bootstrap say what is wrong with it. `ambry config` reads, explains and changes it.\n\n| key | in the environment | default | |\n|---|---|---|---|\n")
	for _, e := range defaults.Explain() {
		live := ""
		if e.Live {
			live = " *(live)*"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s%s |\n", e.Key, e.Name, e.Value, e.About, live)
	}
	return b.String()
}

func agentsPage() string {
	var b strings.Builder
	b.WriteString(generated + "# Agents\n\n| agent | id | history | where, on Linux |\n|---|---|---|---|\n")
	home := agent.Home{Dir: "~", OS: "linux"}
	for _, a := range all.Agents() {
		history, where := "no", ""
		if a.History != nil {
			history, where = "read and watched", quoted(a.History.Roots(home))
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", a.Name, a.ID, history, where)
	}
	b.WriteString("\n## What is written\n\nOnly when you connect an agent, see [docs/agents](../agents/README.md).\n\n| agent | skill and texts | MCP server | hooks | command |\n|---|---|---|---|---|\n")
	t := agent.Teaching{Home: home, Program: "ambry"}
	for _, a := range all.Agents() {
		fmt.Fprintf(&b, "| %s |", a.Name)
		for _, edits := range []func(agent.Teaching) []agent.Edit{a.Lesson.Skill, a.Lesson.MCP, a.Lesson.Hooks, a.Lesson.Command} {
			var paths []string
			if edits != nil {
				for _, e := range edits(t) {
					paths = append(paths, e.Path)
				}
			}
			fmt.Fprintf(&b, " %s |", quoted(paths))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// quoted is a list of paths, each once.
func quoted(paths []string) string {
	var all []string
	for _, path := range paths {
		if path = "`" + filepath.ToSlash(path) + "`"; !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return strings.Join(all, ", ")
}
