package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/index"
)

// merging merges the files of the index in the background, so that there are few,
// and makes an index anew that is damaged.
type merging struct {
	wait   sync.WaitGroup
	cancel context.CancelFunc
	check  bool // whether the index was not looked through when it was opened
	more   chan struct{}
	worse  chan struct{} // it is damaged
}

func newMerging() merging {
	return merging{more: make(chan struct{}, 1), worse: make(chan struct{}, 1)}
}

func (m *merging) start(s *Store) {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.wait.Go(func() {
		if m.check {
			_ = s.searched(s.index.Verify())
		}
		quiet := time.NewTimer(untilQuiet)
		defer quiet.Stop()
		hopeless := false // then only the person can help
		for {
			select {
			case <-ctx.Done():
				return
			case <-m.worse:
				hopeless = hopeless || !s.mendIndex(ctx)
			case <-m.more:
				s.tidyIndex(ctx, false)
				quiet.Reset(untilQuiet)
			case <-quiet.C:
				if s.index.Len() <= fewMemories && len(s.index.Segments()) > fewFiles {
					s.tidyIndex(ctx, true)
				}
			}
		}
	})
}

// A few memories that are in several files, as an import or a day leaves them, are
// brought into one when there was no new one for a while: a search reads each of its
// words in every file.
const (
	fewMemories = 1 << 15
	fewFiles    = 2
	untilQuiet  = 3 * time.Second // from the start, too, when there is enough to do
)

// tidyIndex merges files, all if that is asked for.
func (s *Store) tidyIndex(ctx context.Context, all bool) {
	if err := s.searched(s.mergeSome(ctx, all)); err != nil && ctx.Err() == nil {
		s.log.Error("merge the text index", "err", err)
	}
}

// mendIndex reports whether the index could be made anew.
func (s *Store) mendIndex(ctx context.Context) bool {
	s.log.Warn("the text index is damaged; it is made anew")
	err := s.Rebuild(ctx)
	if err != nil && ctx.Err() == nil {
		s.log.Error("make the text index anew", "err", err)
	}
	return err == nil
}

// searched gives an error of the index its kind. One that says that the index is
// damaged has it made anew.
func (s *Store) searched(err error) error {
	if !errors.Is(err, index.ErrDamaged) {
		return err
	}
	wake(s.merge.worse)
	return ambry.MemoryUnavailable.Wrap(err, `the text index is damaged and is being made anew; if that does not help, see "ambry doctor"`)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (m *merging) wake() { wake(m.more) }

func (m *merging) stop() {
	if m.cancel != nil {
		m.cancel()
	}
	m.wait.Wait()
}

// errMerged says that the files were merged otherwise meanwhile.
var errMerged = errors.New("these files are gone")

// mergeSome merges until there are few files, or one if all is set.
func (s *Store) mergeSome(ctx context.Context, all bool) error {
	for {
		c, err := s.index.Merge(ctx, all)
		if err != nil || c == nil {
			return err
		}
		installed := false
		err = s.write(context.WithoutCancel(ctx), 1<<10, func(t *tx) error {
			if !s.index.Prepare(c) {
				return errMerged
			}
			if err := t.listFiles(c); err != nil {
				return err
			}
			t.after = append(t.after, func() {
				installed = true
				if err := s.index.Install(c); err != nil {
					s.log.Warn("merge the text index", "err", err)
				}
			})
			return nil
		})
		if !installed {
			s.index.Abandon(c)
		}
		if err != nil && !errors.Is(err, errMerged) {
			return err
		}
	}
}
