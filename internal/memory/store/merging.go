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
		var mend mending
		for {
			select {
			case <-ctx.Done():
				return
			case <-m.worse:
				mend.index(ctx, s)
			case <-m.more:
				s.tidyIndex(ctx, index.Few)
				quiet.Reset(untilQuiet)
			case <-quiet.C:
				s.tidyIndex(ctx, index.Fewest)
			}
		}
	})
}

// untilQuiet is how long nothing must have been saved, from the start, too, until there
// is time to leave as few files as is worth it: a search looks up each of its words in
// every one of them.
const untilQuiet = 3 * time.Second

// tidyIndex merges files.
func (s *Store) tidyIndex(ctx context.Context, aim index.Aim) {
	if err := s.searched(s.mergeSome(ctx, aim)); err != nil && ctx.Err() == nil {
		s.log.Error("merge the text index", "err", err)
	}
}

// mendAgain is how long an index that could not be made anew is left alone: to try takes
// minutes, and until the person has helped it is in vain.
const mendAgain = 10 * time.Minute

// mending makes an index anew that is said to be damaged.
type mending struct {
	whole  bool      // it was looked through, and it was not
	failed time.Time // when it could not be made anew
}

// index looks first: a disk that gave nothing for a moment is no damage. Who is told of
// damage in an index that was whole does not look again.
func (m *mending) index(ctx context.Context, s *Store) {
	if time.Since(m.failed) < mendAgain {
		return
	}
	if m.whole = !m.whole && s.index.Verify() == nil; m.whole {
		s.log.Warn("a file of the text index could not be read; now it can")
		return
	}
	s.log.Warn("the text index is damaged; it is made anew")
	if err := s.Rebuild(ctx); err != nil && ctx.Err() == nil {
		m.failed = time.Now()
		s.log.Error("make the text index anew", "err", err)
	}
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

// mergeSome merges until there are so few files.
func (s *Store) mergeSome(ctx context.Context, aim index.Aim) error {
	for {
		c, err := s.index.Merge(ctx, aim)
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
