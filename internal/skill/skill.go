// Package skill writes lessons into the agents' files and takes them out again:
// what would change, the change whole or not at all, the undoing, and whether
// somebody else changed it since. What a lesson is, package agent says; how a
// text is edited, package edit. It does not know any agent by name.
package skill

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// Installs keeps what was written.
type Installs interface {
	Installs(ctx context.Context) ([]ambry.SkillInstall, error)
	SetInstall(ctx context.Context, i ambry.SkillInstall) error
	DeleteInstall(ctx context.Context, agentID string, part ambry.SkillPart) error
}

// Bus is told what happens.
type Bus interface {
	Publish(p ambry.Payload) ambry.Event
}

// Skills teaches agents. All its fields are needed.
type Skills struct {
	Agents    []agent.Agent
	Teaching  agent.Teaching
	Installs  Installs
	Backups   string      // directory of the copies made before a file is written
	Permitted func() bool // whether agents' files may be written
	Bus       Bus
	Log       *slog.Logger
	Now       func() time.Time

	mu    sync.Mutex // held while files are looked at and written
	drift drift      // belongs to Run
}

// The states of an install.
const (
	stateInstalled  = "installed"
	stateInstalling = "installing" // undone at the next start
	stateMending    = "mending"    // stays at the next start
	stateRemoving   = "removing"   // finished at the next start
)

// record is what is kept of an install.
type record struct {
	Done []done   `json:"done"`
	Dirs []string `json:"dirs,omitempty"` // that we made, outermost first
}

// lesson returns the edits of a part of an agent's lesson.
func (s *Skills) lesson(a agent.Agent, part ambry.SkillPart) []agent.Edit {
	if part == ambry.Plugin {
		return a.Lesson.Live(s.Teaching)
	}
	if a.Lesson.Skill == nil {
		return nil
	}
	return a.Lesson.Skill(s.Teaching)
}

func (s *Skills) find(id string) (agent.Agent, error) {
	i := slices.IndexFunc(s.Agents, func(a agent.Agent) bool { return a.ID == id })
	if i < 0 {
		return agent.Agent{}, ambry.NotFound.Errorf("there is no agent %q", id)
	}
	return s.Agents[i], nil
}

// Install writes a part of an agent's lesson: all of it or nothing. A part that
// is written already is mended. A dry run writes nothing and needs no
// permission.
func (s *Skills) Install(ctx context.Context, id string, part ambry.SkillPart, dryRun bool) (ambry.SkillResult, error) {
	a, err := s.find(id)
	if err != nil {
		return ambry.SkillResult{}, err
	}
	if err := s.permit(dryRun); err != nil {
		return ambry.SkillResult{}, err
	}
	edits := s.lesson(a, part)
	if len(edits) == 0 {
		return ambry.SkillResult{}, ambry.AgentSourceUnavailable.Errorf("%s has nothing that a %s could be written into", a.Name, part)
	}
	if !s.installed(a) {
		return ambry.SkillResult{}, ambry.AgentSourceUnavailable.Errorf("%s is not on this machine; start it once, then try again", a.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.load(ctx)
	if err != nil {
		return ambry.SkillResult{}, err
	}
	job := &writing{skills: s, id: id, part: part, edits: edits, others: all.owned(id, part)}
	if before, ok := all[key{id, part}]; ok {
		job.before = &before
	}
	files, err := job.plan()
	if err != nil || dryRun {
		return result(files, a.Lesson.Notes), err
	}
	if err := job.run(ctx, files); err != nil {
		return ambry.SkillResult{}, err
	}
	if len(files) > 0 || job.before == nil {
		s.Log.Info("an agent was taught", "agent", id, "part", string(part), "files", len(files))
		s.Bus.Publish(ambry.SkillWritten{SourceID: id, Part: part})
	}
	s.drift.forget(key{id, part})
	return result(files, a.Lesson.Notes), nil
}

// Remove takes a part of an agent's lesson out again. What the person wrote
// since stays.
func (s *Skills) Remove(ctx context.Context, id string, part ambry.SkillPart, dryRun bool) (ambry.SkillResult, error) {
	a, err := s.find(id)
	if err != nil {
		return ambry.SkillResult{}, err
	}
	if err := s.permit(dryRun); err != nil {
		return ambry.SkillResult{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.load(ctx)
	if err != nil {
		return ambry.SkillResult{}, err
	}
	job := &undoing{skills: s, id: id, part: part, others: all.owned(id, part)}
	rec, known := all[key{id, part}]
	if known {
		job.record = rec.record
	} else {
		job.record = s.unknown(a, part) // the record was lost, or somebody else wrote it
	}
	files, err := job.plan()
	if err != nil || dryRun {
		return result(files, nil), err
	}
	if err := job.run(ctx, files, known); err != nil {
		return ambry.SkillResult{}, err
	}
	if known || len(files) > 0 {
		s.Log.Info("an agent's files are without ours", "agent", id, "part", string(part), "files", len(files))
		s.Bus.Publish(ambry.SkillRemoved{SourceID: id, Part: part})
	}
	s.drift.forget(key{id, part})
	return result(files, nil), nil
}

func (s *Skills) permit(dryRun bool) error {
	if dryRun || s.Permitted() {
		return nil
	}
	return ambry.SkillWriteNotPermitted.Errorf("writing into agents' files is not permitted yet")
}

// installed reports whether an agent is on this machine.
func (s *Skills) installed(a agent.Agent) bool {
	if a.Lesson.Homes == nil {
		return false
	}
	return slices.ContainsFunc(a.Lesson.Homes(s.Teaching.Home), exists)
}

// key is what an install is known by.
type key struct {
	agent string
	part  ambry.SkillPart
}

// kept is an install with its record.
type kept struct {
	ambry.SkillInstall
	record
}

type installs map[key]kept

func (s *Skills) load(ctx context.Context) (installs, error) {
	list, err := s.Installs.Installs(ctx)
	if err != nil {
		return nil, err
	}
	all := installs{}
	for _, i := range list {
		k := kept{SkillInstall: i}
		if err := json.Unmarshal(i.Data, &k.record); err != nil {
			return nil, err
		}
		all[key{i.Agent, i.Part}] = k
	}
	return all, nil
}

// owned returns the edits of all other installs.
func (all installs) owned(id string, part ambry.SkillPart) (others []done) {
	for k, i := range all {
		if k != (key{id, part}) {
			others = append(others, i.Done...)
		}
	}
	return others
}

func (s *Skills) save(ctx context.Context, id string, part ambry.SkillPart, state string, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.Installs.SetInstall(ctx, ambry.SkillInstall{Agent: id, Part: part, State: state, Data: data, At: s.Now()})
}

func result(files []file, notes []string) ambry.SkillResult {
	r := ambry.SkillResult{OK: true, Changes: []ambry.SkillChange{}}
	for _, f := range files {
		r.Changes = append(r.Changes, f.change())
	}
	if len(files) > 0 {
		r.Notes = notes
	}
	return r
}
