package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/gateway"
	"ambry.dev/ambry/internal/hook"
	"ambry.dev/ambry/internal/scan"
	"ambry.dev/ambry/internal/state"
)

// newSpool returns what takes the turns that the hooks of agents kept.
func (s *service) newSpool(memory *memoryRuntime) *hook.Spool {
	return &hook.Spool{
		Dir: s.home.Hooks(), Turns: memory, Logger: s.log,
		Permitted: func() bool {
			permission, _ := s.consent()
			return permission.MayScan()
		},
	}
}

// hookWait is how long the service works on a hook, from its call. The process that
// the agent waits for has a little more patience, see package door: it does then
// what the service has not done.
const hookWait = 700 * time.Millisecond

// hooks answers hooks for the processes that agents start for them: what takes such
// a process most of its time is ready here.
type hooks struct{ hook hook.Hook }

func (s *service) newHooks(memory *memoryRuntime) hooks {
	return hooks{hook.Hook{
		Dir: s.home.Hooks(), Getenv: func(string) string { return "" }, Wait: 2 * hookWait, // Answer ends sooner
		Find: func() (hook.Memory, string, error) { return memory, hook.Instance(s.file.PID, s.file.StartedAt), nil },
	}}
}

// Answer answers a hook, unless that takes what only the process has that the
// agent started.
func (h hooks) Answer(ctx context.Context, agent, event string, at time.Time, said []byte) ([]byte, error) {
	if !hook.Anywhere(agent) {
		return nil, ambry.NotFound.Errorf("the hooks of this agent are answered where it starts them")
	}
	if at.IsZero() {
		at = time.Now()
	}
	ctx, cancel := context.WithDeadline(ctx, at.Add(hookWait))
	defer cancel()
	if ctx.Err() == nil { // else its process may have done all itself
		one := h.hook
		one.Now = func() time.Time { return at }
		out := one.Answer(ctx, agent, event, bytes.NewReader(said))
		if ctx.Err() == nil {
			return out, nil
		}
	}
	return nil, ambry.MemoryTimeout.Errorf("this hook was called too long ago")
}

// consenting are the scans, and with them the hooks, which need the same
// consent.
type consenting struct {
	*scan.Scanner
	spool *hook.Spool
	log   *slog.Logger
}

// ConsentChanged is called after the consent or the preferences changed. Once it
// has returned, hooks heed it.
func (c consenting) ConsentChanged() {
	if err := c.spool.Heed(); err != nil {
		c.log.Error("tell the hooks of agents of the consent", "err", err)
	}
	c.Scanner.ConsentChanged()
}

// resetting is what the service knows; when it is deleted, the consent is too.
type resetting struct {
	*state.DB
	scans    consenting
	channels *gateway.Gateway
}

// Reset deletes everything.
func (r resetting) Reset(ctx context.Context) error {
	err := errors.Join(r.channels.Forget(ctx), r.DB.Reset(ctx))
	r.scans.ConsentChanged()
	return err
}
