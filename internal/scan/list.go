package scan

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// List shows every agent we know, whether it is on this machine or not, and the
// sources that were added. A
// history that cannot be looked at has its error in its own entry.
func (s *Scanner) List(ctx context.Context) []ambry.AgentSource {
	out := make([]ambry.AgentSource, 0, len(s.Agents))
	for _, a := range s.Agents {
		out = append(out, s.show(ctx, a))
	}
	if err := s.loadManual(ctx); err != nil {
		s.Logger.Error("read which sources were added", "err", err)
	}
	for _, m := range s.named() {
		out = append(out, s.showManual(ctx, m))
	}
	return out
}

func (s *Scanner) show(ctx context.Context, a agent.Agent) ambry.AgentSource {
	src := ambry.AgentSource{
		SourceID: a.ID, DisplayName: a.Name, Builtin: true, Status: ambry.NotConnected,
		Capabilities: ambry.AgentCapabilities{History: a.History != nil},
	}
	if a.History == nil {
		return src
	}
	var problem error
	src.DataPath, src.Available, problem = look(a.History.Roots(s.Home))
	totals, err := s.Marks.Totals(ctx, a.ID)
	problem = errors.Join(problem, err)
	src.MessageCount, src.ConversationCount, src.Bytes = totals.Messages, totals.Conversations, totals.Bytes
	last, err := s.lastScan(ctx, a.ID)
	problem = errors.Join(problem, err)
	if !last.IsZero() {
		src.LastScannedAt = &last
	}
	if problem != nil {
		src.Error = s.problem("", problem)
	}
	return src
}

// look returns the first of dirs that can be read, else the first of all.
func look(dirs []string) (path string, available bool, problem error) {
	for _, dir := range dirs {
		err := readable(dir)
		if err == nil {
			return dir, true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			problem = err
		}
	}
	if len(dirs) > 0 {
		path = dirs[0]
	}
	return path, false, problem
}

func readable(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.ReadDir(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
