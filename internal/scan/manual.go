package scan

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"uuid"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// ManualSources keeps the sources that the person named.
type ManualSources interface {
	ManualSources(ctx context.Context) ([]ambry.ManualSource, error)
	AddManualSource(ctx context.Context, m ambry.ManualSource) error

	// RemoveManualSource also forgets how far the source was read. It reports
	// whether there was one.
	RemoveManualSource(ctx context.Context, id string) (bool, error)
}

// maxManual bounds the sources that a person can name: each one is walked at
// every scan.
const maxManual = 64

// loadManual reads which sources the person named. Only the first call that
// succeeds does anything.
func (s *Scanner) loadManual(ctx context.Context) error {
	s.naming.Lock()
	defer s.naming.Unlock()
	if s.Manual == nil || s.manual != nil {
		return nil
	}
	kept, err := s.Manual.ManualSources(ctx)
	if err != nil {
		return err
	}
	s.manual = []manual{}
	for _, m := range kept {
		if a, ok := s.made(m); ok {
			s.manual = append(s.manual, manual{m, a})
		} else {
			s.Logger.Warn("a source that was added is in a format that cannot be read", "source", m.ID, "format", m.Format)
		}
	}
	return nil
}

// manual is a source that the person named, and how it is read.
type manual struct {
	ambry.ManualSource
	agent agent.Agent
}

// made returns a source as if it were an agent of its own. What is read from it
// belongs to the agent that wrote it: that is in the conversations.
func (s *Scanner) made(m ambry.ManualSource) (agent.Agent, bool) {
	for _, a := range s.Agents {
		if a.ID == m.Format && a.Elsewhere != nil {
			return agent.Agent{ID: m.ID, Name: m.DisplayName, Of: a.ID, History: a.Elsewhere(m.DataPath)}, true
		}
	}
	return agent.Agent{}, false
}

// agents returns all that can be read: agents, and sources that the person named.
func (s *Scanner) agents() []agent.Agent {
	all := slices.Clone(s.Agents)
	for _, m := range s.named() {
		all = append(all, m.agent)
	}
	return all
}

func (s *Scanner) named() []manual {
	s.naming.Lock()
	defer s.naming.Unlock()
	return slices.Clone(s.manual)
}

// Add adds a directory with a copy of an agent's files to what is read. It must
// be below the person's home directory.
func (s *Scanner) Add(ctx context.Context, in ambry.NewSource) (ambry.AgentSource, error) {
	if err := s.loadManual(ctx); err != nil {
		return ambry.AgentSource{}, err
	}
	name := strings.TrimSpace(in.DisplayName)
	if name == "" || strings.ContainsFunc(name, unicode.IsControl) {
		return ambry.AgentSource{}, invalid("displayName", "must be a name of one line")
	}
	m := ambry.ManualSource{ID: "manual_" + uuid.NewV7().String(), DisplayName: name, Format: in.Format, AddedAt: s.Now().UTC()}
	if _, ok := s.made(m); !ok {
		return ambry.AgentSource{}, invalid("format", "must be one of "+strings.Join(s.formats(), ", "))
	}
	dir, why := s.place(in.DataPath)
	if why != "" {
		return ambry.AgentSource{}, invalid("dataPath", why)
	}
	if owner := s.reads(dir, in.Format); owner != "" {
		return ambry.AgentSource{}, ambry.Conflict.Errorf("that directory is read already, as %s", owner)
	}
	m.DataPath = dir
	a, _ := s.made(m)

	if err := s.keep(ctx, manual{m, a}); err != nil {
		return ambry.AgentSource{}, err
	}
	s.ConsentChanged() // what is watched is not what it was
	return s.showManual(ctx, manual{m, a}), nil
}

func (s *Scanner) keep(ctx context.Context, m manual) error {
	s.naming.Lock()
	defer s.naming.Unlock()
	if len(s.manual) >= maxManual {
		return ambry.Conflict.Errorf("there are %d added sources already; remove one first", maxManual)
	}
	if slices.ContainsFunc(s.manual, func(o manual) bool { return o.DataPath == m.DataPath && o.Format == m.Format }) {
		return ambry.Conflict.Errorf("that directory was added already")
	}
	if err := s.Manual.AddManualSource(ctx, m.ManualSource); err != nil {
		return err
	}
	s.manual = append(s.manual, m)
	return nil
}

// Remove takes a source that the person added out of what is read. What was read
// from it stays in the memory.
func (s *Scanner) Remove(ctx context.Context, id string) error {
	if err := s.loadManual(ctx); err != nil {
		return err
	}
	s.mu.Lock() // no scan begins meanwhile
	defer s.mu.Unlock()
	s.naming.Lock()
	defer s.naming.Unlock()
	i := slices.IndexFunc(s.manual, func(m manual) bool { return m.ID == id })
	if i < 0 {
		if slices.ContainsFunc(s.Agents, func(a agent.Agent) bool { return a.ID == id }) {
			return ambry.Conflict.Errorf("%s is built in and stays; only sources that were added can be removed", id)
		}
		return ambry.NotFound.Errorf("there is no agent source %q", id)
	}
	if a := s.active; a != nil && !a.unasked {
		return &ambry.Error{
			Kind: ambry.Conflict, Message: "a scan is running; wait for it or stop it",
			Extra: map[string]any{"jobId": a.id},
		}
	}
	if _, err := s.Manual.RemoveManualSource(ctx, id); err != nil {
		return err
	}
	s.manual = slices.Delete(slices.Clone(s.manual), i, i+1)
	return nil
}

func invalid(field, why string) error {
	return &ambry.Error{
		Kind: ambry.InvalidArgument, Message: field + " " + why,
		Details: []ambry.Field{{Field: "body." + field, Message: why}},
	}
}

// formats are those in which copies can be read.
func (s *Scanner) formats() []string {
	var all []string
	for _, a := range s.Agents {
		if a.Elsewhere != nil {
			all = append(all, a.ID)
		}
	}
	return all
}

// place returns the directory at path without links, or why it may not be read.
// Only what is below the person's home directory may: that leaves out devices,
// what the kernel pretends, and what belongs to others.
func (s *Scanner) place(path string) (dir, why string) {
	switch {
	case strings.ContainsFunc(path, unicode.IsControl):
		return "", "has a control character"
	case !filepath.IsAbs(path):
		return "", "must be absolute"
	case filepath.Clean(path) != strings.TrimRight(path, string(filepath.Separator)):
		return "", "must be in its plain form, without .. and //"
	}
	dir, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", "does not exist or cannot be looked at"
	}
	home, err := filepath.EvalSymlinks(s.Home.Dir)
	if err != nil || !below(home, dir) || dir == home {
		return "", "must be below your home directory"
	}
	if own, err := filepath.EvalSymlinks(s.Own); err == nil && (below(own, dir) || below(dir, own)) {
		return "", "has Ambry's own directory in it, or is in it"
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "must be a directory"
	}
	if readable(dir) != nil {
		return "", "cannot be read"
	}
	return dir, ""
}

// reads returns the agent that reads a directory already, in the same format.
func (s *Scanner) reads(dir, format string) string {
	for _, a := range s.Agents {
		if a.ID != format {
			continue
		}
		for _, root := range a.History.Roots(s.Home) {
			if agent.Inside(root, dir) || agent.Inside(dir, root) {
				return a.Name
			}
		}
	}
	return ""
}

func (s *Scanner) showManual(ctx context.Context, m manual) ambry.AgentSource {
	src := s.show(ctx, m.agent)
	src.DataPath, src.Builtin, src.Format = m.DataPath, false, m.Format
	src.Installed = src.Available
	return src
}
