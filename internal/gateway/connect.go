package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
	"uuid"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/secret"
)

const (
	checkWait = 15 * time.Second // how long a check may take
	maxValue  = 2000             // bytes of a value
)

// plan is what a person gives to connect a channel, checked as far as that goes
// without asking the service.
type plan struct {
	values map[string]string // those that are no secrets
	secret map[string]string // those that are
}

// all are the values of a plan, also those that were not given.
func (p plan) all() map[string]string {
	all := maps.Clone(p.values)
	maps.Copy(all, p.secret)
	return all
}

func newPlan(p channel.Provider, given map[string]string) (plan, error) {
	var wrong []ambry.Field
	add := func(key, message string) { wrong = append(wrong, ambry.Field{Field: "body." + key, Message: message}) }
	out := plan{map[string]string{}, map[string]string{}}
	known := map[string]bool{}
	for _, f := range p.Fields {
		known[f.Key] = true
		value := strings.Trim(given[f.Key], " ")
		if value == "" {
			value = f.Default
		}
		if message := misfit(f, value); message != "" {
			add(f.Key, message)
		}
		if f.Kind == "secret" {
			out.secret[f.Key] = value
		} else {
			out.values[f.Key] = value
		}
	}
	for key := range given {
		if !known[key] {
			add(ambry.Plain(key), "is no field of "+p.Name)
		}
	}
	if text, err := json.Marshal(out.secret); len(wrong) == 0 && (err != nil || len(text) > secret.MaxLength) {
		add(p.Fields[0].Key, "and the other secrets are too long together")
	}
	if len(wrong) > 0 {
		return plan{}, &ambry.Error{Kind: ambry.InvalidArgument, Message: wrong[0].Field + " " + wrong[0].Message, Details: wrong}
	}
	return out, nil
}

// misfit says why a value cannot be that of a field, "" if it can.
func misfit(f ambry.ChannelField, value string) string {
	switch {
	case value == "" && f.Required:
		return "is required"
	case len(value) > maxValue:
		return fmt.Sprintf("is longer than %d bytes", maxValue)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "must be on one line"
	}
	if f.Kind == "url" && value != "" {
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
			return "must be an address such as https://chat.example.org"
		}
	}
	return ""
}

// Connect connects a channel with what a person gives by field, in the place of
// what was connected before. The service is asked first: when it does not take
// the values, nothing changes. Whoever was paired stays so if we are the same
// there.
func (g *Gateway) Connect(ctx context.Context, id string, given map[string]string) (ambry.ChannelOpened, error) {
	p, err := g.provider(id)
	if err != nil {
		return ambry.ChannelOpened{}, err
	}
	if p.New == nil {
		return ambry.ChannelOpened{Status: ambry.ChannelUnsupported, Reason: p.Unsupported}, nil
	}
	want, err := newPlan(p, given)
	if err != nil {
		return ambry.ChannelOpened{}, err
	}
	who, err := g.check(ctx, p, want)
	if err != nil {
		return ambry.ChannelOpened{}, err
	}
	l, code, err := g.keep(ctx, p, want, who)
	if err != nil {
		return ambry.ChannelOpened{}, err
	}
	opened := ambry.ChannelOpened{Status: ambry.ChannelStarting, ConnectionID: l.ID, DisplayName: l.Name}
	if code != "" {
		opened.PairingCode, opened.ExpiresAt = code, &l.Pairing.ExpiresAt
	}
	return opened, nil
}

// keep stores what was checked, and begins to hold the connection. It returns a
// code if nobody is paired.
func (g *Gateway) keep(ctx context.Context, p channel.Provider, want plan, who channel.Identity) (ambry.ChannelLink, string, error) {
	g.change.Lock()
	defer g.change.Unlock()
	l := ambry.ChannelLink{
		ID: uuid.NewV7().String(), Provider: p.ID, Values: want.values,
		Identity: who.ID, Name: shown(who.Name), ConnectedAt: g.Now().UTC(),
	}
	l.Secret = secretPrefix + l.ID
	text, err := json.Marshal(want.secret)
	if err != nil {
		return l, "", err
	}
	if err := g.Secrets.Set(ctx, l.Secret, string(text)); err != nil {
		return l, "", err
	}
	var old ambry.ChannelLink
	code := ""
	_, err = g.Setup.Change(ctx, func(s *ambry.ChannelSetup) error {
		if before := s.Find(p.ID); before != nil {
			old = *before
			if before.Identity == l.Identity && maps.Equal(before.Values, l.Values) {
				l.Peers = before.Peers
			}
		}
		if len(l.Peers) == 0 {
			code, l.Pairing = newPairing(g.Now())
		}
		s.Remove(p.ID)
		s.Links = append(s.Links, l)
		return nil
	})
	if err != nil {
		g.forget(ctx, l.Secret)
		return l, "", err
	}
	g.forget(ctx, old.Secret)
	g.Bus.Publish(ambry.ChannelChanged{Provider: p.ID, ConnectionID: l.ID, Status: ambry.ChannelStarting})
	g.replace(p.ID, &l)
	return l, code, g.dropCursor(ctx, old.ID)
}

// check asks the service who we are there, with errors for the person who gave
// the values.
func (g *Gateway) check(ctx context.Context, p channel.Provider, want plan) (channel.Identity, error) {
	select {
	case g.checks <- struct{}{}:
		defer func() { <-g.checks }()
	case <-ctx.Done():
		return channel.Identity{}, ctx.Err()
	}
	out := &exits{gateway: g}
	link, err := p.New(out.access(p, want.all()))
	if err == nil {
		var who channel.Identity
		checking, cancel := context.WithTimeout(ctx, checkWait)
		defer cancel()
		if who, err = link.Check(checking); err == nil {
			return who, nil
		}
		if checking.Err() != nil {
			err = ambry.UpstreamFailed.Wrap(err, p.Name+" does not answer within 15 seconds")
		}
	}
	g.Log.Info("a channel was not connected", "channel", p.ID, "kind", string(ambry.KindOf(err)))
	if out.refused() {
		return channel.Identity{}, ambry.Forbidden.Errorf("%w", ErrLocalOnly)
	}
	message := reason(p, err, want.secret)
	switch ambry.KindOf(err) {
	case ambry.InvalidArgument:
		e, _ := errors.AsType[*ambry.Error](err)
		refused := &ambry.Error{Kind: ambry.InvalidArgument, Message: message}
		for _, f := range e.Details {
			refused.Details = append(refused.Details, ambry.Field{Field: "body." + f.Field, Message: f.Message})
		}
		return channel.Identity{}, refused
	case ambry.Unauthorized: // here that would be about our own token
		return channel.Identity{}, ambry.VerificationFailed.Errorf("%s", message)
	}
	return channel.Identity{}, ambry.UpstreamFailed.Errorf("%s", message)
}

// reason says for people what is wrong with a connection.
func reason(p channel.Provider, err error, secrets map[string]string) string {
	text := p.Name + ": the connection was lost"
	if e, ok := errors.AsType[*ambry.Error](err); ok {
		text = e.Message
	}
	var hidden []string
	for _, s := range secrets {
		hidden = append(hidden, s)
	}
	return channel.Says(text, hidden...)
}

// Disconnect ends a channel and forgets what belongs to it. One that is not
// connected is no error.
func (g *Gateway) Disconnect(ctx context.Context, id string) error {
	if _, err := g.provider(id); err != nil {
		return err
	}
	ending, err := g.remove(ctx, id)
	if ending == nil || err != nil {
		return err
	}
	select {
	case <-ending.done:
	case <-time.After(endWait / 2):
	case <-ctx.Done():
	}
	return nil
}

// remove forgets a channel, and returns the connection that ends by that.
func (g *Gateway) remove(ctx context.Context, id string) (*connection, error) {
	g.change.Lock()
	defer g.change.Unlock()
	var gone *ambry.ChannelLink
	_, err := g.Setup.Change(ctx, func(s *ambry.ChannelSetup) error {
		if l := s.Find(id); l != nil {
			gone = new(*l)
		}
		s.Remove(id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	ending := g.replace(id, nil)
	if gone == nil {
		return ending, nil
	}
	g.forget(ctx, gone.Secret)
	g.Bus.Publish(ambry.ChannelChanged{Provider: id, ConnectionID: gone.ID, Status: ambry.ChannelDisabled})
	return ending, g.dropCursor(ctx, gone.ID)
}

// Forget ends all channels and forgets what belongs to them.
func (g *Gateway) Forget(ctx context.Context) error {
	var all []error
	for _, p := range g.Providers {
		all = append(all, g.Disconnect(ctx, p.ID))
	}
	return errors.Join(all...)
}

func (g *Gateway) dropCursor(ctx context.Context, link string) error {
	_, err := g.Cursors.Change(context.WithoutCancel(ctx), func(c *ambry.ChannelCursors) error {
		delete(*c, link)
		return nil
	})
	return err
}

// shown is a name of somebody on a service as people see it here.
func shown(name string) string {
	const most = 100
	if runes := []rune(ambry.Plain(name)); len(runes) > most {
		return string(runes[:most])
	}
	return ambry.Plain(name)
}
