package server

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

func (s *Server) listSources(ctx context.Context, _ *web.None) (*web.JSON[[]ambry.AgentSource], error) {
	return web.Reply(s.Skills.Show(ctx, s.Scans.List(ctx))), nil
}

type startScan struct {
	Body *ambry.ScanRequest // absent means all that is new
}

func (s *Server) startScan(_ context.Context, in *startScan) (*web.JSON[ambry.ScanStarted], error) {
	var r ambry.ScanRequest
	if in.Body != nil {
		r = *in.Body
	}
	started, err := s.Scans.Start(r)
	if err != nil {
		return nil, err
	}
	return web.Reply(started), nil
}

func (s *Server) scanStatus(context.Context, *web.None) (*web.JSON[ambry.ScanStatus], error) {
	return web.Reply(s.Scans.Status()), nil
}

type done struct {
	OK bool `json:"ok"`
}

func (s *Server) stopScan(ctx context.Context, _ *web.None) (*web.JSON[done], error) {
	if err := s.Scans.Stop(ctx); err != nil {
		return nil, err
	}
	return web.Reply(done{OK: true}), nil
}

func (s *Server) addSource(ctx context.Context, in *struct{ Body ambry.NewSource }) (*web.JSON[ambry.AgentSource], error) {
	return answered(s.Scans.Add(ctx, in.Body))
}

func (s *Server) removeSource(ctx context.Context, in *struct {
	SourceID string `path:"sourceId" maxLength:"128" doc:"A source that was added"`
},
) (*web.JSON[done], error) {
	return answered(done{OK: true}, s.Scans.Remove(ctx, in.SourceID))
}
