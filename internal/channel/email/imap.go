package email

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	stepWait  = 45 * time.Second // for one thing that is asked of the server
	byeWait   = 2 * time.Second
	idleFor   = 4 * time.Minute // then it is asked anew, to see that it is there; servers end after 30
	askEvery  = time.Minute     // for mail, where the server does not tell by itself
	maxMail   = 256 << 10       // bytes that are read of a mail; what is attached comes behind the text
	maxAnswer = 1 << 20         // bytes that a server may say at a time beside that
	maxHits   = 500             // mails that are looked for at a time
)

// wire is a connection that does not fill the memory.
type wire struct {
	net.Conn
	left atomic.Int64 // bytes until we have to ask something
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if w.left.Add(int64(-n)) < 0 {
		return 0, errors.New("what the server says has no end")
	}
	return n, err
}

// mailbox is an open mailbox.
type mailbox struct {
	link   *link
	wire   *wire
	client *imapclient.Client
	news   chan struct{} // something may have come
	line   channel.Line

	validity uint32   // of the numbers of mails
	next     imap.UID // number of the next mail, 0 if the server does not tell
	at       cursor
}

// open connects, logs in, and looks into the mailbox without changing it.
func (l *link) open(ctx context.Context) (*mailbox, error) {
	conn, err := l.Connect(ctx, l.imap.address, l.imap.security)
	if err != nil {
		return nil, err
	}
	b := &mailbox{link: l, wire: &wire{Conn: conn}, news: make(chan struct{}, 1)}
	b.wire.left.Store(maxAnswer)
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err = b.login()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		if b.client != nil {
			_ = b.client.Close() // its error is that of what it did
		}
		return nil, l.refusedIMAP(err)
	}
	return b, nil
}

func (b *mailbox) login() (err error) {
	l := b.link
	options := &imapclient.Options{UnilateralDataHandler: &imapclient.UnilateralDataHandler{Mailbox: func(*imapclient.UnilateralDataMailbox) { b.tell() }}}
	if l.imap.security == channel.StartTLS {
		options.TLSConfig = l.TLSTo(l.imap.host)
		if b.client, err = imapclient.NewStartTLS(b.wire, options); err != nil {
			return err
		}
	} else {
		b.client = imapclient.New(b.wire, options)
	}
	if err := b.client.WaitGreeting(); err != nil {
		return err
	}
	if caps := b.client.Caps(); caps.Has(imap.AuthCap("PLAIN")) {
		err = b.client.Authenticate(sasl.NewPlainClient("", l.user, l.password))
	} else {
		err = b.client.Login(l.user, l.password).Wait()
	}
	if err != nil {
		return err
	}
	selected, err := b.client.Select(l.folder, &imap.SelectOptions{ReadOnly: true}).Wait()
	if err != nil {
		return fmt.Errorf("%w: %w", errFolder, err)
	}
	b.validity, b.next = selected.UIDValidity, selected.UIDNext
	return nil
}

var errFolder = errors.New("the folder cannot be opened")

// refusedIMAP is the error of a server that does not let us in.
func (l *link) refusedIMAP(err error) error {
	if errors.Is(err, errFolder) {
		return ambry.UpstreamFailed.Wrap(err, l.imap.host+" has no such folder")
	}
	if said, ok := errors.AsType[*imap.Error](err); ok && said.Type == imap.StatusResponseTypeNo && said.Code != imap.ResponseCodeUnavailable {
		return ambry.Unauthorized.Wrap(err, l.imap.host+" does not take the user and the password")
	}
	return l.broken(l.imap.host, err)
}

// broken is the error of a talk that went wrong.
func (l *link) broken(host string, err error) error {
	if e, ok := errors.AsType[*ambry.Error](err); ok {
		return e
	}
	if untrusted(err) {
		return channel.Insecure(host, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return channel.Unreachable(host, err)
	}
	return ambry.UpstreamFailed.Wrap(err, host+" has ended the connection, or does not do what it has to")
}

// tell says that something may have come.
func (b *mailbox) tell() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// ask does something that the server has to answer in time.
func (b *mailbox) ask(ctx context.Context, do func() error) error {
	b.wire.left.Store(maxAnswer + maxMail)
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { b.wire.Close() })
	err := do()
	if !stop() {
		return ctx.Err()
	}
	return err
}

// leave says good-bye.
func (b *mailbox) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), byeWait)
	defer cancel()
	_ = b.ask(ctx, func() error { return b.client.Logout().Wait() }) // the server may have gone already
	_ = b.client.Close()
}

// run passes on what comes until there is an error or ctx ends.
func (b *mailbox) run(ctx context.Context, h channel.Host) error {
	defer b.leave()
	defer b.line.Cut()
	err := b.begin(ctx, h)
	if err != nil {
		return b.link.broken(b.link.imap.host, err)
	}
	h.Connected(b.link.identity())
	for {
		if err := b.read(ctx, h); err != nil {
			return b.link.broken(b.link.imap.host, err)
		}
		if err := b.wait(ctx); err != nil {
			return b.link.broken(b.link.imap.host, err)
		}
	}
}

// wait returns when there may be something new.
func (b *mailbox) wait(ctx context.Context) error {
	if !b.client.Caps().Has(imap.CapIdle) {
		if err := b.pause(ctx, askEvery); err != nil {
			return err
		}
		return b.ask(ctx, func() error { return b.client.Noop().Wait() })
	}
	var idle *imapclient.IdleCommand
	if err := b.ask(ctx, func() (err error) {
		idle, err = b.client.Idle()
		return err
	}); err != nil {
		return err
	}
	waited := b.pause(ctx, idleFor)
	if waited != nil { // whoever has ended it does not wait long
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), byeWait)
		defer cancel()
	}
	return errors.Join(waited, b.ask(ctx, func() error { return errors.Join(idle.Close(), idle.Wait()) }))
}

// pause waits for news, at most so long.
func (b *mailbox) pause(ctx context.Context, longest time.Duration) error {
	t := time.NewTimer(longest)
	defer t.Stop()
	select {
	case <-b.news:
	case <-t.C:
	case <-b.client.Closed():
		return io.ErrUnexpectedEOF
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// cursor is how far a mailbox has been read.
type cursor struct {
	validity uint32
	last     imap.UID
	at       time.Time // when the last mail came
}

func (c cursor) String() string { return fmt.Sprintf("%d:%d:%d", c.validity, c.last, c.at.Unix()) }

func parseCursor(text string) (c cursor, ok bool) {
	var last uint32
	var at int64
	n, err := fmt.Sscanf(text, "%d:%d:%d", &c.validity, &last, &at)
	c.last, c.at = imap.UID(last), time.Unix(at, 0)
	return c, n == 3 && err == nil
}

// begin finds out from which mail on we read: what was there before we were told
// of the mailbox is not for us.
func (b *mailbox) begin(ctx context.Context, h channel.Host) error {
	if kept, ok := parseCursor(h.Cursor()); ok {
		b.at = kept
		if kept.validity != b.validity {
			return b.renumber(ctx, h)
		}
		return nil
	}
	last, err := b.newest(ctx)
	if err != nil {
		return err
	}
	b.at = cursor{b.validity, last, time.Now()}
	return h.Keep(ctx, b.at.String())
}

// newest is the number of the newest mail, 0 if there is none.
func (b *mailbox) newest(ctx context.Context) (imap.UID, error) {
	if b.next > 0 {
		return b.next - 1, nil
	}
	hits, err := b.search(ctx, &imap.SearchCriteria{UID: []imap.UIDSet{{imap.UIDRange{}}}})
	if err != nil || len(hits) == 0 {
		return 0, err
	}
	return slices.Max(hits), nil
}

// renumber finds our place again when the server has given the mails new numbers.
// Mails of the same second are read again; they are known by their ids.
func (b *mailbox) renumber(ctx context.Context, h channel.Host) error {
	since := b.at.at
	hits, err := b.search(ctx, &imap.SearchCriteria{Since: since.AddDate(0, 0, -1)}) // it knows days only, and those of the server
	if err != nil {
		return err
	}
	if b.at.last, err = b.newest(ctx); err != nil {
		return err
	}
	b.at.validity = b.validity
	for _, uid := range hits {
		came, err := b.came(ctx, uid)
		if err != nil {
			return err
		}
		if !came.Before(since) {
			b.at.last = min(b.at.last, uid-1)
			break
		}
	}
	return h.Keep(ctx, b.at.String())
}

// search returns the numbers of mails, the first ones in their order.
func (b *mailbox) search(ctx context.Context, criteria *imap.SearchCriteria) (hits []imap.UID, err error) {
	err = b.ask(ctx, func() error {
		data, err := b.client.UIDSearch(criteria, nil).Wait()
		if err != nil {
			return err
		}
		set, ok := data.All.(imap.UIDSet)
		if !ok {
			return nil
		}
		hits = numbers(set)
		return nil
	})
	return hits, err
}

// numbers are those of a set, which may be larger than can be held.
func numbers(set imap.UIDSet) (all []imap.UID) {
	slices.SortFunc(set, func(a, b imap.UIDRange) int { return int(int64(a.Start) - int64(b.Start)) })
	for _, r := range set {
		for uid := r.Start; r.Start > 0 && uid <= r.Stop && len(all) < maxHits; uid++ {
			all = append(all, uid)
			if uid == r.Stop {
				break
			}
		}
	}
	return all
}

// read passes on the mails that are new.
func (b *mailbox) read(ctx context.Context, h channel.Host) error {
	for {
		hits, err := b.search(ctx, &imap.SearchCriteria{UID: []imap.UIDSet{{imap.UIDRange{Start: b.at.last + 1}}}})
		if err != nil {
			return err
		}
		read := 0
		for _, uid := range hits {
			if uid <= b.at.last {
				continue // a server always says the last one
			}
			raw, came, err := b.fetch(ctx, uid)
			if err != nil {
				return err
			}
			err = b.line.Taking(func() error {
				if err := b.pass(ctx, h, uid, raw, came); err != nil {
					return err
				}
				b.at.last, read = uid, read+1
				if came.After(b.at.at) {
					b.at.at = came
				}
				return h.Keep(ctx, b.at.String())
			})
			if err != nil {
				return err
			}
		}
		if read == 0 || len(hits) < maxHits {
			return nil
		}
	}
}

// fetch returns the beginning of a mail, and when it came.
func (b *mailbox) fetch(ctx context.Context, uid imap.UID) (raw []byte, came time.Time, err error) {
	section := &imap.FetchItemBodySection{Peek: true, Partial: &imap.SectionPartial{Size: maxMail}}
	err = b.each(ctx, uid, &imap.FetchOptions{UID: true, InternalDate: true, BodySection: []*imap.FetchItemBodySection{section}}, func(item imapclient.FetchItemData) error {
		switch item := item.(type) {
		case imapclient.FetchItemDataInternalDate:
			came = item.Time
		case imapclient.FetchItemDataBodySection:
			if item.Literal == nil {
				return nil
			}
			raw, err = io.ReadAll(io.LimitReader(item.Literal, maxMail))
			return err
		}
		return nil
	})
	return raw, came, err
}

// came returns when a mail came.
func (b *mailbox) came(ctx context.Context, uid imap.UID) (came time.Time, err error) {
	err = b.each(ctx, uid, &imap.FetchOptions{UID: true, InternalDate: true}, func(item imapclient.FetchItemData) error {
		if item, ok := item.(imapclient.FetchItemDataInternalDate); ok {
			came = item.Time
		}
		return nil
	})
	return came, err
}

// each calls do for what the server says about a mail; nothing if it is gone.
func (b *mailbox) each(ctx context.Context, uid imap.UID, options *imap.FetchOptions, do func(imapclient.FetchItemData) error) error {
	return b.ask(ctx, func() (err error) {
		command := b.client.Fetch(imap.UIDSetNum(uid), options)
		for m := command.Next(); m != nil; m = command.Next() {
			for item := m.Next(); item != nil; item = m.Next() {
				if err == nil {
					err = do(item)
				}
			}
		}
		return errors.Join(err, command.Close())
	})
}

// pass hands a mail to the host, if it is one from a person to us.
func (b *mailbox) pass(ctx context.Context, h channel.Host, uid imap.UID, raw []byte, came time.Time) error {
	l := b.link
	m, reason := l.read(raw)
	if reason != "" {
		l.Log.Debug("a mail is passed over", "reason", reason)
		return nil
	}
	id := m.id
	if id == "" {
		id = fmt.Sprintf("%d:%d", b.validity, uid)
	}
	return h.Receive(ctx, channel.Message{
		ID: m.sender + " " + id, Chat: m.sender, Sender: m.sender, Name: m.name, Text: m.text, At: came,
	}, func(ctx context.Context, text string) error {
		return b.line.Send(ctx, func(ctx context.Context) error { return l.answer(ctx, m, text) })
	})
}
