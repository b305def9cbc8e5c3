// Package feishu lets people write to Ambry on Feishu, and on Lark, which is its
// name outside China: to the bot of an app of their organisation, over what
// Feishu calls a long connection. It receives no web calls, and needs no public
// address.
package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// addresses are those of the interface, by what the field "domain" may be.
var addresses = map[string]string{
	"feishu.cn":     "https://open.feishu.cn",
	"larksuite.com": "https://open.larksuite.com",
}

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "feishu", Name: "Feishu / Lark",
		Capabilities: []string{channel.Direct, channel.Groups},
		Fields: []ambry.ChannelField{
			{
				Key: "appId", Label: "App ID", Kind: "text", Required: true,
				Description: "Of a custom app on open.feishu.cn or open.larksuite.com, under Credentials. The app needs a bot, events over a long connection with im.message.receive_v1 among them, the permissions im:message.p2p_msg:readonly, im:message.group_at_msg:readonly and im:message:send_as_bot, and a version that was published.",
			},
			{
				Key: "appSecret", Label: "App secret", Kind: "secret", Required: true,
				Description: "Beside the app ID.",
			},
			{
				Key: "domain", Label: "Domain", Kind: "text", Default: "feishu.cn",
				Description: "feishu.cn, or larksuite.com for Lark.",
			},
		},
		New: func(a channel.Access) (channel.Link, error) { return newLink(a, addresses) },
	}
}

type link struct {
	channel.Access
	base       *url.URL
	id, secret string
	pause      time.Duration // before something is asked again, if Feishu does not say how long

	mu      sync.Mutex
	token   string
	expires time.Time
}

var _ channel.Link = (*link)(nil)

func newLink(a channel.Access, addresses map[string]string) (*link, error) {
	l := &link{Access: a, id: a.Values["appId"], secret: a.Values["appSecret"], pause: time.Second}
	for _, f := range []struct{ key, value string }{{"appId", l.id}, {"appSecret", l.secret}} {
		if f.value == "" || strings.ContainsFunc(f.value, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
			return nil, wrong(f.key, "is empty, or has a space in it")
		}
	}
	domain := a.Values["domain"]
	if domain == "" {
		domain = "feishu.cn"
	}
	base, err := url.Parse(addresses[domain])
	if err != nil || base.Host == "" {
		return nil, wrong("domain", "is feishu.cn or larksuite.com")
	}
	l.base = base
	return l, nil
}

func wrong(key, message string) error {
	return &ambry.Error{
		Kind: ambry.InvalidArgument, Message: "Feishu cannot be connected with these values",
		Details: []ambry.Field{{Field: key, Message: message}},
	}
}

// answer is what Feishu answers.
type answer struct {
	Code    int64           `json:"code"`
	Message string          `json:"msg"`
	Data    json.RawMessage `json:"data"`

	// Of answers without data.
	Token   string `json:"tenant_access_token"`
	Seconds int64  `json:"expire"`
	Bot     struct {
		ID   string `json:"open_id"`
		Name string `json:"app_name"`
	} `json:"bot"`

	status int
	wait   time.Duration // what it asks for
}

// The codes that are acted on.
const (
	busy        = 1
	forbidden   = 403
	tooFast     = 99991400
	tooFastHere = 230020
	withdrawn   = 230011
	noBot       = 11205
	gateFault   = 1000040343
	tooMany     = 1000040350
)

// refusing are the codes of credentials that are not taken.
func refusing(code int64) bool {
	switch code {
	case 10003, 10012, 10014, 10015, 1000040345:
		return true
	}
	return false
}

// stale are the codes of a token that is no longer good.
func stale(code int64) bool {
	switch code {
	case 99991661, 99991663, 99991664, 99991665, 99991668, 99991671, 99991677:
		return true
	}
	return false
}

// ask asks once. Whatever Feishu answers as it documents is not an error.
func (l *link) ask(ctx context.Context, method, path string, header http.Header, in any) (answer, error) {
	ref, err := url.Parse(path)
	if err != nil {
		return answer{}, err
	}
	got, err := l.Ask(ctx, method, l.base.ResolveReference(ref).String(), header, in)
	if err != nil {
		return answer{}, err
	}
	var out answer
	if err := json.Unmarshal(got.Body, &out); err != nil || out.Code == 0 && got.Status != http.StatusOK {
		out = answer{Code: tooFast}
		if got.Status != http.StatusTooManyRequests {
			return answer{}, ambry.UpstreamFailed.Errorf("Feishu answers with HTTP status %d", got.Status)
		}
	}
	out.status = got.Status
	if out.wait = channel.RetryAfter(got.Header, time.Now()); out.wait == 0 {
		out.wait = channel.RetryAfter(http.Header{"Retry-After": got.Header.Values("X-Ogw-Ratelimit-Reset")}, time.Now())
	}
	return out, nil
}

// refusal is the error of an answer that is not a good one.
func (l *link) refusal(a answer) error {
	switch {
	case refusing(a.Code):
		return ambry.Unauthorized.Errorf("Feishu does not take the app ID and secret")
	case a.Code == noBot:
		return ambry.UpstreamFailed.Errorf("the app has no bot; give it one on Feishu's open platform, and publish a version of it")
	case a.Code == tooMany:
		return ambry.UpstreamFailed.Errorf("Feishu lets an app open no more connections")
	case a.Code == tooFast, a.Code == tooFastHere:
		return ambry.UpstreamFailed.Errorf("Feishu asks to send less")
	}
	return ambry.UpstreamFailed.Errorf("Feishu says: %d %s", a.Code, channel.Says(a.Message, l.secret))
}

// fresh gets a token, whether there is one or not.
func (l *link) fresh(ctx context.Context) (string, error) {
	out, err := l.ask(ctx, http.MethodPost, "/open-apis/auth/v3/tenant_access_token/internal", nil,
		map[string]string{"app_id": l.id, "app_secret": l.secret})
	if err != nil {
		return "", err
	}
	if out.Code != 0 || out.Token == "" {
		return "", l.refusal(out)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token, l.expires = out.Token, time.Now().Add(time.Duration(min(out.Seconds, 86400))*time.Second-5*time.Minute)
	return out.Token, nil
}

// with asks with the token, and once more with a new one if it is stale.
func (l *link) with(ctx context.Context, method, path string, in any) (answer, error) {
	l.mu.Lock()
	token, expires := l.token, l.expires
	l.mu.Unlock()
	for again := false; ; again = true {
		if token == "" || again || time.Now().After(expires) {
			var err error
			if token, err = l.fresh(ctx); err != nil {
				return answer{}, err
			}
			expires = time.Now().Add(time.Hour)
		}
		out, err := l.ask(ctx, method, path, http.Header{"Authorization": {"Bearer " + token}}, in)
		if err != nil || again || !stale(out.Code) {
			return out, err
		}
	}
}

// Check asks who the bot is.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	if _, err := l.fresh(ctx); err != nil { // an old token proves nothing
		return channel.Identity{}, err
	}
	out, err := l.with(ctx, http.MethodGet, "/open-apis/bot/v3/info", nil)
	if err != nil {
		return channel.Identity{}, err
	}
	if out.Code != 0 {
		return channel.Identity{}, l.refusal(out)
	}
	if out.Bot.ID == "" {
		return channel.Identity{}, l.refusal(answer{Code: noBot})
	}
	who := channel.Identity{ID: out.Bot.ID, Name: out.Bot.Name}
	if who.Name == "" {
		who.Name = l.id
	}
	return who, nil
}

// Run opens a connection, and reads from it until it ends.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	err := l.run(ctx, h)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (l *link) run(ctx context.Context, h channel.Host) error {
	who, err := l.Check(ctx)
	if err != nil {
		return err
	}
	address, every, err := l.endpoint(ctx)
	if err != nil {
		return err
	}
	socket, err := l.Socket(ctx, address.String())
	if err != nil {
		if refused, ok := errors.AsType[*channel.Refused](err); ok {
			return handshake(refused)
		}
		return err
	}
	service, _ := strconv.ParseInt(address.Query().Get("service_id"), 10, 32) // 0 if it names none
	c := &conn{link: l, host: h, us: who.ID, socket: socket, service: int32(service), every: make(chan time.Duration, 1)}
	return c.run(ctx, who, every)
}

// endpoint asks for the address of a connection, and how often it wants a sign of
// life.
func (l *link) endpoint(ctx context.Context) (*url.URL, time.Duration, error) {
	out, err := l.ask(ctx, http.MethodPost, "/callback/ws/endpoint", http.Header{"Locale": {"en"}},
		map[string]string{"AppID": l.id, "AppSecret": l.secret})
	if err != nil {
		return nil, 0, err
	}
	switch out.Code {
	case 0:
	case busy, gateFault:
		return nil, 0, ambry.UpstreamFailed.Errorf("Feishu is busy")
	case forbidden:
		return nil, 0, ambry.Unauthorized.Errorf("Feishu lets this app open no connections")
	default:
		return nil, 0, l.refusal(out)
	}
	var where struct {
		URL    string `json:"URL"`
		Config config `json:"ClientConfig"`
	}
	if json.Unmarshal(out.Data, &where) != nil {
		return nil, 0, ambry.UpstreamFailed.Errorf("Feishu names no address of a connection")
	}
	u, err := url.Parse(where.URL)
	if err != nil || u.User != nil || u.Host == "" || u.Scheme != "wss" && u.Hostname() != l.base.Hostname() {
		return nil, 0, ambry.UpstreamFailed.Errorf("Feishu names an address that is not safe")
	}
	return u, where.Config.every(), nil
}

// config is how Feishu wants a connection to be used.
type config struct {
	Ping int64 `json:"PingInterval"` // seconds
}

func (c config) every() time.Duration {
	if c.Ping <= 0 {
		return 2 * time.Minute
	}
	return time.Duration(min(max(c.Ping, 5), 600)) * time.Second
}

// handshake is the error of a connection that is not opened.
func handshake(r *channel.Refused) error {
	code, err := strconv.ParseInt(r.Header.Get("Handshake-Status"), 10, 64)
	if err != nil || code == 0 {
		code = int64(r.Status)
	}
	switch {
	case r.Header.Get("Handshake-Autherrcode") == strconv.Itoa(tooMany):
		return ambry.UpstreamFailed.Errorf("Feishu lets an app open no more connections")
	case code == forbidden:
		return ambry.Unauthorized.Errorf("Feishu lets this app open no connections")
	}
	return ambry.UpstreamFailed.Errorf("Feishu does not open a connection (%d)", code)
}
