// Package slack lets people write to an app of Slack, alone and by mentioning it
// in channels. The app calls Slack (Socket Mode); Slack calls nobody here. Slash
// commands, buttons and files are not used.
package slack

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// The keys of the fields.
const (
	fieldApp = "appToken"
	fieldBot = "botToken"
)

// wire is where Slack is, and how long a connection has to last for another one
// to be opened at once when Slack wants that.
type wire struct {
	base    string
	settled time.Duration
}

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "slack", Name: "Slack",
		Capabilities: []string{channel.Direct, channel.Groups},
		Fields: []ambry.ChannelField{
			{
				Key: fieldApp, Label: "App-level token", Kind: "secret", Required: true,
				Description: "At api.slack.com/apps, of your app: Basic Information, App-Level Tokens, with the scope connections:write. Switch on Socket Mode too. It begins with xapp-",
			},
			{
				Key: fieldBot, Label: "Bot token", Kind: "secret", Required: true,
				Description: "OAuth & Permissions, with the scopes chat:write, im:history, app_mentions:read and, to see names, users:read; under Event Subscriptions subscribe to message.im and app_mention, and in App Home allow messages. It begins with xoxb-",
			},
		},
		New: func(a channel.Access) (channel.Link, error) {
			return newLink(a, wire{base: "https://slack.com/api/", settled: 30 * time.Second})
		},
	}
}

// link is a connection to an app.
type link struct {
	wire
	access channel.Access
	log    *slog.Logger
	api    *slack.Client
}

var _ channel.Link = (*link)(nil)

var (
	appToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^xapp-[A-Za-z0-9-]{10,250}$`) })
	botToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^xoxb-[A-Za-z0-9-]{10,250}$`) })
)

func newLink(a channel.Access, w wire) (*link, error) {
	app, bot := strings.TrimSpace(a.Values[fieldApp]), strings.TrimSpace(a.Values[fieldBot])
	if !appToken().MatchString(app) {
		return nil, channel.Invalid(fieldApp, "must be an app-level token, which begins with xapp-")
	}
	if !botToken().MatchString(bot) {
		return nil, channel.Invalid(fieldBot, "must be the token of a bot, which begins with xoxb-")
	}
	api := slack.New(bot, slack.OptionAppLevelToken(app), slack.OptionAPIURL(w.base), slack.OptionHTTPClient(a.Library()))
	return &link{wire: w, access: a, log: a.Log, api: api}, nil
}

// maxCall is how long a call may take.
const maxCall = 20 * time.Second

// Check asks who we are, and whether a connection may be opened: the one is of
// the bot token, the other of the app-level token. It opens none.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	me, err := l.me(ctx)
	if err != nil {
		return channel.Identity{}, err
	}
	if _, err := l.address(ctx); err != nil {
		return channel.Identity{}, err
	}
	return me, nil
}

func (l *link) me(ctx context.Context) (channel.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	me, err := l.api.AuthTestContext(ctx)
	if err != nil {
		return channel.Identity{}, failed("bot token", err)
	}
	if me.UserID == "" {
		return channel.Identity{}, errNotSlack
	}
	return channel.Identity{ID: me.UserID, Name: "@" + cmp.Or(me.User, me.UserID)}, nil
}

// address returns where a connection can be opened, once and soon. It is secret.
func (l *link) address(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	_, address, err := l.api.StartSocketModeContext(ctx)
	if err != nil {
		return "", failed("app-level token", err)
	}
	if plain := strings.HasPrefix(l.base, "http://"); !strings.HasPrefix(address, "wss://") && !plain {
		return "", errNotSlack
	}
	return address, nil
}

var errNotSlack = ambry.UpstreamFailed.Errorf("what answers is not Slack")

// refusals are what Slack says of tokens that it does not take, now or ever.
var refusals = []string{
	"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type", "user_removed_from_team",
	"missing_scope", "no_permission", "team_access_not_granted", "access_denied",
}

// failed is what an error of the library means, in a call with one of the tokens.
func failed(token string, err error) error {
	if e, ok := errors.AsType[*ambry.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*slack.RateLimitedError](err); ok {
		return channel.Later("Slack", e.RetryAfter)
	}
	if e, ok := errors.AsType[slack.StatusCodeError](err); ok {
		if e.Code == http.StatusTooManyRequests {
			return channel.Later("Slack", time.Minute)
		}
		return ambry.UpstreamFailed.Errorf("Slack does not answer as it should (HTTP %d)", e.Code)
	}
	e, ok := errors.AsType[slack.SlackErrorResponse](err)
	switch {
	case !ok:
		return errNotSlack
	case e.Err == "missing_scope" && e.Needed != "":
		return ambry.Unauthorized.Errorf("the %s lacks the scope %s; add it at api.slack.com/apps, and install the app again", token, channel.Says(e.Needed))
	case e.Err == "ratelimited":
		return channel.Later("Slack", time.Minute)
	case slices.Contains(refusals, e.Err):
		return ambry.Unauthorized.Errorf("Slack does not take the %s (%s)", token, e.Err)
	}
	return ambry.UpstreamFailed.Errorf("Slack refuses: %s", channel.Says(e.Err))
}
