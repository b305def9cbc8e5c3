// Package dingtalk lets people write to Ambry on DingTalk: to the robot of an
// app of their organisation, over the connection that DingTalk calls Stream
// mode. It receives no web calls, and needs no public address.
package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	address = "https://api.dingtalk.com"
	domain  = ".dingtalk.com" // of the addresses that DingTalk names
	topic   = "/v1.0/im/bot/messages/get"
)

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "dingtalk", Name: "DingTalk",
		Capabilities: []string{channel.Direct, channel.Groups},
		Fields: []ambry.ChannelField{
			{
				Key: "clientId", Label: "Client ID", Kind: "text", Required: true,
				Description: "Of an internal app on open-dev.dingtalk.com, under Credentials (also called AppKey). The app needs a robot that receives messages in Stream mode, and the permission qyapi_robot_sendmsg.",
			},
			{
				Key: "clientSecret", Label: "Client secret", Kind: "secret", Required: true,
				Description: "Beside the client ID (also called AppSecret).",
			},
			{
				Key: "robotCode", Label: "Robot code", Kind: "text",
				Description: "On the page of the app's robot. It is the client ID unless another one is shown there.",
			},
		},
		New: func(a channel.Access) (channel.Link, error) { return newLink(a, address) },
	}
}

type link struct {
	channel.Access
	base             *url.URL
	id, secret, code string
	pause            time.Duration // before a message is sent again, if DingTalk does not say how long

	mu      sync.Mutex
	token   string
	expires time.Time
}

var _ channel.Link = (*link)(nil)

func newLink(a channel.Access, base string) (*link, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	l := &link{Access: a, base: u, id: a.Values["clientId"], secret: a.Values["clientSecret"], code: a.Values["robotCode"], pause: time.Second}
	if l.code == "" {
		l.code = l.id
	}
	for _, f := range []struct{ key, value string }{{"clientId", l.id}, {"clientSecret", l.secret}, {"robotCode", l.code}} {
		if f.value == "" || strings.ContainsFunc(f.value, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
			return nil, &ambry.Error{
				Kind: ambry.InvalidArgument, Message: "DingTalk gives out credentials without spaces",
				Details: []ambry.Field{{Field: f.key, Message: "is empty, or has a space in it"}},
			}
		}
	}
	return l, nil
}

// Check gets a token. DingTalk tells an app nothing about its robot, so that the
// robot's code is all the name it has.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	if _, err := l.fresh(ctx); err != nil {
		return channel.Identity{}, err
	}
	return channel.Identity{ID: l.code, Name: l.code}, nil
}

// failure is what DingTalk answers when something is wrong.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// fresh gets a token, whether there is one or not.
func (l *link) fresh(ctx context.Context) (string, error) {
	answer, err := l.Ask(ctx, http.MethodPost, l.base.JoinPath("/v1.0/oauth2/accessToken").String(), nil,
		map[string]string{"appKey": l.id, "appSecret": l.secret})
	if err != nil {
		return "", err
	}
	var out struct {
		Token   string `json:"accessToken"`
		Seconds int64  `json:"expireIn"`
	}
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &out) != nil || out.Token == "" {
		return "", l.refusal(answer)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token, l.expires = out.Token, time.Now().Add(time.Duration(min(out.Seconds, 86400))*time.Second-time.Minute)
	return out.Token, nil
}

// current returns the token, a new one if it runs out.
func (l *link) current(ctx context.Context) (string, error) {
	l.mu.Lock()
	token, expires := l.token, l.expires
	l.mu.Unlock()
	if token != "" && time.Now().Before(expires) {
		return token, nil
	}
	return l.fresh(ctx)
}

// refusal is the error of an answer that is not a good one.
func (l *link) refusal(answer channel.Asked) error {
	var f failure
	_ = json.Unmarshal(answer.Body, &f) // it says nothing then
	switch {
	case answer.Status == http.StatusUnauthorized, f.Code == "invalidClientIdOrSecret", f.Code == "authFailed":
		return ambry.Unauthorized.Errorf("DingTalk does not take the client ID and secret")
	case f.Code == "" && f.Message == "":
		return ambry.UpstreamFailed.Errorf("DingTalk answers with HTTP status %d", answer.Status)
	}
	return ambry.UpstreamFailed.Errorf("DingTalk says: %s", channel.Says(f.Code+" "+f.Message, l.secret))
}

// errMoved says that DingTalk wants the connection to be opened anew.
var errMoved = errors.New("the connection moves")

// Run opens a connection, and another one when DingTalk asks for it.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	var line channel.Line
	defer line.Cut()
	for {
		began := time.Now()
		err := l.once(ctx, h, &line)
		if ctx.Err() != nil {
			return nil
		}
		// One that moves at once would go round and round; it is for others to wait.
		if !errors.Is(err, errMoved) || time.Since(began) < time.Minute {
			return err
		}
	}
}

// once opens a connection and reads from it until it ends.
func (l *link) once(ctx context.Context, h channel.Host, line *channel.Line) error {
	ticket, err := l.open(ctx)
	if err != nil {
		return err
	}
	socket, err := l.Socket(ctx, ticket)
	if err != nil {
		if refused, ok := errors.AsType[*channel.Refused](err); ok {
			return ambry.UpstreamFailed.Errorf("DingTalk does not open a connection (HTTP %d)", refused.Status)
		}
		return err
	}
	defer socket.Close()
	h.Connected(channel.Identity{ID: l.code, Name: l.code})
	for {
		data, text, err := socket.Read(ctx)
		if err != nil {
			return err
		}
		var f frame
		if !text || json.Unmarshal(data, &f) != nil {
			l.Log.Warn("DingTalk sends something that cannot be read")
			continue
		}
		err = line.Taking(func() error {
			ack, err := l.take(ctx, h, line, f)
			if ack != nil {
				if err := socket.Write(ctx, ack, true); err != nil {
					return err
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
}

// open asks for the address of a connection.
func (l *link) open(ctx context.Context) (string, error) {
	type subscription struct {
		Type  string `json:"type"`
		Topic string `json:"topic"`
	}
	answer, err := l.Ask(ctx, http.MethodPost, l.base.JoinPath("/v1.0/gateway/connections/open").String(), nil, struct {
		ID            string         `json:"clientId"`
		Secret        string         `json:"clientSecret"`
		Subscriptions []subscription `json:"subscriptions"`
		Agent         string         `json:"ua"`
	}{l.id, l.secret, []subscription{{"CALLBACK", topic}}, "ambry"})
	if err != nil {
		return "", err
	}
	var out struct {
		Endpoint string `json:"endpoint"`
		Ticket   string `json:"ticket"`
	}
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &out) != nil || out.Endpoint == "" || out.Ticket == "" {
		return "", l.refusal(answer)
	}
	u, err := url.Parse(out.Endpoint)
	if err != nil || !l.trusts(u) {
		return "", ambry.UpstreamFailed.Errorf("DingTalk names an address that is not its own")
	}
	u.RawQuery = url.Values{"ticket": {out.Ticket}}.Encode()
	return u.String(), nil
}

// trusts reports whether an address is one of DingTalk, safe from listeners.
func (l *link) trusts(u *url.URL) bool {
	if u.User != nil {
		return false
	}
	if u.Host == l.base.Host {
		return true
	}
	return (u.Scheme == "https" || u.Scheme == "wss") && strings.HasSuffix(u.Hostname(), domain)
}

// frame is what comes over a connection.
type frame struct {
	Type    string            `json:"type"`
	Headers map[string]string `json:"headers"`
	Data    string            `json:"data"`
}

// take takes a frame, and returns how it is answered, if it is.
func (l *link) take(ctx context.Context, h channel.Host, line *channel.Line, f frame) ([]byte, error) {
	switch {
	case f.Type == "SYSTEM" && f.Headers["topic"] == "ping":
		return f.ack(http.StatusOK, f.Data), nil
	case f.Type == "SYSTEM" && f.Headers["topic"] == "disconnect":
		return nil, ambry.UpstreamFailed.Errorf("DingTalk ends the connection: %w", errMoved)
	case f.Type == "SYSTEM":
		return nil, nil
	case f.Type != "CALLBACK" || f.Headers["topic"] != topic:
		return f.ack(http.StatusNotFound, ""), nil
	}
	if m, to, ok := l.read([]byte(f.Data)); ok {
		send := func(ctx context.Context, text string) error {
			return line.Send(ctx, func(ctx context.Context) error { return l.send(ctx, to, text) })
		}
		if err := h.Receive(ctx, m, send); err != nil {
			return nil, err
		}
	}
	return f.ack(http.StatusOK, `{"response":null}`), nil
}

func (f frame) ack(code int, data string) []byte {
	message := "OK"
	if code != http.StatusOK {
		message = http.StatusText(code)
	}
	ack, _ := json.Marshal(struct { // text always can be
		Code    int               `json:"code"`
		Headers map[string]string `json:"headers"`
		Message string            `json:"message"`
		Data    string            `json:"data"`
	}{code, map[string]string{"contentType": "application/json", "messageId": f.Headers["messageId"]}, message, data})
	return ack
}
