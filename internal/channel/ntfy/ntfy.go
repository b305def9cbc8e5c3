// Package ntfy lets people write on a topic of an ntfy server, from its app or
// by any program that speaks HTTP. A topic has no senders: whoever knows it can
// read along and write. It is not for notifications about what Ambry does.
package ntfy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// The keys of the fields.
const (
	fieldServer = "server"
	fieldTopic  = "topic"
	fieldToken  = "token"
)

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "ntfy", Name: "ntfy",
		Capabilities: []string{channel.Direct},
		Fields: []ambry.ChannelField{
			{Key: fieldServer, Label: "Server", Kind: "url", Default: "https://ntfy.sh", Description: "Of ntfy.sh, or your own"},
			{
				Key: fieldTopic, Label: "Topic", Kind: "secret", Required: true,
				Description: "Subscribe to it in the app first. Whoever knows its name can read along and, once the topic is paired, ask your memory: take one that nobody can guess, or reserve it and give a token",
			},
			{Key: fieldToken, Label: "Access token", Kind: "secret", Description: "Of the account that may use the topic, if it is reserved: Account, Access tokens"},
		},
		New: newLink,
	}
}

// link is a connection to a topic.
type link struct {
	server *url.URL
	topic  string
	token  string
	http   *http.Client
	log    *slog.Logger
}

var _ channel.Link = (*link)(nil)

var (
	topicName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`) })
	tokenText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[!-~]{1,200}$`) })
)

func newLink(a channel.Access) (channel.Link, error) {
	l := &link{topic: a.Values[fieldTopic], token: a.Values[fieldToken], http: a.HTTP, log: a.Log}
	var wrong []ambry.Field
	at, err := url.Parse(strings.TrimRight(a.Values[fieldServer], "/"))
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		wrong = append(wrong, ambry.Field{Field: fieldServer, Message: "must be an address such as https://ntfy.sh"})
	}
	if l.server = at; !topicName().MatchString(l.topic) {
		wrong = append(wrong, ambry.Field{Field: fieldTopic, Message: "must be 1 to 64 letters, digits, - and _"})
	}
	if l.token != "" && !tokenText().MatchString(l.token) {
		wrong = append(wrong, ambry.Field{Field: fieldToken, Message: "must be one word of printable ASCII"})
	}
	if len(wrong) > 0 {
		return nil, &ambry.Error{Kind: ambry.InvalidArgument, Message: "some values cannot be right", Details: wrong}
	}
	return l, nil
}

// identity is who we are: a topic has no names. Another topic is another one of
// us, without showing it.
func (l *link) identity() channel.Identity {
	sum := sha256.Sum256([]byte(l.server.String() + "/" + l.topic))
	return channel.Identity{ID: hex.EncodeToString(sum[:8]), Name: "a topic of " + l.server.Host}
}

// Check asks whether the topic may be read. Whether it may be written can only
// be found out by writing.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	answer, err := l.ask(ctx, http.MethodGet, "/"+l.topic+"/auth", nil)
	if err != nil {
		return channel.Identity{}, err
	}
	defer answer.Body.Close()
	var says struct {
		Success bool `json:"success"`
	}
	if err := decode(answer.Body, &says); err != nil || !says.Success {
		return channel.Identity{}, ambry.UpstreamFailed.Errorf("what answers at %s is no ntfy server", l.server.Host)
	}
	return l.identity(), nil
}
