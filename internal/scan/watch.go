package scan

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// How the watcher paces itself. A change is read once its file has been quiet
// for settle, or was first seen patience ago; and a file that took long to read
// is left alone for as long again, several times over.
const (
	settle    = 80 * time.Millisecond
	patience  = 250 * time.Millisecond
	restRatio = 5

	linger     = 300 * time.Millisecond // before what is new is read unasked: who gave the consent may ask
	sweepEvery = 30 * time.Minute       // everything again, for changes that were missed
	pollEvery  = time.Minute            // the same when the system cannot watch
)

// watch reads what is new unasked, as far as the person permits it and wants it,
// until ctx ends.
func (s *Scanner) watch(ctx context.Context) {
	for {
		consent, prefs := s.Consent()
		watching, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if consent.MayScan() && (prefs.WatchFileChanges || prefs.AutoScanKnownAgents) {
				s.follow(watching, prefs)
			}
		}()
		select {
		case <-s.changed:
		case <-ctx.Done():
		}
		stop()
		<-ended
		if ctx.Err() != nil {
			return
		}
	}
}

// follow catches up with what changed while nobody looked, and again now and
// then (AutoScanKnownAgents), and reads changes as they happen
// (WatchFileChanges).
func (s *Scanner) follow(ctx context.Context, prefs ambry.ScanPreferences) {
	w := &watcher{scanner: s, sweeps: prefs.AutoScanKnownAgents, pending: map[string]pending{}, rests: map[string]time.Time{}, watched: map[string]bool{}}
	if !prefs.WatchFileChanges {
		w.loop(ctx, nil, nil, sweepEvery)
		return
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		s.Logger.Warn("watch for changes; polling instead", "err", err)
		w.sweeps = true
		w.loop(ctx, nil, nil, pollEvery)
		return
	}
	defer notify.Close()
	w.notify = notify
	w.addRoots()
	w.loop(ctx, notify.Events, notify.Errors, sweepEvery)
}

// watcher turns changes of files into small scans.
type watcher struct {
	scanner *Scanner
	notify  *fsnotify.Watcher // nil when the system cannot watch
	sweeps  bool              // everything is looked at, at first and now and then
	full    bool              // the system has no more watches
	watched map[string]bool
	pending map[string]pending
	rests   map[string]time.Time // when a file may be read again
}

type pending struct{ first, last time.Time }

func (w *watcher) loop(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error, every time.Duration) {
	if w.full {
		every = pollEvery
	}
	first := time.NewTimer(linger)
	defer first.Stop()
	sweeps := time.NewTicker(every)
	defer sweeps.Stop()
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-first.C:
			if w.sweeps && !w.scanner.asked() {
				w.scanner.startUnasked()
			}
		case <-sweeps.C:
			w.addRoots()
			if w.sweeps || w.full {
				w.scanner.startUnasked()
			}
		case e := <-events:
			w.see(e)
		case err := <-errs:
			// Events were lost: what they were about is found by looking at everything.
			w.scanner.Logger.Warn("watch for changes", "err", err)
			w.scanner.startUnasked()
		case <-due.C:
			w.read(ctx)
		}
		due.Reset(w.wait())
	}
}

// addRoots watches the directories of all histories. Directories that do not
// exist yet are found through their parent.
func (w *watcher) addRoots() {
	if w.notify == nil {
		return
	}
	for _, a := range w.scanner.chosen(ambry.AllSources) {
		for _, root := range a.History.Roots(w.scanner.Home) {
			if _, err := os.Stat(root); err != nil {
				w.addMissing(root)
				continue
			}
			w.addTree(root, false)
		}
	}
}

// addMissing watches the nearest existing parent of a root below the home
// directory, so that an agent that is installed later is seen.
func (w *watcher) addMissing(root string) {
	home := w.scanner.Home.Dir
	for dir := filepath.Dir(root); ; dir = filepath.Dir(dir) {
		rel, err := filepath.Rel(home, dir)
		if err != nil || !filepath.IsLocal(rel) {
			return
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			w.add(dir)
			return
		}
	}
}

// addTree watches a directory and all below it. With news set, the files in it
// count as changed: they may be older than the watch.
func (w *watcher) addTree(dir string, news bool) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // told by the scan that reads it
		case e.IsDir() && !w.ours(path):
			return filepath.SkipDir
		case e.IsDir():
			w.add(path)
		case e.Type()&fs.ModeSymlink != 0 && !news:
			w.addLink(path)
		case news:
			w.touch(path)
		}
		return nil
	})
}

// addLink watches the directory that a link in a history leads to.
func (w *watcher) addLink(path string) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		w.add(path)
	}
}

func (w *watcher) add(dir string) {
	if w.full || w.watched[dir] {
		return
	}
	if err := w.notify.Add(dir); err != nil {
		w.full = true
		w.scanner.Logger.Warn("no more directories can be watched; looking at them every minute instead (on Linux, raise fs.inotify.max_user_watches)", "err", err)
		return
	}
	w.watched[dir] = true
}

func (w *watcher) see(e fsnotify.Event) {
	switch {
	case e.Has(fsnotify.Create):
		info, err := os.Stat(e.Name)
		if err != nil {
			return
		}
		if info.IsDir() {
			if w.ours(e.Name) {
				w.addTree(e.Name, true)
			}
			return
		}
		w.touch(e.Name)
	case e.Has(fsnotify.Write):
		w.touch(e.Name)
	case e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename):
		delete(w.watched, e.Name)
	}
}

// ours reports whether something of a history may change in a directory, or
// the directory leads to one.
func (w *watcher) ours(dir string) bool {
	home := w.scanner.Home
	for _, a := range w.scanner.chosen(ambry.AllSources) {
		picky, ok := a.History.(agent.Watcher)
		for _, root := range a.History.Roots(home) {
			inside := below(root, dir)
			if inside && (!ok || picky.Watch(home, dir)) || !inside && below(dir, root) {
				return true
			}
		}
	}
	return false
}

func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func (w *watcher) touch(path string) {
	now := time.Now()
	p, ok := w.pending[path]
	if !ok {
		p.first = now
	}
	p.last = now
	w.pending[path] = p
}

// ready says when a pending path is to be read.
func (w *watcher) ready(path string, p pending) time.Time {
	at := p.last.Add(settle)
	if limit := p.first.Add(patience); at.After(limit) {
		at = limit
	}
	if rest := w.rests[path]; at.Before(rest) {
		at = rest
	}
	return at
}

// wait is how long until the next pending path is ready.
func (w *watcher) wait() time.Duration {
	next := time.Now().Add(time.Hour)
	for path, p := range w.pending {
		if at := w.ready(path, p); at.Before(next) {
			next = at
		}
	}
	return max(time.Until(next), 0)
}

// read scans the pending files that are ready.
func (w *watcher) read(ctx context.Context) {
	now := time.Now()
	var paths []string
	for path, p := range w.pending {
		if !w.ready(path, p).After(now) {
			paths = append(paths, path)
			delete(w.pending, path)
		}
	}
	if len(paths) == 0 {
		return
	}
	w.scanner.readPaths(ctx, paths)
	end := time.Now()
	for path, at := range w.rests {
		if at.Before(end) {
			delete(w.rests, path)
		}
	}
	for _, path := range paths {
		w.rests[path] = end.Add(restRatio * end.Sub(now) / time.Duration(len(paths)))
	}
}

// readPaths reads what changed in some files.
func (s *Scanner) readPaths(ctx context.Context, paths []string) {
	t := newTally(s, nil)
	var tasks []task
	for _, a := range s.chosen(ambry.AllSources) {
		var sources []agent.Source
		seen := map[string]bool{}
		for _, path := range paths {
			if src, ok := a.History.Locate(s.Home, path); ok && !seen[src.Path] {
				seen[src.Path] = true
				sources = append(sources, src)
			}
		}
		if len(sources) == 0 {
			continue
		}
		for _, src := range sources {
			mark, err := s.Marks.Mark(ctx, a.ID, src.Path)
			if err != nil {
				t.fail(a.ID, src.Path, err)
				continue
			}
			if from := decode(mark.Mark); !from.Covers(src) {
				tasks = append(tasks, task{agent: a, source: src, from: from})
			}
		}
	}
	if err := (&pipe{scanner: s, tally: t}).run(ctx, tasks); err != nil && ctx.Err() == nil {
		s.Logger.Error("read changed history", "err", err)
	}
}
