package account

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"ambry.dev/ambry"
)

// The paths of an account service; docs/reference/account-service.md says what is
// behind them.
const (
	CodesPath    = "/v1/codes"
	SessionsPath = "/v1/sessions"
	SessionPath  = "/v1/session"
)

// The bounds of a call of a service elsewhere.
const (
	remoteWait   = 20 * time.Second // it sends mails
	remoteAnswer = 64 << 10
	maxName      = 64
	maxID        = 128
	maxToken     = 512
	maxWait      = 24 * time.Hour
)

// Remote is an account service elsewhere. What it says of failures is not
// repeated, but for what a person can act on.
type Remote struct {
	base   string
	client *http.Client
	down   atomic.Bool
}

var _ Service = (*Remote)(nil)

// NewRemote returns the service at a base URL. Its only connections are those
// that dial makes; it follows no redirect.
func NewRemote(base string, dial func(ctx context.Context, network, address string) (net.Conn, error)) *Remote {
	return &Remote{base: base, client: &http.Client{
		Timeout: remoteWait,
		Transport: &http.Transport{
			DialContext: dial, TLSHandshakeTimeout: remoteWait, MaxResponseHeaderBytes: remoteAnswer, DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Up reports whether the service answered when it was called last.
func (r *Remote) Up() bool { return !r.down.Load() }

// Where returns the base URL.
func (r *Remote) Where() string { return r.base }

// ServiceCode asks an account service for a code.
type ServiceCode struct {
	Email  string `json:"email"`
	Locale string `json:"locale,omitempty"`
}

// ServiceAnswer gives an account service a code back.
type ServiceAnswer struct {
	Email string `json:"email"`
	Code  string `json:"code"`
}

// ServiceSession is what an account service says of a session.
type ServiceSession struct {
	Profile ambry.AccountProfile `json:"profile"`
}

// Send has a code sent.
func (r *Remote) Send(ctx context.Context, address, locale string) (time.Duration, error) {
	address, err := Address(address)
	if err != nil {
		return 0, err
	}
	var sent ambry.CodeSent
	if err := r.call(ctx, http.MethodPost, CodesPath, "", ServiceCode{address, locale}, &sent); err != nil {
		return 0, err
	}
	return min(max(time.Duration(sent.ResendAfterSec)*time.Second, 0), maxWait), nil
}

// Verify gives a code back.
func (r *Remote) Verify(ctx context.Context, address, code string) (l ambry.AccountLogin, err error) {
	if address, err = Address(address); err == nil {
		err = checkCode(code)
	}
	if err != nil {
		return l, err
	}
	if err := r.call(ctx, http.MethodPost, SessionsPath, "", ServiceAnswer{address, code}, &l); err != nil {
		return l, err
	}
	if l.Token == "" || len(l.Token) > maxToken || strings.ContainsFunc(l.Token, func(c rune) bool { return c <= ' ' || c > '~' }) || l.ExpiresAt.IsZero() {
		return ambry.AccountLogin{}, errStrange
	}
	return l, check(l.Profile)
}

// Who says whose session a token opens.
func (r *Remote) Who(ctx context.Context, token string) (ambry.AccountProfile, error) {
	var s ServiceSession
	if err := r.call(ctx, http.MethodGet, SessionPath, token, nil, &s); err != nil {
		return ambry.AccountProfile{}, err
	}
	return s.Profile, check(s.Profile)
}

// Revoke ends a session.
func (r *Remote) Revoke(ctx context.Context, token string) error {
	err := r.call(ctx, http.MethodDelete, SessionPath, token, nil, &struct{}{})
	if ambry.KindOf(err) == ambry.Unauthorized {
		return nil // it had ended
	}
	return err
}

var errStrange = ambry.UpstreamFailed.Errorf("the account service answers in a way that is not understood; look at account.url")

// check refuses a profile that would not be what it says when it is shown.
func check(p ambry.AccountProfile) error {
	hidden := func(c rune) bool { return !unicode.IsPrint(c) }
	_, err := Address(p.Email)
	if err != nil || p.UserID == "" || len(p.UserID) > maxID || len([]rune(p.Nickname)) > maxName ||
		strings.ContainsFunc(p.UserID, hidden) || strings.ContainsFunc(p.Nickname, hidden) {
		return errStrange
	}
	return nil
}

// call sends body, if there is one, and reads the answer into out.
func (r *Remote) call(ctx context.Context, method, path, token string, body, out any) error {
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, in)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := r.client.Do(req)
	r.down.Store(err != nil)
	if err != nil {
		if errors.Is(err, ErrLocalOnly) {
			return ambry.DeliveryUnavailable.Wrap(err, ErrLocalOnly.Error())
		}
		return ambry.UpstreamFailed.Wrap(err, "the account service does not answer; look at account.url and try again")
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, remoteAnswer))
	if err != nil {
		return ambry.UpstreamFailed.Wrap(err, "the account service broke off its answer; try again")
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return refusal(resp, data)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "application/json" || json.Unmarshal(data, out) != nil {
		return errStrange
	}
	return nil
}

// refusal makes of a failure of the service one of ours, in our words.
func refusal(resp *http.Response, data []byte) error {
	var p struct {
		AttemptsLeft int `json:"attemptsLeft"`
		Error        struct {
			Code ambry.Kind `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(data, &p) // then the status has to do
	switch resp.StatusCode {
	case http.StatusBadRequest:
		if p.Error.Code == ambry.VerificationFailed {
			left := min(max(p.AttemptsLeft, 0), MaxTries)
			return &ambry.Error{Kind: ambry.VerificationFailed, Message: "this is not the code, or it is too old", Extra: map[string]any{attemptsLeft: left}}
		}
		return errAddress
	case http.StatusUnauthorized:
		return errEnded
	case http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return slower(min(max(time.Duration(seconds)*time.Second, time.Second), maxWait), "the account service has been asked too often")
	case http.StatusServiceUnavailable:
		return ambry.DeliveryUnavailable.Errorf("the account service cannot send mail now; ask those who run it")
	}
	return errStrange
}
