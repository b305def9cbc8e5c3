package irc

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	quietFor     = 40 * time.Second // after that a server is asked whether it is there
	readWait     = 75 * time.Second // a connection on which nothing comes for so long is dead
	registerWait = 60 * time.Second
	quitWait     = time.Second
	joinWait     = 15 * time.Second

	// longestLine is how long a line with tags may be; longer ones are not read.
	longestLine = 8191 + 4096
)

// session is a connection to a server. What has no lock is of the goroutine that
// reads.
type session struct {
	link  *link
	host  channel.Host // nil if nobody hears
	conn  net.Conn
	ended context.Context // over when the connection is
	limit *rate.Limiter

	calm    atomic.Bool   // the server has let us in
	saying  chan struct{} // held by who says something
	writing sync.Mutex    // guards writes to conn

	mu   sync.Mutex // guards what follows
	nick string

	tries     int
	login     login
	welcome   bool // the server has let us in
	ready     bool // it has said what it has to say
	then      func(*session) error
	mapping   string
	chanTypes string
	botMode   string
	joining   map[string]bool // channels that have not answered
	told      bool            // that people can write
	giveUp    time.Time       // when to wait no more for what is to come
}

// talk connects, registers, calls then, and reads what comes until there is an
// error or ctx ends. It closes everything.
func (l *link) talk(ctx context.Context, h channel.Host, then func(*session) error) error {
	conn, err := l.Connect(ctx, l.address, l.security)
	if err != nil {
		return err
	}
	ended, end := context.WithCancel(context.WithoutCancel(ctx))
	s := &session{
		link: l, host: h, conn: conn, ended: ended, limit: l.limiter(),
		saying: make(chan struct{}, 1), nick: l.nick, then: then,
		mapping: "rfc1459", chanTypes: "#&", joining: map[string]bool{}, giveUp: time.Now().Add(registerWait),
	}
	var helpers sync.WaitGroup
	helpers.Go(s.keepAlive)
	helpers.Go(func() {
		select {
		case <-ctx.Done():
		case <-ended.Done():
		}
		_ = s.conn.SetDeadline(time.Now()) // it stops reading
	})
	err = s.read(ctx)
	end()
	helpers.Wait()
	s.quit()
	conn.Close()
	return err
}

// quit says good-bye, and waits a little until the server has let our name go: it
// may be wanted again at once.
func (s *session) quit() {
	_ = s.conn.SetDeadline(time.Now().Add(quitWait))
	if _, err := io.WriteString(s.conn, "QUIT\r\n"); err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(s.conn, 1<<20)) // it ends in one way or another
	}
}

// keepAlive asks a quiet server whether it is there; [session.read] sees that it
// does not answer. It also asks for our name, if somebody else had it: perhaps a
// connection of ours whose end the server had not noticed.
func (s *session) keepAlive() {
	tick := time.NewTicker(quietFor)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if own := s.own(); s.calm.Load() && own != s.link.nick {
				_ = s.write(s.ended, "NICK "+s.link.nick, false)
			}
			_ = s.write(s.ended, "PING ambry", false) // who reads sees that it failed
		case <-s.ended.Done():
			return
		}
	}
}

// read registers, and hands on what comes.
func (s *session) read(ctx context.Context) error {
	if err := s.register(ctx); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(s.conn, longestLine)
	for skipping := false; ; {
		if err := s.conn.SetReadDeadline(s.deadline()); err != nil {
			return errEnded
		}
		if ctx.Err() != nil { // it may have ended before the deadline was set
			return ctx.Err()
		}
		raw, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			skipping = true
			continue
		case errors.Is(err, os.ErrDeadlineExceeded) && s.ready && !s.told && ctx.Err() == nil:
			err = s.tell() // a channel has not answered, and the line that was begun is lost
			skipping = len(raw) > 0
		case errors.Is(err, os.ErrDeadlineExceeded):
			err = ambry.UpstreamFailed.Wrap(err, s.link.host+" does not answer")
		case err != nil:
			err = ambry.UpstreamFailed.Wrap(err, s.link.host+" has ended the connection")
		case skipping:
			skipping = false
			continue
		default:
			if l, ok := parse(strings.ToValidUTF8(string(raw), "\uFFFD")); ok {
				err = s.handle(ctx, l)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (s *session) deadline() time.Time {
	at := time.Now().Add(readWait)
	if !s.told && s.giveUp.Before(at) {
		return s.giveUp
	}
	return at
}

// handle does what a line asks for.
func (s *session) handle(ctx context.Context, l line) error {
	switch l.command {
	case "PING":
		return s.write(ctx, "PONG :"+l.last(), false)
	case "ERROR":
		if !s.welcome && strings.Contains(strings.ToLower(l.last()), "password") {
			return errServerKey(s.link.host) // some servers tell it in no other way
		}
		return ambry.UpstreamFailed.Errorf("%s ends the connection: %s", s.link.host, words(l.last()))
	case "PRIVMSG":
		return s.hear(ctx, l)
	case "NICK":
		return s.renamed(ctx, l)
	case "QUIT":
		return s.regain(ctx, l.nick)
	case "JOIN", "403", "405", "407", "437", "471", "473", "474", "475", "476", "477", "489", "520":
		if s.ready {
			return s.joined(l)
		}
	case "KICK":
		if s.same(l.param(1), s.own()) {
			s.link.Log.Warn("thrown out of a channel of IRC", "channel", l.param(0))
		}
	case "005":
		s.supports(l)
	case "376", "422":
		return s.begin(ctx)
	}
	if !s.welcome {
		return s.registering(ctx, l)
	}
	return nil
}

// words is what a server says, for people.
func words(text string) string {
	if r := []rune(ambry.Plain(text)); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return ambry.Plain(text)
}

// begin does what is to be done once the server has let us in.
func (s *session) begin(ctx context.Context) error {
	if s.ready || !s.welcome {
		return nil
	}
	s.ready = true
	s.calm.Store(true)
	if s.botMode != "" {
		if err := s.write(ctx, "MODE "+s.own()+" +"+s.botMode, false); err != nil {
			return err
		}
	}
	return s.then(s)
}

// supports reads what the server says that it does.
func (s *session) supports(l line) {
	for _, p := range l.params {
		switch key, value, _ := strings.Cut(p, "="); key {
		case "CASEMAPPING":
			s.mapping = value
		case "CHANTYPES":
			s.chanTypes = value
		case "BOT":
			if len(value) == 1 {
				s.botMode = value
			}
		}
	}
}

// joinAll joins the channels.
func (s *session) joinAll() error {
	for _, r := range s.link.rooms {
		s.joining[fold(r.name, s.mapping)] = true
	}
	for _, r := range s.link.rooms {
		if err := s.write(s.ended, strings.TrimSpace("JOIN "+r.name+" "+r.key), true); err != nil {
			return err
		}
	}
	s.giveUp = time.Now().Add(joinWait)
	return s.tellWhenJoined()
}

// joined is what a channel answers: that we are in, or why not.
func (s *session) joined(l line) error {
	name := l.param(0)
	if l.command != "JOIN" {
		name = l.param(1)
	} else if !s.same(l.nick, s.own()) {
		return nil
	}
	if name = fold(name, s.mapping); !s.joining[name] {
		return nil
	}
	delete(s.joining, name)
	if l.command != "JOIN" {
		s.link.Log.Warn("a channel of IRC does not let us in", "channel", name, "code", l.command)
	}
	return s.tellWhenJoined()
}

func (s *session) tellWhenJoined() error {
	if len(s.joining) == 0 {
		return s.tell()
	}
	return nil
}

func (s *session) tell() error {
	if !s.told {
		s.told = true
		s.host.Connected(s.identity())
	}
	return nil
}

// identity is who we are.
func (s *session) identity() channel.Identity {
	if s.login.done {
		return channel.Identity{ID: s.link.account, Name: s.own()}
	}
	return channel.Identity{ID: s.own(), Name: s.own()}
}

func (s *session) own() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nick
}

func (s *session) setOwn(nick string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nick = nick
}

func (s *session) same(a, b string) bool { return fold(a, s.mapping) == fold(b, s.mapping) }

// renamed is that somebody has another name now.
func (s *session) renamed(ctx context.Context, l line) error {
	if s.same(l.nick, s.own()) {
		s.setOwn(l.param(0))
		return nil
	}
	return s.regain(ctx, l.nick)
}

// regain takes our name when somebody else has given it up.
func (s *session) regain(ctx context.Context, free string) error {
	if s.ready && s.same(free, s.link.nick) && !s.same(s.own(), s.link.nick) {
		return s.write(ctx, "NICK "+s.link.nick, false)
	}
	return nil
}

// hear passes on what somebody says to us.
func (s *session) hear(ctx context.Context, l line) error {
	target, text := l.param(0), l.last()
	_, bot := l.tags["bot"]
	switch {
	case s.host == nil, !s.ready, len(l.params) < 2, strings.HasPrefix(text, "\x01"), bot, s.same(l.nick, s.own()):
		return nil
	case l.user == "", l.nick == "", strings.ContainsAny(l.nick, ",:*?@") || strings.ContainsRune(s.chanTypes+"$~&%+", rune(l.nick[0])):
		return nil // a server, or nobody who could be answered
	}
	m := channel.Message{ID: l.tags["msgid"], Sender: s.sender(l), Name: l.nick, Text: bare(text), At: time.Now()}
	m.Chat = m.Sender // whoever has the same name later is in another conversation
	if at, err := time.Parse(time.RFC3339, l.tags["time"]); err == nil {
		m.At = at
	}
	if m.ID == "" {
		m.ID = rand.Text() // nothing is delivered twice
	}
	to, address := l.nick, ""
	if !s.same(target, s.own()) {
		if target == "" || !strings.ContainsRune(s.chanTypes, rune(target[0])) {
			return nil
		}
		m.Chat, m.Group = fold(target, s.mapping), true
		m.Text, m.Mentioned = s.spokenTo(m.Text)
		to, address = target, l.nick+": "
	}
	if m.Text == "" {
		return nil
	}
	return s.host.Receive(ctx, m, func(ctx context.Context, text string) error { return s.say(ctx, to, address, text) })
}

// sender is who says something.
func (s *session) sender(l line) string {
	if account := l.tags["account"]; account != "" && account != "*" && s.login.accounts {
		return "account/" + strings.ToLower(account) // no nickname has a slash
	}
	return fold(l.nick, s.mapping) + "!" + l.user
}

// spokenTo reports whether we are spoken to in a channel, and what is said.
func (s *session) spokenTo(text string) (string, bool) {
	own := s.own()
	rest := strings.TrimPrefix(text, "@")
	if len(rest) < len(own) || !s.same(rest[:len(own)], own) {
		return text, false
	}
	after := rest[len(own):]
	switch {
	case after == "", after[0] == ':', after[0] == ',':
	case rest != text && after[0] == ' ':
	default:
		return text, false
	}
	return strings.TrimLeft(after, ":, "), true
}
