package skill

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// lookEvery is how often the files that we wrote are looked at.
const lookEvery = 30 * time.Second

// drift is what was seen of the files, and what was said of them.
type drift struct {
	seen map[key]string // how the files were when they were looked into
	told map[key]bool
}

func (d *drift) forget(k key) {
	delete(d.seen, k)
	delete(d.told, k)
}

// Run says when files that were written are not as they should be any more,
// until ctx ends.
func (s *Skills) Run(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := s.compare(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("look at the agents' files", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// compare looks once.
func (s *Skills) compare(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.load(ctx)
	if err != nil {
		return err
	}
	if s.drift.seen == nil {
		s.drift = drift{map[key]string{}, map[key]bool{}}
	}
	for k, i := range all {
		now := signature(i.record)
		if s.drift.seen[k] == now {
			continue
		}
		s.drift.seen[k] = now
		paths := s.drifted(k)
		if len(paths) > 0 && !s.drift.told[k] {
			s.Log.Info("an agent's files are not as they were written", "agent", k.agent, "part", string(k.part))
			s.Bus.Publish(ambry.SkillDrifted{SourceID: k.agent, Part: k.part, Paths: paths})
		}
		s.drift.told[k] = len(paths) > 0
	}
	return nil
}

// signature changes when a file of a record does.
func signature(r record) string {
	var b strings.Builder
	for _, d := range r.Done {
		if info, err := os.Stat(d.Path); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", d.Path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// drifted returns the files that would change if the lesson were written now.
func (s *Skills) drifted(k key) (paths []string) {
	a, err := s.find(k.agent)
	if err != nil {
		return nil
	}
	edits := s.lesson(a, k.part)
	files, err := plan(edits, s.look)
	if err != nil { // one that cannot be read: say all
		for _, e := range edits {
			paths = append(paths, e.Path)
		}
		slices.Sort(paths)
		return slices.Compact(paths)
	}
	for _, f := range files {
		paths = append(paths, f.path)
	}
	return paths
}

// Show completes a list of agents with what there is to write into their files,
// and with what is written.
func (s *Skills) Show(ctx context.Context, list []ambry.AgentSource) []ambry.AgentSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.load(ctx)
	if err != nil {
		s.Log.Error("read what is installed", "err", err)
	}
	for i := range list {
		a, err := s.find(list[i].SourceID)
		if err != nil {
			continue
		}
		s.show(a, all, &list[i])
	}
	return list
}

func (s *Skills) show(a agent.Agent, all installs, src *ambry.AgentSource) {
	l := a.Lesson
	src.Capabilities.Skill, src.Capabilities.Hooks, src.Capabilities.MCP = l.Skill != nil, l.Hooks != nil, l.MCP != nil
	src.Installed = src.Available || s.installed(a)
	if src.DataPath == "" && l.Homes != nil {
		src.DataPath = l.Homes(s.Teaching.Home)[0]
	}
	for _, k := range []key{{a.ID, ambry.SkillText}, {a.ID, ambry.Plugin}} {
		if _, ok := all[k]; !ok {
			continue
		}
		switch {
		case src.Status == ambry.Drifted:
		case len(s.drifted(k)) > 0:
			src.Status = ambry.Drifted
		case k.part == ambry.Plugin:
			src.Status = ambry.PluginInstalled
		default:
			src.Status = ambry.SkillInstalled
		}
	}
}
