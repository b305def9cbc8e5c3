package app

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/settings"
)

// How the settings file is looked at. It is asked for its state instead of
// watched: the databases are in the same directory, and every write to them
// would wake a watcher.
const (
	lookEvery    = 2 * time.Second
	settingsRest = 100 * time.Millisecond // a changed file is read once it has been left alone for so long
)

// config is the settings in force. While it runs they follow the file; a file
// that is not valid changes nothing.
type config struct {
	sources settings.Sources
	level   *slog.LevelVar // follows log.level
	heed    func()         // called after the settings in force changed; may be nil

	mu      sync.Mutex // guards what follows
	current settings.Settings
	fault   string // why the file is not in force, for people; "" if it is

	read fs.FileInfo // the file as it was read last, nil if there was none; belongs to Run
}

// loadConfig returns the settings that the sources give now.
func loadConfig(from settings.Sources) (*config, error) {
	c := &config{sources: from, level: new(slog.LevelVar), read: stat(from.File)}
	set, err := settings.Load(from)
	if err != nil {
		return nil, err
	}
	c.current = set
	c.level.Set(set.Log.Level)
	return c, nil
}

// get returns the settings in force.
func (c *config) get() settings.Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// problem says why the file is not in force, "" if it is.
func (c *config) problem() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// follow keeps the settings in force those of the file until ctx ends. Who has
// to act on other ones is told by changed.
func (c *config) follow(ctx context.Context, bus *event.Bus, log *slog.Logger, changed func(settings.Settings)) error {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	seen := c.read
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		next, now := lookEvery, stat(c.sources.File)
		switch {
		case same(now, c.read):
		case !same(now, seen):
			next = settingsRest // somebody may still be writing
		default:
			c.read = now
			c.reload(bus, log, changed)
		}
		seen = now
		timer.Reset(next)
	}
}

// reload reads the settings anew and says what became different.
func (c *config) reload(bus *event.Bus, log *slog.Logger, changed func(settings.Settings)) {
	next, err := settings.Load(c.sources)
	c.mu.Lock()
	before, fault := c.current, c.fault
	c.fault = ""
	if err != nil {
		c.fault = strings.ReplaceAll(err.Error(), c.sources.File, "config.yaml")
	} else {
		c.current = next
		c.level.Set(next.Log.Level)
	}
	told := c.fault == fault
	c.mu.Unlock()

	if err != nil {
		if !told {
			log.Error("read the settings; those before stay in force", "err", err)
			bus.Publish(ambry.SettingsChanged{Section: "config", Fields: []string{}})
		}
		return
	}
	keys, restart := before.Changed(next)
	if len(keys) == 0 && told {
		return
	}
	changed(next)
	log.Info("the settings changed", "keys", keys, "after_restart", restart)
	for _, w := range next.Warnings {
		log.Warn("settings", "warning", w)
	}
	if c.heed != nil {
		c.heed()
	}
	bus.Publish(ambry.SettingsChanged{Section: "config", Fields: append([]string{}, keys...), Restart: restart})
}

// stat returns how a file is, nil if there is none to read.
func stat(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
