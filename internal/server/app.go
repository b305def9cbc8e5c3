package server

import (
	"cmp"
	"context"
	"errors"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

func (s *Server) bootstrap(ctx context.Context, _ *web.None) (*web.JSON[ambry.Bootstrap], error) {
	b := ambry.Bootstrap{Version: s.Version, Health: s.Health(ctx)}
	b.Health.LocalAPI, b.Health.Cloud = ambry.HealthOK, cmp.Or(b.Health.Cloud, ambry.HealthOff)
	var errs [5]error
	b.App, errs[0] = s.AppSettings.Load(ctx)
	b.Onboarding, errs[1] = s.Onboarding.Load(ctx)
	b.Privacy, errs[2] = s.Privacy.Load(ctx)
	b.ScanPreferences, errs[3] = s.ScanPreferences.Load(ctx)
	b.TokenUsage, errs[4] = s.Models.TokenUsage(ctx)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	// A keychain that does not answer must not keep a front end from starting;
	// GET /api/account/session says why.
	b.Account, _ = s.Account.Known(ctx)
	return web.Reply(b), nil
}
