// Package matrix lets people write to Ambry on Matrix: to an account of a
// homeserver that is ours. Rooms that are encrypted cannot be read, and are told
// so once.
package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "matrix", Name: "Matrix",
		Capabilities: []string{channel.Direct, channel.Groups},
		Fields: []ambry.ChannelField{
			{
				Key: "server", Label: "Homeserver", Kind: "url", Required: true,
				Description: "The address of the homeserver of the bot's account, such as https://matrix.example.org.",
			},
			{
				Key: "token", Label: "Access token", Kind: "secret", Required: true,
				Description: "Of an account that nothing else uses. Element shows it under Settings, Help & About; whoever runs the homeserver can make one too.",
			},
			{
				Key: "rooms", Label: "Invitations", Kind: "text", Default: "direct",
				Description: "Which are accepted, whoever sends them: direct for those to talk with the bot alone, all, or none. Rooms that are encrypted cannot be read.",
			},
		},
		New: func(a channel.Access) (channel.Link, error) { return newLink(a) },
	}
}

type link struct {
	channel.Access
	server *url.URL
	token  string
	rooms  string
	pause  time.Duration // before something is asked again, if the homeserver does not say how long
}

var _ channel.Link = (*link)(nil)

func newLink(a channel.Access) (*link, error) {
	l := &link{Access: a, token: a.Values["token"], rooms: a.Values["rooms"], pause: time.Second}
	var err error
	if l.server, err = parseServer(a.Values["server"]); err != nil {
		return nil, wrong("server", "is an address such as https://matrix.example.org")
	}
	if l.token == "" || strings.ContainsFunc(l.token, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return nil, wrong("token", "is empty, or has a space in it")
	}
	switch l.rooms {
	case "":
		l.rooms = "direct"
	case "direct", "all", "none":
	default:
		return nil, wrong("rooms", "is direct, all or none")
	}
	return l, nil
}

func wrong(key, message string) error {
	return &ambry.Error{
		Kind: ambry.InvalidArgument, Message: "Matrix cannot be connected with these values",
		Details: []ambry.Field{{Field: key, Message: message}},
	}
}

func parseServer(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(address, "/"))
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("it is not the address of a server")
	}
	return u, nil
}

const (
	maxAsk       = 30 * time.Second
	maxAnswer    = 32 << 20 // bytes
	attempts     = 4
	maxPause     = time.Minute
	longPoll     = 25 * time.Second
	maxFirst     = 3 * time.Minute // for the first sync of an account in many rooms
	noHomeserver = "there is no homeserver at this address"
)

// session is an account that was found.
type session struct {
	*link
	api  *homeserver
	us   userID
	name string
}

// login finds out who we are, at the server or where it says that its homeserver
// is.
func (l *link) login(ctx context.Context) (*session, error) {
	s := &session{link: l}
	err := s.whoami(ctx, l.server)
	if refused, ok := errors.AsType[*noMatrix](err); ok {
		other, known := l.delegated(ctx)
		if !known {
			return nil, refused
		}
		err = s.whoami(ctx, other)
	}
	if err != nil {
		return nil, err
	}
	s.name = s.us.local()
	err = s.ask(ctx, 1, maxAsk, func(ctx context.Context) error {
		name, err := s.api.displayName(ctx, s.us)
		if err == nil && name != "" {
			s.name = name
		}
		return err
	})
	if ambry.KindOf(err) == ambry.Unauthorized || ctx.Err() != nil {
		return nil, err
	}
	return s, nil // an account without a profile has its own name
}

func (s *session) whoami(ctx context.Context, server *url.URL) error {
	s.api = newHomeserver(s.HTTP, server, s.token)
	err := s.ask(ctx, 1, maxAsk, func(ctx context.Context) (err error) {
		s.us, err = s.api.whoami(ctx)
		return err
	})
	if err == nil && s.us == "" {
		err = ambry.UpstreamFailed.Errorf(noHomeserver)
	}
	return err
}

// delegated asks a server where its homeserver is.
func (l *link) delegated(ctx context.Context) (*url.URL, bool) {
	answer, err := l.Ask(ctx, http.MethodGet, l.server.JoinPath("/.well-known/matrix/client").String(), nil, nil)
	var out struct {
		Home struct {
			URL string `json:"base_url"`
		} `json:"m.homeserver"`
	}
	if err != nil || answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &out) != nil {
		return nil, false
	}
	// The token is not sent less safely than the person has said.
	u, err := parseServer(out.Home.URL)
	return u, err == nil && (u.Scheme == "https" || l.server.Scheme == "http")
}

// Check asks the homeserver who we are.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	s, err := l.login(ctx)
	if err != nil {
		return channel.Identity{}, err
	}
	return s.identity(), nil
}

func (s *session) identity() channel.Identity {
	return channel.Identity{ID: string(s.us), Name: s.name}
}

// Run follows what happens in the rooms until ctx ends.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	s, err := l.login(ctx)
	if err == nil {
		f := follower{session: s, host: h, rooms: map[roomID]*room{}, names: map[userID]string{}}
		defer f.line.Cut()
		err = f.run(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ask asks a homeserver, again after what passes. All that is asked means the
// same when it is asked twice.
func (l *link) ask(ctx context.Context, attempts int, limit time.Duration, once func(context.Context) error) error {
	for try := 1; ; try++ {
		asking, cancel := context.WithTimeout(ctx, limit)
		err := once(asking)
		cancel()
		if err == nil {
			return nil
		}
		wait, passes := passing(err)
		if !passes || try == attempts || ctx.Err() != nil || wait > maxPause {
			return l.failure(err)
		}
		if channel.Pause(ctx, max(wait, time.Duration(try)*l.pause)) != nil {
			return l.failure(err)
		}
	}
}

// passing reports whether the same may be answered in a while, and how long the
// homeserver asks to wait.
func passing(err error) (time.Duration, bool) {
	r, ok := errors.AsType[*refusal](err)
	switch {
	case !ok:
		return 0, false
	case r.broken != nil:
		return 0, true
	case r.kind == limited, r.status == http.StatusTooManyRequests:
		return r.wait, true
	}
	return 0, r.status >= 500
}

func retryAfter(header http.Header) time.Duration { return channel.RetryAfter(header, time.Now()) }

// noMatrix is the failure of a server that does not speak Matrix.
type noMatrix struct{ error }

// Unwrap returns what people are told.
func (e *noMatrix) Unwrap() error { return e.error }

// failure is the error of a request, for people.
func (l *link) failure(err error) error {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return ambry.UpstreamFailed.Wrap(err, "the homeserver could not be asked")
	}
	switch r.kind {
	case "M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED":
		return ambry.Unauthorized.Errorf("the homeserver does not take the access token")
	case unrecognized:
		return &noMatrix{ambry.UpstreamFailed.Errorf(noHomeserver)}
	}
	switch {
	case r.kind != "":
		return ambry.UpstreamFailed.Errorf("the homeserver says: %s", channel.Says(r.kind+" "+r.says, l.token))
	case r.broken != nil:
		return channel.Unreachable(r.host, r.broken)
	case r.status >= 500 || r.status == http.StatusTooManyRequests:
		return ambry.UpstreamFailed.Errorf("the homeserver answers with HTTP status %d", r.status)
	}
	return &noMatrix{ambry.UpstreamFailed.Errorf(noHomeserver+" (HTTP status %d)", r.status)}
}
