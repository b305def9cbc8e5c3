package mcp

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

// placeKey is where a request's context keeps the place of its session.
type placeKey struct{}

// place is what one session takes up. The fields below life are guarded by the
// mutex of the places.
type place struct {
	life context.Context // ends with the session
	quit context.CancelFunc

	session *mcp.ServerSession // nil until the session begins
	open    int                // requests and streams that are running
	used    bool               // its client has come back since it began
	last    time.Time
}

// places are the sessions there are. There is room for so many; a new one may
// take the place of one that is not in use, first of all of one that was begun
// and never used.
type places struct {
	max   int
	idle  time.Duration
	now   func() time.Time
	alive func() iter.Seq[*mcp.ServerSession] // the sessions that have not ended

	mu      sync.Mutex
	all     []*place
	closed  bool
	closing sync.WaitGroup // sessions that begin, and such that are ending
}

// errStopping is for sessions that come too late.
var errStopping = ambry.MemoryUnavailable.Errorf("the service is stopping")

// take makes room for a session that is about to begin. Call begun after that.
func (s *places) take(life context.Context) (*place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errStopping
	}
	s.sweep()
	if len(s.all) >= s.max && !s.evict() {
		return nil, &ambry.Error{Kind: ambry.RateLimited, Message: "too many sessions are in use; end one", RetryAfter: 5}
	}
	p := &place{open: 1, last: s.now()}
	p.life, p.quit = context.WithCancel(life)
	s.all = append(s.all, p)
	s.closing.Add(1)
	return p, nil
}

// fill gives a place the session that begins in it, before anybody can hear of
// it. A place that is not there any more takes none: nobody would end it.
func (s *places) fill(p *place, session *mcp.ServerSession) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.all, p) {
		return errStopping
	}
	p.session = session
	return nil
}

// begun is called when the request that begins a session is done. A place whose
// session did not begin, or has ended already, is free again.
func (s *places) begun(p *place) {
	defer s.closing.Done()
	s.leave(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.all, p); i >= 0 && !s.lives(p.session) {
		s.all = slices.Delete(s.all, i, i+1)
		p.quit()
	}
}

// lives reports whether a session has not ended, by itself too.
func (s *places) lives(session *mcp.ServerSession) bool {
	for one := range s.alive() {
		if one == session {
			return true
		}
	}
	return false
}

// enter finds the place of a session, which stays while it is in use. Leave it.
func (s *places) enter(id string) (*place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	i := s.index(id)
	if i < 0 {
		return nil, errNoSession
	}
	p := s.all[i]
	p.open++
	p.used = true
	return p, nil
}

// errNoSession is what the protocol wants a client to begin anew after.
var errNoSession = ambry.NotFound.Errorf("this session does not exist, or has ended; begin a new one with initialize, without its id")

// leave is called when a request is done.
func (s *places) leave(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.open--
	p.last = s.now()
}

// end ends a session, with its streams and what is being done for it.
func (s *places) end(id string) error {
	s.mu.Lock()
	s.sweep()
	i := s.index(id)
	if i < 0 {
		s.mu.Unlock()
		return errNoSession
	}
	p, session := s.all[i], s.all[i].session
	s.all = slices.Delete(s.all, i, i+1)
	s.mu.Unlock()
	p.quit()
	return session.Close()
}

// close ends all sessions and waits for their end, also of those that are about
// to begin. None begins after it.
func (s *places) close() {
	s.mu.Lock()
	s.closed = true
	for len(s.all) > 0 {
		s.remove(len(s.all) - 1)
	}
	s.mu.Unlock()
	s.closing.Wait()
}

func (s *places) index(id string) int {
	return slices.IndexFunc(s.all, func(p *place) bool { return p.session != nil && p.session.ID() == id })
}

// sweep removes sessions that nobody has used for long.
func (s *places) sweep() {
	for i := len(s.all) - 1; i >= 0; i-- {
		if p := s.all[i]; p.open == 0 && s.now().Sub(p.last) > s.idle {
			s.remove(i)
		}
	}
}

// evict removes the session that is missed least, and reports whether there is
// one that is not in use.
func (s *places) evict() bool {
	least := -1
	for i, p := range s.all {
		if p.open == 0 && (least < 0 || p.missedLessThan(s.all[least])) {
			least = i
		}
	}
	if least >= 0 {
		s.remove(least)
	}
	return least >= 0
}

func (p *place) missedLessThan(o *place) bool {
	if p.used != o.used {
		return o.used
	}
	return p.last.Before(o.last)
}

// remove takes a session out; it ends by itself, since that may take a moment.
func (s *places) remove(i int) {
	p := s.all[i]
	s.all = slices.Delete(s.all, i, i+1)
	p.quit()
	if session := p.session; session != nil {
		s.closing.Go(func() { _ = session.Close() }) // it has ended, whatever it says
	}
}
