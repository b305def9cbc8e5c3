package mcp

import (
	"context"
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

	session *mcp.ServerSession // nil until the session has begun
	open    int                // requests and streams that are running
	used    bool               // its client has come back since it began
	last    time.Time
}

// places are the sessions there are. There is room for so many; a new one may
// take the place of one that is not in use, first of all of one that was begun
// and never used.
type places struct {
	max  int
	idle time.Duration
	now  func() time.Time

	mu      sync.Mutex
	all     []*place
	closed  bool
	closing sync.WaitGroup
}

// take makes room for a session that is about to begin. Leave it.
func (s *places) take(life context.Context) (*place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ambry.MemoryUnavailable.Errorf("the service is stopping")
	}
	s.sweep()
	if len(s.all) >= s.max && !s.evict() {
		return nil, &ambry.Error{Kind: ambry.RateLimited, Message: "too many sessions are in use; end one", RetryAfter: 5}
	}
	p := &place{open: 1, last: s.now()}
	p.life, p.quit = context.WithCancel(life)
	s.all = append(s.all, p)
	return p, nil
}

// fill gives a place the session that has begun.
func (s *places) fill(p *place, session *mcp.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.session = session
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

// leave is called when a request is done. A place whose session did not begin is
// free again.
func (s *places) leave(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.open--
	p.last = s.now()
	if p.session == nil {
		s.all = slices.DeleteFunc(s.all, func(one *place) bool { return one == p })
		p.quit()
	}
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
	p := s.all[i]
	s.all = slices.Delete(s.all, i, i+1)
	s.mu.Unlock()
	p.quit()
	return p.session.Close()
}

// close ends all sessions and waits for their end. None begins after it.
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
	if p.session != nil {
		s.closing.Go(func() { _ = p.session.Close() }) // it has ended, whatever it says
	}
}
