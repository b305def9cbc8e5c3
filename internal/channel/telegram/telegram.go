// Package telegram lets people write to a bot of Telegram, alone, in groups and
// in topics. The bot asks for what is new; Telegram calls nobody here. Files,
// buttons and what else a bot could do are not used.
package telegram

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const fieldToken = "token"

// wire is where Telegram is, and how long it may keep a question.
type wire struct {
	base string
	poll time.Duration // shorter than Access.Ask allows an answer to take
}

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "telegram", Name: "Telegram",
		Capabilities: []string{channel.Direct, channel.Groups},
		Fields: []ambry.ChannelField{{
			Key: fieldToken, Label: "Bot token", Kind: "secret", Required: true,
			Description: "Write /newbot to @BotFather in Telegram, and copy the token that it gives. Take a bot of its own: what another program reads from it, Ambry does not get",
		}},
		New: func(a channel.Access) (channel.Link, error) {
			return newLink(a, wire{base: "https://api.telegram.org", poll: 20 * time.Second})
		},
	}
}

// link is a connection to a bot.
type link struct {
	wire
	token  string
	access channel.Access
	log    *slog.Logger
	bot    *bot.Bot
}

var _ channel.Link = (*link)(nil)

// tokenText is what a token is like. It is a part of the address of each call.
var tokenText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{3,20}:[A-Za-z0-9_-]{20,200}$`) })

func newLink(a channel.Access, w wire) (*link, error) {
	l := &link{wire: w, token: strings.TrimSpace(a.Values[fieldToken]), access: a, log: a.Log}
	if !tokenText().MatchString(l.token) {
		return nil, channel.Invalid(fieldToken, "must be a number, a colon and some 35 letters, as @BotFather gives it")
	}
	var err error
	l.bot, err = bot.New(l.token,
		bot.WithSkipGetMe(), bot.WithServerURL(w.base), bot.WithHTTPClient(w.poll, a.Library()),
		bot.WithErrorsHandler(func(error) {}), bot.WithDebugHandler(func(string, ...any) {}), // they would go to standard error
	)
	if err != nil {
		return nil, channel.Invalid(fieldToken, "is not taken")
	}
	return l, nil
}

// maxCall is how long a call may take that has nothing to wait for.
const maxCall = 20 * time.Second

// Check asks who we are.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	me, err := l.me(ctx)
	if err != nil {
		return channel.Identity{}, err
	}
	return identity(me), nil
}

func (l *link) me(ctx context.Context) (*models.User, error) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	me, err := l.bot.GetMe(ctx)
	if err != nil {
		return nil, l.failed(err)
	}
	if me.ID == 0 || !me.IsBot {
		return nil, errNotTelegram
	}
	return me, nil
}

func identity(me *models.User) channel.Identity {
	name := me.FirstName
	if me.Username != "" {
		name = "@" + me.Username
	}
	id := strconv.FormatInt(me.ID, 10)
	return channel.Identity{ID: id, Name: cmp.Or(name, id)}
}

var errNotTelegram = ambry.UpstreamFailed.Errorf("what answers is not Telegram")

// failed is what an error of the library means. The errors of the library may
// hold what people write, so they are no cause of ours.
func (l *link) failed(err error) error {
	if e, ok := errors.AsType[*ambry.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*bot.TooManyRequestsError](err); ok {
		return channel.Later("Telegram", time.Duration(e.RetryAfter)*time.Second)
	}
	for known, status := range map[error]int{
		bot.ErrorUnauthorized: http.StatusUnauthorized, bot.ErrorNotFound: http.StatusNotFound, bot.ErrorConflict: http.StatusConflict,
		bot.ErrorForbidden: http.StatusForbidden, bot.ErrorBadRequest: http.StatusBadRequest,
	} {
		if errors.Is(err, known) {
			return l.refused(status, err.Error())
		}
	}
	return ambry.UpstreamFailed.Errorf("Telegram does not answer as it should")
}

// refused is what a status that Telegram answers means.
func (l *link) refused(status int, says string) error {
	switch status {
	case http.StatusUnauthorized, http.StatusNotFound: // it knows no token that is not whole
		return ambry.Unauthorized.Errorf("Telegram does not take the token; ask @BotFather for the current one")
	case http.StatusConflict:
		return ambry.UpstreamFailed.Errorf("another program reads what is written to this bot; stop it, or make a bot for Ambry alone")
	}
	return ambry.UpstreamFailed.Errorf("Telegram refuses: %s", channel.Says(says, l.token))
}
