// Package discord lets people write to a bot of Discord, alone and by mentioning
// it on servers. The bot calls Discord; Discord calls nobody here. Slash
// commands, voice and files are not used.
package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const fieldToken = "token"

// wire is where Discord is, and how long things may take.
type wire struct {
	base    string        // of the API, with its version
	settled time.Duration // how long a connection has to last for another one to be opened at once
	beat    time.Duration // how often a heartbeat is sent at most
	echo    time.Duration // how long it may take until one is answered
	pause   time.Duration // before a session is begun in place of a lost one, up to five times that
}

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "discord", Name: "Discord",
		Capabilities: []string{channel.Direct, channel.Groups},
		Fields: []ambry.ChannelField{{
			Key: fieldToken, Label: "Bot token", Kind: "secret", Required: true,
			Description: "At discord.com/developers/applications, of your application: Bot, Reset Token. To write to it, invite it to a server of yours: OAuth2, the scope bot, the permission Send Messages. It needs no privileged intent",
		}},
		New: func(a channel.Access) (channel.Link, error) {
			return newLink(a, wire{
				base: "https://discord.com/api/v10", settled: 30 * time.Second,
				beat: 5 * time.Second, echo: 15 * time.Second, pause: time.Second,
			})
		},
	}
}

// link is a connection to a bot.
type link struct {
	wire
	token  string
	access channel.Access
	log    *slog.Logger
}

var _ channel.Link = (*link)(nil)

var tokenText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_-]{10,100}\.[A-Za-z0-9_-]{4,50}\.[A-Za-z0-9_-]{20,150}$`)
})

func newLink(a channel.Access, w wire) (*link, error) {
	token := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(a.Values[fieldToken]), "Bot "))
	if !tokenText().MatchString(token) {
		return nil, channel.Invalid(fieldToken, "must be the token of a bot: three words of letters with points between")
	}
	return &link{wire: w, token: token, access: a, log: a.Log}, nil
}

// user is somebody on Discord.
type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Shown    string `json:"global_name"`
	Bot      bool   `json:"bot"`
	System   bool   `json:"system"`
}

func (u user) name() string { return cmp.Or(u.Shown, u.Username) }

// Check asks who we are.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	var me user
	if err := l.ask(ctx, http.MethodGet, "/users/@me", nil, &me); err != nil {
		return channel.Identity{}, err
	}
	if !number().MatchString(me.ID) || !me.Bot {
		return channel.Identity{}, errNotDiscord
	}
	return channel.Identity{ID: me.ID, Name: cmp.Or(me.Username, me.ID)}, nil
}

// number is what the ids of Discord are like.
var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,20}$`) })

var (
	errNotDiscord = ambry.UpstreamFailed.Errorf("what answers is not Discord")
	errToken      = ambry.Unauthorized.Errorf("Discord does not take the token; reset it in the developer portal, and connect again")
)

// agent names the program, as Discord wants it.
const agent = "DiscordBot (https://ambry.dev, 1)"

// ask sends in, if there is any, and reads the answer into out.
func (l *link) ask(ctx context.Context, method, path string, in, out any) error {
	header := http.Header{"Authorization": {"Bot " + l.token}, "User-Agent": {agent}}
	got, err := l.access.Ask(ctx, method, l.base+path, header, in)
	if err != nil {
		return err
	}
	switch {
	case got.Status == http.StatusOK, got.Status == http.StatusCreated:
		if json.Unmarshal(got.Body, out) != nil {
			return errNotDiscord
		}
		return nil
	case got.Status == http.StatusUnauthorized:
		return errToken
	case got.Status >= http.StatusInternalServerError, got.Status < http.StatusBadRequest:
		return ambry.UpstreamFailed.Errorf("Discord does not answer as it should (HTTP %d)", got.Status)
	}
	var says struct {
		Message string  `json:"message"`
		Retry   float64 `json:"retry_after"` // in seconds
	}
	known := json.Unmarshal(got.Body, &says) == nil
	if got.Status == http.StatusTooManyRequests {
		wait := channel.RetryAfter(got.Header, time.Now())
		if known && says.Retry > 0 {
			wait = max(wait, time.Duration(min(says.Retry, 1e6)*float64(time.Second)))
		}
		return channel.Later("Discord", wait)
	}
	if !known || says.Message == "" {
		return ambry.UpstreamFailed.Errorf("Discord refuses (HTTP %d)", got.Status)
	}
	return ambry.UpstreamFailed.Errorf("Discord refuses: %s (HTTP %d)", channel.Says(says.Message, l.token), got.Status)
}
