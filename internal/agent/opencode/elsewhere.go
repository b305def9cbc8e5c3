package opencode

import (
	"context"
	"fmt"
	"iter"

	"ambry.dev/ambry/internal/agent"
)

// placed is the variable that says where the directory of OpenCode is in the
// homes that [elsewhere] makes. No variable of a process can have such a name.
const placed = "=opencode"

// elsewhere is the history of a copy of OpenCode's directory. Databases and
// sessions that are links to outside of it are left out.
type elsewhere struct {
	history
	dir string
}

var (
	_ agent.History = elsewhere{}
	_ agent.Watcher = elsewhere{}
)

func (x elsewhere) home(h agent.Home) agent.Home {
	return agent.Home{Dir: h.Dir, OS: h.OS, Getenv: func(name string) string {
		if name == placed {
			return x.dir
		}
		return ""
	}}
}

// Roots returns the directory.
func (x elsewhere) Roots(agent.Home) []string { return []string{x.dir} }

// Watch is [agent.Watcher].
func (x elsewhere) Watch(h agent.Home, dir string) bool { return x.history.Watch(x.home(h), dir) }

// Sources yields the databases and then the sessions of the tree.
func (x elsewhere) Sources(ctx context.Context, h agent.Home) iter.Seq2[agent.Source, error] {
	return func(yield func(agent.Source, error) bool) {
		for src, err := range x.history.Sources(ctx, x.home(h)) {
			if (err != nil || agent.Inside(x.dir, src.Path)) && !yield(src, err) {
				return
			}
		}
	}
}

// Locate returns the source that a changed file belongs to, if any.
func (x elsewhere) Locate(h agent.Home, path string) (agent.Source, bool) {
	src, ok := x.history.Locate(x.home(h), path)
	return src, ok && agent.Inside(x.dir, src.Path)
}

// Read reads a database, or a session of the tree.
func (x elsewhere) Read(ctx context.Context, src agent.Source, from agent.Mark) iter.Seq2[agent.Item, error] {
	if !agent.Inside(x.dir, src.Path) { // it became a link meanwhile
		return func(yield func(agent.Item, error) bool) {
			yield(agent.Item{}, fmt.Errorf("%s leads out of the source", src.Path))
		}
	}
	return x.history.Read(ctx, src, from)
}
