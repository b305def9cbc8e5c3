package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	perSync   = 100 // events of one room
	maxPages  = 5   // of a hundred, when more has happened than one sync tells
	maxJoins  = 20  // invitations that are accepted at a time
	maxTold   = 200 // encrypted rooms that are remembered
	maxNames  = 5000
	maxLast   = 500
	smallRoom = 10 // members that are asked for by name
	slack     = 10 * time.Minute
)

// cursor is how far the account has been read, and which encrypted rooms were
// told that they cannot be.
type cursor struct {
	Since string    `json:"since"`
	At    time.Time `json:"at"`
	Told  []roomID  `json:"told,omitempty"`
}

// room is what is known of a room that we are in.
type room struct{ members int }

// follower follows what happens in the rooms of an account.
type follower struct {
	*session
	host  channel.Host
	line  channel.Line
	at    cursor
	rooms map[roomID]*room
	names map[userID]string
	last  []eventID // that were passed on, since some homeservers tell an event in two syncs
}

func (f *follower) run(ctx context.Context) error {
	if json.Unmarshal([]byte(f.host.Cursor()), &f.at) != nil {
		f.at = cursor{} // there is none
	}
	for connected := false; ; {
		wait := longPoll
		if !connected {
			wait = 0
		}
		out, err := f.sync(ctx, wait)
		if err != nil {
			return err
		}
		if !connected {
			f.host.Connected(f.identity())
			connected = true
		}
		err = f.line.Taking(func() error {
			if err := f.take(ctx, out); err != nil || out.Next == f.at.Since {
				return err
			}
			f.at.Since, f.at.At = out.Next, time.Now().UTC()
			return f.keep(ctx)
		})
		if err != nil {
			return err
		}
	}
}

func (f *follower) keep(ctx context.Context) error {
	text, err := json.Marshal(f.at)
	if err != nil {
		return err
	}
	return f.host.Keep(ctx, string(text))
}

// filter leaves out what is not read.
func filter(first bool) string {
	type object = map[string]any
	none := object{"not_types": []string{"*"}}
	limit := perSync
	if first {
		limit = 1 // what was said before we came is not answered
	}
	text, _ := json.Marshal(object{ // text always can be
		"presence": none, "account_data": none,
		"room": object{
			"ephemeral": none, "account_data": none,
			"state":    object{"types": []string{typeMember}, "lazy_load_members": true},
			"timeline": object{"types": []string{typeMember, typeMessage, typeEncrypted}, "limit": limit},
		},
	})
	return string(text)
}

// sync asks what is new, and waits for something.
func (f *follower) sync(ctx context.Context, wait time.Duration) (out news, err error) {
	limit := longPoll + 20*time.Second
	if f.at.Since == "" {
		limit = maxFirst
	}
	var bad bool
	err = f.ask(ctx, 1, limit, func(ctx context.Context) error {
		for {
			var err error
			out, err = f.api.sync(ctx, f.at.Since, filter(f.at.Since == ""), wait)
			again, passes := passing(err)
			r, refused := errors.AsType[*refusal](err)
			if !passes || !refused || r.kind != limited || channel.Pause(ctx, max(again, f.pause)) != nil {
				bad = refused && r.broken == nil && r.status == http.StatusBadRequest
				return err
			}
		}
	})
	if err == nil && out.Next == "" {
		err = ambry.UpstreamFailed.Errorf(noHomeserver)
	}
	if err != nil && bad && f.at.Since != "" {
		// A homeserver that was set up anew does not know how far we had read it.
		f.at = cursor{}
		if err := f.keep(ctx); err != nil {
			return news{}, err
		}
	}
	return out, err
}

// take takes what a sync tells. Rooms are in the order of their names, since a
// sync does not say what came first.
func (f *follower) take(ctx context.Context, out news) error {
	for n, name := range slices.Sorted(maps.Keys(out.Rooms.Invite)) {
		if invited := out.Rooms.Invite[name]; invited != nil && n < maxJoins {
			if err := f.invited(ctx, name, invited.State.Events); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out.Rooms.Join)) {
		if joined := out.Rooms.Join[name]; joined != nil {
			if err := f.happened(ctx, name, joined); err != nil {
				return err
			}
		}
	}
	return nil
}

// invited accepts an invitation, or leaves it.
func (f *follower) invited(ctx context.Context, name roomID, state []*event) error {
	accept := f.link.rooms == "all"
	for _, e := range state {
		if m, ok := member(e); ok && *e.State == string(f.us) && m.Is == "invite" && m.Direct {
			accept = f.link.rooms != "none"
		}
	}
	if !accept {
		return nil
	}
	err := f.ask(ctx, 1, maxAsk, func(ctx context.Context) error { return f.api.join(ctx, name) })
	if ambry.KindOf(err) == ambry.Unauthorized || ctx.Err() != nil {
		return err
	}
	if err != nil {
		f.Log.Warn("an invitation to a Matrix room could not be accepted", "err", err)
	}
	return nil
}

// member reads a membership.
func member(e *event) (m membership, ok bool) {
	if e == nil || e.Type != typeMember || e.State == nil {
		return membership{}, false
	}
	return m, json.Unmarshal(e.Content, &m) == nil
}

// happened takes what has happened in a room.
func (f *follower) happened(ctx context.Context, name roomID, joined *joined) error {
	events := joined.Timeline.Events
	for _, e := range slices.Concat(joined.State.Events, events) {
		if m, ok := member(e); ok {
			f.moved(name, e, m)
		}
	}
	if n := joined.Summary.Members; n != nil {
		f.rooms[name] = &room{members: *n}
	}
	if f.at.Since == "" {
		return nil // all of it is of before we came
	}
	told, how := f.sinceWeCame(events)
	if how == cameInvited || how == there && joined.Timeline.Limited {
		missed, err := f.missed(ctx, name, joined.Timeline.Before, how)
		if err != nil {
			return err
		}
		if all, now := f.sinceWeCame(append(missed, events...)); how == there || now == came {
			told = all
		}
	}
	for _, e := range told {
		if err := f.event(ctx, name, e); err != nil {
			return err
		}
	}
	return nil
}

// moved forgets what a membership changes.
func (f *follower) moved(name roomID, e *event, m membership) {
	if r := f.rooms[name]; r != nil && r.members <= smallRoom {
		delete(f.rooms, name)
	}
	if m.Is == "join" {
		f.named(userID(*e.State), m.Name)
	}
}

func (f *follower) named(who userID, name string) {
	if len(f.names) > maxNames {
		clear(f.names)
	}
	if name != "" {
		f.names[who] = name
	}
}

// arrival is how a room came to be one that we are in.
type arrival int

const (
	there       arrival = iota // we were there before
	came                       // with all that was said since we were invited
	cameInvited                // what was said between the invitation and our coming is not told
)

// sinceWeCame leaves out what was said before we were invited, or came. Not every
// homeserver tells the invitation at its place: what is later is kept, too.
func (f *follower) sinceWeCame(events []*event) ([]*event, arrival) {
	invited, joined := -1, -1
	for i, e := range events {
		m, ok := member(e)
		if !ok || *e.State != string(f.us) {
			continue
		}
		var before membership
		_ = json.Unmarshal(e.Before, &before) // there is none
		switch {
		case m.Is == "invite":
			invited = i
		case m.Is != "join" || joined >= 0:
		case before.Is == "join": // only a name has changed
		default:
			joined = i
		}
	}
	switch {
	case invited >= 0:
		at := events[invited].At
		var after []*event
		for i, e := range events {
			if e != nil && (i > invited || e.At > at) {
				after = append(after, e)
			}
		}
		return after, came
	case joined >= 0:
		return events[joined+1:], cameInvited
	}
	return events, there
}

// missed reads what has happened in a room since the last sync, or since we were
// invited, when this sync tells the end of it alone.
func (f *follower) missed(ctx context.Context, name roomID, from string, how arrival) ([]*event, error) {
	var missed []*event
	types, to, pages := []string{typeMessage, typeEncrypted}, f.at.Since, maxPages
	if how == cameInvited {
		types, to, pages = append(types, typeMember), "", 1
	}
	for range pages {
		if from == "" {
			break
		}
		var page []*event
		var end string
		err := f.ask(ctx, attempts, maxAsk, func(ctx context.Context) (err error) {
			page, end, err = f.api.messages(ctx, name, from, to, types)
			return err
		})
		if ambry.KindOf(err) == ambry.Unauthorized || ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			f.Log.Warn("what was missed in a Matrix room could not be read", "err", err)
			break
		}
		for _, e := range page {
			// Not every homeserver stops where it is told to.
			if e != nil && (how == cameInvited || time.UnixMilli(e.At).After(f.at.At.Add(-slack))) {
				missed = append(missed, e)
			}
		}
		if from = end; len(page) == 0 {
			break
		}
	}
	slices.Reverse(missed)
	return missed, nil
}

// others returns how many others are in a room.
func (f *follower) others(ctx context.Context, name roomID) (int, error) {
	if r := f.rooms[name]; r != nil {
		return r.members - 1, nil
	}
	var members map[userID]string
	gone := false
	err := f.ask(ctx, attempts, maxAsk, func(ctx context.Context) (err error) {
		members, err = f.api.members(ctx, name)
		r, refused := errors.AsType[*refusal](err)
		gone = refused && (r.kind == forbidden || r.kind == notFound)
		return err
	})
	if gone {
		return smallRoom, nil // we are in it no more; whoever is may read along
	}
	if err != nil {
		return 0, err
	}
	n := len(members)
	if n <= smallRoom {
		for who, called := range members {
			f.named(who, called)
		}
	}
	f.rooms[name] = &room{members: n}
	return n - 1, nil
}
