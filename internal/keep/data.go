package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// parts of our directory, by the beginnings of their paths. The first that fits
// counts.
var parts = []struct{ name, begins, free string }{
	{"memory", "memory.db", `"ambry forget" deletes from it`},
	{"service", "app.db", ""},
	{"backups", "backups/", `"ambry backup --prune" deletes all but the newest`},
	{"exports", "exports/", "they are yours; delete those that you do not need"},
	{"spool", "hooks/", ""},
	{"logs", "logs/", "old ones are deleted by themselves"},
	{"damaged", "damaged/", "files that were moved aside; delete them when all is well"},
	{"other", "", ""},
}

// Sizes measures our directory.
func (k *Keeper) Sizes(ctx context.Context) (ambry.DataSizes, error) {
	out := ambry.DataSizes{DataPath: k.Home.Dir(), MeasureAt: k.Now().UTC(), Backups: []ambry.BackupMade{}}
	for _, p := range parts {
		out.Parts = append(out.Parts, ambry.DataPart{Name: p.name, Path: strings.TrimSuffix(p.begins, "/"), Free: p.free})
	}
	err := filepath.WalkDir(k.Home.Dir(), func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name, relErr := filepath.Rel(k.Home.Dir(), path)
		if err = errors.Join(err, relErr); err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		for i, p := range parts {
			if strings.HasPrefix(name, p.begins) {
				out.Parts[i].Bytes += info.Size()
				out.Parts[i].Files++
				break
			}
		}
		if file, ok := strings.CutPrefix(name, "backups/"); ok {
			out.Backups = append(out.Backups, ambry.BackupMade{Name: file, Bytes: info.Size(), MadeAt: info.ModTime().UTC()})
		}
		out.Bytes += info.Size()
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("measure our files: %w", err)
	}
	slices.SortFunc(out.Backups, func(a, b ambry.BackupMade) int { return b.MadeAt.Compare(a.MadeAt) })
	for _, p := range out.Parts {
		switch p.Name {
		case "backups", "exports", "logs", "damaged":
			out.Freeable += p.Bytes
		case "memory":
			out.PerDay = growth(p.Bytes, out.Backups, out.MeasureAt)
		}
	}
	return out, nil
}

// growth is by how many bytes a day the memory grew since its oldest backup.
func growth(now int64, backups []ambry.BackupMade, at time.Time) int64 {
	for _, b := range slices.Backward(backups) {
		if days := at.Sub(b.MadeAt).Hours() / 24; strings.HasPrefix(b.Name, "memory-") && days >= 1 {
			return int64(float64(now-b.Bytes) / days)
		}
	}
	return 0
}
