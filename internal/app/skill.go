package app

import (
	"context"
	"path/filepath"
	"time"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/all"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/skill"
)

// newSkills makes what writes into agents' files, and cleans up after a write
// that was interrupted.
func (s *service) newSkills(ctx context.Context, h agent.Home, bus *event.Bus) (*skill.Skills, error) {
	skills := &skill.Skills{
		Agents:   all.Agents(),
		Teaching: skill.Teach(h, s.options.Executable, s.homeFlags()...),
		Installs: s.db,
		Backups:  filepath.Join(s.home.Backups(), "agents"),
		Permitted: func() bool {
			permission, _ := s.consent()
			return permission.MayWriteSkill()
		},
		Bus: bus, Log: s.log, Now: time.Now,
	}
	if err := skills.Recover(ctx); err != nil {
		// The files are whole, each by itself; the next start tries again.
		s.log.Error("clean up after a write into agents' files that was interrupted", "err", err)
	}
	return skills, ctx.Err()
}

// homeFlags are what leads a program that an agent starts to this home. The
// usual one needs none.
func (s *service) homeFlags() []string {
	usual, err := home.Default(func(string) string { return "" }, func() (string, error) { return s.options.UserHome, nil })
	if err == nil && usual == s.home.Dir() {
		return nil
	}
	return []string{"--home", s.home.Dir()}
}
