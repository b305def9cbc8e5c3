package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"ambry.dev/ambry"
)

const (
	codeDigits = 8
	codeLife   = 10 * time.Minute
	maxWrong   = 5  // tries of one sender
	allWrong   = 20 // tries of all
)

// newPairing draws a code, and returns it as people read it.
func newPairing(now time.Time) (string, *ambry.ChannelPairing) {
	n, err := rand.Int(rand.Reader, big.NewInt(100_000_000))
	if err != nil {
		panic(err) // the system has no random numbers: it never says so
	}
	code, salt := fmt.Sprintf("%0*d", codeDigits, n), rand.Text()
	return code[:4] + "-" + code[4:], &ambry.ChannelPairing{Salt: salt, Hash: digest(salt, code), ExpiresAt: now.Add(codeLife).UTC().Truncate(time.Second)}
}

// digest is a text that nobody can read back, of which equal ones can be told.
func digest(salt, text string) string {
	sum := sha256.Sum256([]byte(salt + "\x00" + text))
	return hex.EncodeToString(sum[:])
}

// codeIn returns the code that a message consists of, "" if it is no code.
func codeIn(text string) string {
	text = strings.TrimSpace(text)
	for _, command := range []string{"/pair", "/start"} { // apps of some services send one by themselves
		text = strings.TrimPrefix(text, command)
	}
	var code strings.Builder
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			code.WriteRune(r)
		case r != ' ' && r != '-':
			return ""
		}
	}
	if code.Len() != codeDigits {
		return ""
	}
	return code.String()
}

// Pair draws a new code for a channel; the one before is void.
func (g *Gateway) Pair(ctx context.Context, id string) (ambry.ChannelCode, error) {
	p, err := g.provider(id)
	if err != nil {
		return ambry.ChannelCode{}, err
	}
	code, pairing := newPairing(g.Now())
	_, err = g.Setup.Change(ctx, func(s *ambry.ChannelSetup) error {
		l := s.Find(id)
		if l == nil {
			return ambry.Conflict.Errorf("%s is not connected", p.Name)
		}
		l.Pairing = pairing
		return nil
	})
	if err != nil {
		return ambry.ChannelCode{}, err
	}
	return ambry.ChannelCode{PairingCode: code, ExpiresAt: pairing.ExpiresAt}, nil
}

// Unpair takes somebody's permission to write.
func (g *Gateway) Unpair(ctx context.Context, id, peer string) error {
	if _, err := g.provider(id); err != nil {
		return err
	}
	link := ""
	_, err := g.Setup.Change(ctx, func(s *ambry.ChannelSetup) error {
		l := s.Find(id)
		if l == nil || !paired(l, peer) {
			return ambry.NotFound.Errorf("nobody of this id is paired")
		}
		link = l.ID
		var stay []ambry.ChannelPeer
		for _, p := range l.Peers {
			if p.ID != peer {
				stay = append(stay, p)
			}
		}
		l.Peers = stay
		return nil
	})
	if err == nil {
		g.told(id, link)
	}
	return err
}

func paired(l *ambry.ChannelLink, sender string) bool {
	for _, p := range l.Peers {
		if p.ID == sender {
			return true
		}
	}
	return false
}

var errVoid = errors.New("there is no code that this could be")

// tryCode pairs a sender if the code is right, and reports whether it was.
func (c *connection) tryCode(ctx context.Context, code string, who ambry.ChannelPeer) (bool, error) {
	right := false
	_, err := c.gateway.Setup.Change(ctx, func(s *ambry.ChannelSetup) error {
		right = false
		l := s.Find(c.provider.ID)
		if l == nil || l.ID != c.id || l.Pairing == nil {
			return errVoid
		}
		p := l.Pairing
		sender := digest(p.Salt, who.ID)[:16]
		switch {
		case c.gateway.Now().After(p.ExpiresAt):
			l.Pairing = nil
			return nil
		case p.Wrong[sender] >= maxWrong:
			return errVoid
		case subtle.ConstantTimeCompare([]byte(digest(p.Salt, code)), []byte(p.Hash)) == 1:
			right, l.Pairing = true, nil
			l.Peers = append(l.Peers, who)
			return nil
		}
		if p.Wrong == nil {
			p.Wrong = map[string]int{}
		}
		p.Wrong[sender]++
		all := 0
		for _, n := range p.Wrong {
			all += n
		}
		if all >= allWrong {
			l.Pairing = nil
		}
		return nil
	})
	if errors.Is(err, errVoid) {
		return false, nil
	}
	return right && err == nil, err
}
