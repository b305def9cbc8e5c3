package app

import (
	"context"
	"errors"
	"log/slog"

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
