package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"ambry.dev/ambry"
)

// failuresToGiveUp is after how many in a row an upstream no longer offers
// anything. It is tried again all the same.
const failuresToGiveUp = 5

// member is one upstream. One connection of its own keeps the lists; each
// session of ours that calls it gets another, since what an upstream asks back
// has to reach the client that called.
type member struct {
	pool    *Pool
	spec    ambry.Upstream
	changed chan struct{} // its lists may have changed
	starts  *rate.Limiter // of connections for sessions
	settled chan struct{} // closed when it is known for the first time how it is
	settle  sync.Once

	mu       sync.Mutex // guards what follows
	life     context.Context
	name     string
	health   ambry.HealthState
	reason   string
	features features
	slots    map[key]*slot
}

// fault is why an upstream is not there, for people.
type fault struct {
	why   string
	cause error
}

func (f *fault) Error() string { return f.why }
func (f *fault) Unwrap() error { return f.cause }

func newMember(p *Pool, u ambry.Upstream) *member {
	return &member{
		pool: p, spec: u, changed: make(chan struct{}, 1), starts: rate.NewLimiter(1, 2*maxLinks), settled: make(chan struct{}),
		name: u.ID, health: ambry.HealthStarting, slots: map[key]*slot{},
	}
}

// start runs the member and returns what stops it, which returns when it is
// gone.
func (m *member) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	m.mu.Lock()
	m.life = ctx
	m.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// run connects, again and again with longer and longer pauses, until ctx ends.
func (m *member) run(ctx context.Context) {
	defer m.closeAll()
	var reaper sync.WaitGroup
	defer reaper.Wait()
	reaper.Go(func() { m.reap(ctx) })
	t := m.pool.cfg.Timing
	for failures := 0; ; {
		began := time.Now()
		err := m.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > t.Stable {
			failures = 0
		}
		failures++
		m.down(err, failures)
		if !pause(ctx, min(t.Backoff<<min(failures-1, 10), t.Longest)) {
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// serve connects and keeps the lists as they are there, until the connection
// ends.
func (m *member) serve(ctx context.Context) error {
	l, err := m.connect(ctx, key{}, nil)
	if err != nil {
		return err
	}
	defer l.close()
	for {
		f, err := m.list(ctx, l.session)
		if err != nil {
			return l.blame(err)
		}
		m.up(l.session, f)
		for _, session := range m.pool.listeners(m) {
			m.rejoin(ctx, session)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.ended:
			return l.reason()
		case <-m.changed:
		}
		if !pause(ctx, m.pool.cfg.Timing.Rest) {
			return ctx.Err()
		}
	}
}

// up is called when the lists were read.
func (m *member) up(session *mcp.ClientSession, f features) {
	m.mu.Lock()
	if info := session.InitializeResult().ServerInfo; info != nil && info.Name != "" {
		m.name = short(info.Name, 128)
	}
	was := m.health
	m.health, m.reason, m.features = ambry.HealthOK, "", f
	m.mu.Unlock()
	if was != ambry.HealthOK {
		m.pool.cfg.Log.Info("upstream is ready", "upstream", m.spec.ID, "tools", len(f.tools))
	}
	m.pool.publish()
	m.settle.Do(func() { close(m.settled) })
}

// down is called when it did not connect, or the connection ended.
func (m *member) down(err error, failures int) {
	m.mu.Lock()
	m.health, m.reason = ambry.HealthUnavailable, because(err)
	if failures >= failuresToGiveUp {
		m.health, m.features = ambry.HealthFailed, features{}
	}
	log, reason := m.pool.cfg.Log, m.reason
	m.mu.Unlock()
	if failures == 1 || failures == failuresToGiveUp {
		log.Warn("upstream is not there", "upstream", m.spec.ID, "reason", reason, "failures", failures)
	}
	m.pool.publish()
	m.settle.Do(func() { close(m.settled) })
}

// because says why an upstream is not there, in our words only.
func because(err error) string {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.why
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fmt.Sprintf("refuses with the error %d of JSON-RPC", e.Code)
	}
	if e, ok := errors.AsType[*ambry.Error](err); ok {
		return e.Message
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "does not answer in time"
	}
	return "cannot be reached, or does not speak MCP"
}

func (m *member) status() ambry.UpstreamStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := ambry.UpstreamStatus{ID: m.spec.ID, Name: m.name, Transport: "stdio", Status: m.health, Reason: m.reason}
	if m.spec.URL != "" {
		s.Transport = "http"
	}
	return s
}

// current returns what the member offers now.
func (m *member) current() features {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.features
}

// timeout is how long it may be silent about a call.
func (m *member) timeout() time.Duration {
	if m.spec.Timeout > 0 {
		return m.spec.Timeout
	}
	return ambry.UpstreamTimeout
}

// key says who may share a connection: a session with nobody, clients without
// sessions with those that can do the same.
type key struct {
	session *mcp.ServerSession
	can     string
}

// slot is a connection that is there, or on its way. Its counts are guarded by
// the mutex of the member.
type slot struct {
	ready chan struct{} // closed when link or err is set
	link  *link
	err   error
	uses  int
	last  time.Time
}

func (s *slot) dead() bool {
	select {
	case <-s.ready:
	default:
		return false
	}
	if s.err != nil {
		return true
	}
	select {
	case <-s.link.ended:
		return true
	default:
		return false
	}
}

// link returns a connection for a session of ours. Call release when it is no
// longer used.
func (m *member) link(ctx context.Context, session *mcp.ServerSession) (l *link, release func(), err error) {
	k, caps := keyOf(session)
	m.pool.know(session)
	m.mu.Lock()
	s := m.slots[k]
	if s == nil || s.dead() {
		if s, err = m.begin(k, caps); err != nil {
			m.mu.Unlock()
			return nil, nil, err
		}
	}
	s.uses++
	m.mu.Unlock()
	release = func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		s.uses--
		s.last = time.Now()
	}
	select {
	case <-s.ready:
		err = s.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return s.link, release, nil
}

// begin begins to connect. The mutex is held.
func (m *member) begin(k key, caps *mcp.ClientCapabilities) (*slot, error) {
	if m.life == nil || m.life.Err() != nil {
		return nil, &fault{"is no longer in the settings", nil}
	}
	if m.health == ambry.HealthFailed {
		return nil, &fault{m.reason, nil}
	}
	if m.slots[k] == nil && len(m.slots) >= maxLinks && !m.evict() {
		return nil, &fault{"has too many connections in use", nil}
	}
	if !m.starts.Allow() {
		return nil, &fault{"was started too often just now; try again in a moment", nil}
	}
	s := &slot{ready: make(chan struct{}), last: time.Now()}
	m.slots[k] = s
	life := m.life
	go func() { // ends with the member at the latest, which waits for it in closeAll
		defer close(s.ready)
		s.link, s.err = m.connect(life, k, caps)
	}()
	return s, nil
}

// rejoin opens the connection for a session anew, if it is gone and the session
// waits to hear something over it.
func (m *member) rejoin(ctx context.Context, session *mcp.ServerSession) {
	if m.existing(session) != nil {
		return
	}
	if _, release, err := m.link(ctx, session); err == nil {
		release()
	}
}

// evict closes the connection that was used longest ago, if one is not in use.
// The mutex is held.
func (m *member) evict() bool {
	var oldest key
	found := false
	for k, s := range m.slots {
		if s.uses == 0 && (!found || s.last.Before(m.slots[oldest].last)) {
			oldest, found = k, true
		}
	}
	if found {
		m.drop(oldest)
	}
	return found
}

// drop takes a connection out; it closes by itself, since that may take a
// moment. The mutex is held.
func (m *member) drop(k key) {
	s := m.slots[k]
	delete(m.slots, k)
	go s.close()
}

func (s *slot) close() {
	<-s.ready
	if s.link != nil {
		s.link.close()
	}
}

// leave closes what was opened for a session that has ended.
func (m *member) leave(session *mcp.ServerSession) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.slots[key{session: session}]; ok {
		m.drop(key{session: session})
	}
}

// reap closes connections that nobody has used for long.
func (m *member) reap(ctx context.Context) {
	idle := m.pool.cfg.Timing.Idle
	for pause(ctx, idle/4) {
		m.mu.Lock()
		for k, s := range m.slots {
			if s.uses == 0 && time.Since(s.last) > idle && !s.listens() {
				m.drop(k)
			}
		}
		m.mu.Unlock()
	}
}

// listens reports whether a client waits for news of a resource.
func (s *slot) listens() bool {
	select {
	case <-s.ready:
		return s.link != nil && s.link.subscribed()
	default:
		return true
	}
}

// closeAll closes all connections and waits for that.
func (m *member) closeAll() {
	m.mu.Lock()
	slots := m.slots
	m.slots = map[key]*slot{}
	m.mu.Unlock()
	var closing sync.WaitGroup
	for _, s := range slots {
		closing.Go(s.close)
	}
	closing.Wait()
}
