package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	tooOld    = time.Hour
	maxText   = 16 << 10 // bytes of a message; the rest is cut off
	maxID     = 500      // bytes of an id; no service has longer ones
	maxSeen   = 2048     // messages that are known when they come again
	maxTold   = 1000     // strangers of whom it is known when they were answered
	tellAgain = time.Hour
)

// What somebody may write, who is paired.
const (
	peerPause = 3 * time.Second
	peerBurst = 10
)

// peer is what is known of somebody who is paired.
type peer struct {
	pace   *rate.Limiter
	warned time.Time
}

// host is what a link passes things on to.
type host struct{ c *connection }

var _ channel.Host = host{}

// Connected says that people can write now.
func (h host) Connected(who channel.Identity) {
	h.c.mu.Lock()
	h.c.name = shown(who.Name)
	h.c.mu.Unlock()
	h.c.set(ambry.ChannelConnected, "")
}

// Cursor is what was kept last. One that cannot be read is none: what comes
// again is known by its id, or too old.
func (h host) Cursor() string {
	all, err := h.c.gateway.Cursors.Load(context.Background())
	if err != nil {
		h.c.gateway.Log.Error("read how far a channel was read", "channel", h.c.provider.ID, "err", err)
	}
	return all[h.c.id]
}

// Keep keeps a cursor.
func (h host) Keep(ctx context.Context, cursor string) error {
	_, err := h.c.gateway.Cursors.Change(ctx, func(all *ambry.ChannelCursors) error {
		if *all == nil {
			*all = ambry.ChannelCursors{}
		}
		(*all)[h.c.id] = cursor
		return nil
	})
	return err
}

// Receive takes a message. Only one of somebody who is paired is looked at for
// more than a code.
func (h host) Receive(ctx context.Context, m channel.Message, send channel.Send) error {
	c := h.c
	if m.ID == "" || m.Sender == "" || m.Chat == "" || len(m.ID)+len(m.Sender)+len(m.Chat) > 3*maxID {
		return nil
	}
	if !m.At.IsZero() && c.gateway.Now().Sub(m.At) > tooOld || m.Group && !m.Mentioned || strings.TrimSpace(m.Text) == "" {
		return nil
	}
	if len(m.Text) > maxText {
		m.Text = m.Text[:maxText]
	}
	m.Text = strings.ToValidUTF8(m.Text, "")
	setup, err := c.gateway.Setup.Load(ctx)
	if err != nil {
		return err
	}
	l := setup.Find(c.provider.ID)
	if l == nil || l.ID != c.id || !c.new(m.ID) {
		return nil
	}
	if paired(l, m.Sender) {
		c.heed(m, send)
		return nil
	}
	if err := c.stranger(ctx, m, send); err != nil {
		c.mu.Lock()
		c.seen.remove(m.ID) // it is to come again
		c.mu.Unlock()
		return err
	}
	return nil
}

// new reports whether a message was not received before.
func (c *connection) new(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.add(id, maxSeen)
}

// stranger looks whether somebody who is not paired has sent the code. Whatever
// else they send is told nothing.
func (c *connection) stranger(ctx context.Context, m channel.Message, send channel.Send) error {
	if !c.strange.AllowN(c.gateway.Now(), 1) {
		return nil
	}
	right := false
	if code := codeIn(m.Text); code != "" {
		var err error
		who := ambry.ChannelPeer{ID: m.Sender, Name: shown(m.Name), PairedAt: c.gateway.Now().UTC()}
		if right, err = c.tryCode(ctx, code, who); err != nil {
			return err
		}
	}
	if right {
		c.gateway.Log.Info("somebody was paired", "channel", c.provider.ID)
		c.gateway.told(c.provider.ID, c.id)
		c.post(m.Chat, job{send: send, say: sayPaired})
		return nil
	}
	if !m.Group && c.mayTell(digest(c.id, m.Sender)) {
		c.post(m.Chat, job{send: send, say: sayStranger})
	}
	return nil
}

// mayTell reports whether a stranger may be answered: seldom, so that nobody can
// make us talk.
func (c *connection) mayTell(who string) bool {
	now := c.gateway.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.told[who]) < tellAgain {
		return false
	}
	if len(c.told) >= maxTold {
		for id, at := range c.told {
			if now.Sub(at) >= tellAgain {
				delete(c.told, id)
			}
		}
	}
	if len(c.told) >= maxTold || !c.greet.AllowN(now, 1) {
		return false
	}
	c.told[who] = now
	return true
}

// heed takes a message of somebody who is paired.
func (c *connection) heed(m channel.Message, send channel.Send) {
	now := c.gateway.Now()
	c.mu.Lock()
	p := c.peers[m.Sender]
	if p == nil {
		p = &peer{pace: rate.NewLimiter(rate.Every(peerPause), peerBurst)}
		c.peers[m.Sender] = p
	}
	fast := !p.pace.AllowN(now, 1)
	warn := fast && now.Sub(p.warned) > time.Minute
	if warn {
		p.warned = now
	}
	c.mu.Unlock()
	switch {
	case warn:
		c.post(m.Chat, job{send: send, say: sayFast})
	case !fast:
		c.post(m.Chat, job{send: send, question: &m})
	}
}

// What we say ourselves, in both languages: whoever is not known has no other.
const (
	sayPaired   = "Paired: you may ask now. /help says what there is.\n已配对：现在可以提问了，/help 显示可用的命令。"
	sayStranger = "I answer only to people I know.\n我只回答已配对的人。"
	sayFast     = "That is faster than I can answer; wait a moment.\n发得太快了，请稍等。"
)

func sayLeftOut(n int) string {
	return fmt.Sprintf("I have left out %d messages: there were too many at a time.\n消息太多，有 %d 条没有处理。", n, n)
}

// memory knows the last ids that were added to it.
type memory struct {
	known map[string]bool
	order []string
}

// add adds an id, and reports whether it was not there.
func (m *memory) add(id string, most int) bool {
	if m.known[id] {
		return false
	}
	if m.known == nil {
		m.known = map[string]bool{}
	}
	m.known[id] = true
	if m.order = append(m.order, id); len(m.order) > most {
		delete(m.known, m.order[0])
		m.order = m.order[1:]
	}
	return true
}

func (m *memory) remove(id string) { delete(m.known, id) }
