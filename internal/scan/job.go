package scan

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/redact"
)

// initialTurns is where an initial subset ends.
const initialTurns = 1000

// task is a source to be read, and where to begin.
type task struct {
	agent  agent.Agent
	source agent.Source
	from   agent.Mark
}

// run does one job from its plan to its completion.
func (s *Scanner) run(ctx context.Context, j *job) {
	ctx, cancel := context.WithCancel(ctx)
	var stopper sync.WaitGroup
	defer stopper.Wait()
	defer cancel()
	stopper.Go(func() {
		select {
		case <-j.halted:
			cancel()
		case <-ctx.Done():
		}
	})

	t := newTally(s, j)
	tasks := s.plan(ctx, s.chosen(j.request.SourceID), j.request.Mode, t)
	p := &pipe{scanner: s, tally: t}
	if j.request.Mode == ambry.InitialSubset {
		p.limit = initialTurns
	}
	err := p.run(ctx, tasks)
	stopped := ctx.Err() != nil
	if err != nil && !stopped {
		s.Logger.Error("scan", "source", j.request.SourceID, "err", err)
	}
	c := t.completion(err, stopped)
	s.finish(j, c, len(tasks) > 0)
}

// plan lists what has to be read, the newest first, so that what people work on
// now is found first.
func (s *Scanner) plan(ctx context.Context, agents []agent.Agent, mode ambry.ScanMode, t *tally) []task {
	var tasks []task
	for _, a := range agents {
		marks, err := s.Marks.Marks(ctx, a.ID)
		if err != nil {
			t.fail(a.ID, "", err)
			continue
		}
		t.begin(a.ID)
		for src, err := range a.History.Sources(ctx, s.Home) {
			if err != nil {
				t.fail(a.ID, src.Path, err)
				continue
			}
			from := agent.Mark{}
			if mode != ambry.Full {
				from = decode(marks[src.Path].Mark)
			}
			if from.Covers(src) {
				continue
			}
			tasks = append(tasks, task{agent: a, source: src, from: from})
			t.expect(a.ID, src.Size-min(from.Offset, src.Size))
		}
	}
	sort.SliceStable(tasks, func(i, k int) bool { return tasks[i].source.ModTime.After(tasks[k].source.ModTime) })
	return tasks
}

// decode returns the stored mark; one that cannot be read is the beginning.
func decode(data []byte) agent.Mark {
	var m agent.Mark
	if len(data) == 0 || json.Unmarshal(data, &m) != nil {
		return agent.Mark{}
	}
	return m
}

// problem says what was wrong with a file in words that may leave the process:
// the path below the home directory, no secrets.
func (s *Scanner) problem(path string, err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	text := err.Error()
	if path != "" {
		text = s.short(path) + ": " + strings.ReplaceAll(text, path, s.short(path))
	}
	clean, _ := redact.Text(text)
	return clean
}

// short shows a path the way people write it, with ~ for the home directory.
func (s *Scanner) short(path string) string {
	if rel, err := filepath.Rel(s.Home.Dir, path); err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}
