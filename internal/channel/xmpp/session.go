package xmpp

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mellium.im/sasl"
	"mellium.im/xmlstream"
	"mellium.im/xmpp"
	"mellium.im/xmpp/jid"
	"mellium.im/xmpp/stream"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	connectWait = 30 * time.Second
	quietFor    = 40 * time.Second // after that a server is asked whether it is there
	readWait    = 75 * time.Second // a connection on which nothing comes for so long is dead
	writeWait   = 20 * time.Second
	byeWait     = 2 * time.Second

	// maxStanza is how much a server may say without an end.
	maxStanza = 1 << 20
)

// wire is a connection that nobody holds up, and that does not fill the memory.
type wire struct {
	net.Conn
	left atomic.Int64 // bytes until the next stanza has to begin
}

func (w *wire) Read(p []byte) (int, error) {
	if err := w.SetReadDeadline(time.Now().Add(readWait)); err != nil {
		return 0, err
	}
	n, err := w.Conn.Read(p)
	if w.left.Add(int64(-n)) < 0 {
		return 0, errors.New("what the server says has no end")
	}
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

// session is a connection on which we are logged in.
type session struct {
	link *link
	wire *wire
	xmpp *xmpp.Session
	line channel.Line

	acks    atomic.Bool   // the server wants to know what we have handled
	handled atomic.Uint32 // stanzas since then
	late    atomic.Bool   // no room is waited for any more

	// What follows is of the goroutine that reads.
	host   channel.Host
	rooms  map[string]*room
	told   bool // that people can write
	failed error
}

// connect logs in as a certain connection of the account.
func (l *link) connect(ctx context.Context, as jid.JID) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	way := l.security
	if way == channel.TLS {
		way = channel.StartTLS // its certificate is not for the host that is called, but for the domain
	}
	raw, err := l.Connect(ctx, l.address, way)
	if err != nil {
		return nil, err
	}
	s := &session{link: l, wire: &wire{Conn: raw}, rooms: map[string]*room{}}
	s.wire.left.Store(maxStanza)
	conn := net.Conn(s.wire)
	if l.security == channel.TLS {
		if conn, err = l.Secure(ctx, conn, l.account.Domainpart(), "xmpp-client"); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	err = s.negotiate(conn, as)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		return nil, l.refused(err)
	}
	return s, nil
}

// negotiate secures the connection if it is not, logs in, and takes an address.
func (s *session) negotiate(conn net.Conn, as jid.JID) (err error) {
	l := s.link
	mechanisms := []sasl.Mechanism{scram(sasl.ScramSha256), scram(sasl.ScramSha1)}
	var state xmpp.SessionState
	features := []xmpp.StreamFeature{xmpp.BindResource(), xmpp.StartTLS(l.TLSTo(l.account.Domainpart()))}
	if l.security == channel.NoTLS {
		state = xmpp.Secure // as far as it can be; the password itself is not sent
	} else {
		mechanisms = slices.Concat([]sasl.Mechanism{scram(sasl.ScramSha256Plus), scram(sasl.ScramSha1Plus)}, mechanisms, []sasl.Mechanism{sasl.Plain})
	}
	features = append(features, xmpp.SASL("", l.password, mechanisms...))
	s.xmpp, err = xmpp.NewSession(context.Background(), as.Domain(), as, conn, state, xmpp.NewNegotiator(
		func(*xmpp.Session, *xmpp.StreamConfig) xmpp.StreamConfig {
			return xmpp.StreamConfig{Features: features}
		}))
	if err != nil {
		return err
	}
	// A server that offers nothing is taken for one that wants nothing.
	if own := s.xmpp.LocalAddr(); s.xmpp.State()&xmpp.Authn == 0 || own.Resourcepart() == "" || !own.Bare().Equal(l.account) {
		return errors.New("the server has not let us log in as who we are")
	}
	return nil
}

// scram is a mechanism that looks at what the server says first.
func scram(m sasl.Mechanism) sasl.Mechanism {
	next := m.Next
	m.Next = func(n *sasl.Negotiator, challenge []byte, data any) (bool, []byte, any, error) {
		if n.State()&sasl.StepMask == sasl.AuthTextSent {
			if err := channel.CheckScram(challenge); err != nil {
				return false, nil, nil, err
			}
		}
		return next(n, challenge, data)
	}
	return m
}

// refused is the error of a server that does not let us in.
func (l *link) refused(err error) error {
	switch _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); {
	case untrusted:
		return channel.Insecure(l.account.Domainpart(), err)
	case notAuthorized(err):
		return ambry.Unauthorized.Wrap(err, l.host+" does not take the address and its password")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return channel.Unreachable(l.host, err)
	}
	return ambry.UpstreamFailed.Wrap(err, l.host+" does not let us log in")
}

// notAuthorized reports whether a server does not take what we log in with. The
// library's own type for that is not to be had; it tells the same as XML.
func notAuthorized(err error) bool {
	told, ok := errors.AsType[interface {
		error
		TokenReader() xml.TokenReader
	}](err)
	if !ok {
		return false
	}
	failure := false
	for r := told.TokenReader(); ; {
		t, err := r.Token()
		if start, ok := t.(xml.StartElement); ok {
			switch start.Name.Local {
			case "failure":
				failure = true
			case "not-authorized", "account-disabled", "credentials-expired":
				return failure
			}
		}
		if t == nil || err != nil {
			return false
		}
	}
}

// close says good-bye.
func (s *session) close() {
	_ = s.xmpp.Close() // the server may have gone already
	s.xmpp.Conn().Close()
	s.wire.Close()
}

// run passes on what comes until there is an error or ctx ends.
func (s *session) run(ctx context.Context, h channel.Host) error {
	s.host = h
	over, end := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() { s.keepAlive(over) })
	helpers.Go(func() {
		<-over.Done()
		force := time.AfterFunc(byeWait, func() { s.wire.Close() })
		defer force.Stop()
		s.line.Cut()
		s.bye()
	})
	err := s.begin()
	if err == nil {
		err = s.xmpp.Serve(xmpp.HandlerFunc(s.handle))
	}
	end()
	helpers.Wait()
	if s.failed != nil {
		return s.failed
	}
	if errors.Is(err, stream.Conflict) {
		return ambry.UpstreamFailed.Wrap(err, "another program has taken our place on "+s.link.host)
	}
	return ambry.UpstreamFailed.Wrap(err, s.link.host+" has ended the connection")
}

// bye tells the server what we have handled, so that it keeps the rest, and ends
// the connection.
func (s *session) bye() {
	if s.acks.Load() {
		_ = s.write(s.ack()) // if the server still hears
	}
	s.close()
}

// begin lets people see that we are there, and goes into the rooms.
func (s *session) begin() error {
	if _, ok := s.xmpp.Feature(nsAcks); ok {
		if err := s.write(element(xml.Name{Space: nsAcks, Local: "enable"})); err != nil {
			return err
		}
	}
	if err := s.write(element(xml.Name{Local: "presence"})); err != nil {
		return err
	}
	for _, address := range s.link.rooms {
		s.rooms[address.String()] = &room{address: address, nick: s.link.nick, people: map[string]string{}}
		if err := s.enter(s.rooms[address.String()]); err != nil {
			return err
		}
	}
	return nil
}

// write sends a whole element, even if nobody waits for that any more: half of
// one would end the connection.
func (s *session) write(r xml.TokenReader) error {
	return s.xmpp.Send(context.Background(), r)
}

// element is an element with attributes by name and value, and what is in it.
func element(name xml.Name, parts ...any) xml.TokenReader {
	start := xml.StartElement{Name: name}
	var inner []xml.TokenReader
	for _, p := range parts {
		switch p := p.(type) {
		case attribute:
			start.Attr = append(start.Attr, xml.Attr{Name: xml.Name{Local: p[0]}, Value: p[1]})
		case string:
			inner = append(inner, xmlstream.Token(xml.CharData(p)))
		case xml.TokenReader:
			inner = append(inner, p)
		}
	}
	return xmlstream.Wrap(xmlstream.MultiReader(inner...), start)
}

type attribute [2]string

// keepAlive asks a quiet server whether it is there; [wire.Read] sees that it does
// not answer. It also ends the wait for rooms that do not.
func (s *session) keepAlive(ctx context.Context) {
	rooms := time.NewTimer(roomWait)
	defer rooms.Stop()
	tick := time.NewTicker(quietFor)
	defer tick.Stop()
	for {
		select {
		case <-rooms.C:
			s.late.Store(true)
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		_ = s.write(ping()) // who reads sees that it failed
	}
}

func ping() xml.TokenReader {
	return element(xml.Name{Local: "iq"}, attribute{"type", "get"}, attribute{"id", "ping-" + rand.Text()},
		element(xml.Name{Space: nsPing, Local: "ping"}))
}

func (s *session) ack() xml.TokenReader {
	return element(xml.Name{Space: nsAcks, Local: "a"}, attribute{"h", strconv.FormatUint(uint64(s.handled.Load()), 10)})
}
