package server

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// LocalData keeps what a person's data is.
type LocalData interface {
	Sizes(ctx context.Context) (ambry.DataSizes, error)
	Reveal(ctx context.Context) (ambry.DataRevealed, error)
	Export(ctx context.Context, in ambry.ExportData) (ambry.DataExported, error)
	Import(ctx context.Context, in ambry.ImportData) (ambry.DataImported, error)
	Check(ctx context.Context, in ambry.DataCheck) (ambry.DataChecked, error)
	Delete(ctx context.Context, in ambry.DeleteData) (ambry.DataDeleted, error)
}

// MemoryCare is what a person can have done with the memory's file.
type MemoryCare interface {
	Backup(ctx context.Context) (ambry.BackupMade, error)
	Rebuild(ctx context.Context) error
}

func (s *Server) backupData(ctx context.Context, _ *web.None) (*web.JSON[ambry.BackupMade], error) {
	return answered(s.Care.Backup(ctx))
}

func (s *Server) rebuildData(ctx context.Context, _ *web.None) (*web.JSON[done], error) {
	return answered(done{OK: true}, s.Care.Rebuild(ctx))
}

func (s *Server) dataSizes(ctx context.Context, _ *web.None) (*web.JSON[ambry.DataSizes], error) {
	return answered(s.Data.Sizes(ctx))
}

func (s *Server) revealData(ctx context.Context, _ *web.None) (*web.JSON[ambry.DataRevealed], error) {
	return answered(s.Data.Reveal(ctx))
}

func (s *Server) exportData(ctx context.Context, in *struct {
	Body *ambry.ExportData // absent means an archive in our own directory
},
) (*web.JSON[ambry.DataExported], error) {
	var e ambry.ExportData
	if in.Body != nil {
		e = *in.Body
	}
	return answered(s.Data.Export(ctx, e))
}

func (s *Server) importData(ctx context.Context, in *patch[ambry.ImportData]) (*web.JSON[ambry.DataImported], error) {
	return answered(s.Data.Import(ctx, in.Body))
}

func (s *Server) checkData(ctx context.Context, in *patch[ambry.DataCheck]) (*web.JSON[ambry.DataChecked], error) {
	return answered(s.Data.Check(ctx, in.Body))
}

// deleteData goes on when the caller goes away: half of it would be worse.
func (s *Server) deleteData(ctx context.Context, in *patch[ambry.DeleteData]) (*web.JSON[ambry.DataDeleted], error) {
	return answered(s.Data.Delete(context.WithoutCancel(ctx), in.Body))
}

func answered[T any](body T, err error) (*web.JSON[T], error) {
	if err != nil {
		return nil, err
	}
	return web.Reply(body), nil
}
