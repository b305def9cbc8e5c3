// Package account is the person's account: codes by mail, and the session that
// the right one opens. An account is optional and gives a name to what somebody
// does. The service behind it is embedded ([Issuer]) or elsewhere ([Remote]). It is
// not for the tokens of agents, and guards no route: those who have the local
// token are the person.
package account

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/secret"
)

// Service issues codes and sessions.
type Service interface {
	Where() string // its address; empty if it is embedded
	Send(ctx context.Context, address, locale string) (resendAfter time.Duration, err error)
	Verify(ctx context.Context, address, code string) (ambry.AccountLogin, error)
	Who(ctx context.Context, token string) (ambry.AccountProfile, error) // [ambry.Unauthorized] if the session has ended
	Revoke(ctx context.Context, token string) error
}

// ErrLocalOnly is in the error of a connection that local-only mode forbids.
var ErrLocalOnly = errors.New("local-only mode is on: no other machine is called")

// Bus is told what happens.
type Bus interface {
	Publish(p ambry.Payload) ambry.Event
}

// sessionID is the name of the secret that has the session.
const sessionID = "account-session"

// askWithin is how long a service elsewhere may take to say who is logged in,
// and to hear that nobody is any more.
const askWithin = 5 * time.Second

// Account is the account of this machine's person. All its fields are needed.
// Its methods may be called at the same time.
type Account struct {
	Service func() Service // the one that the settings name now
	Secrets Secrets
	Bus     Bus
	Now     func() time.Time
	Log     *slog.Logger
	Ended   func(ctx context.Context) // called when nobody is logged in any more, before the bus is told

	change sync.Mutex // held by who opens or ends a session
}

// session is what is kept of a session, as a secret: the token goes only to the
// service that gave it.
type session struct {
	Where     string               `json:"where"`
	Token     string               `json:"token"`
	ExpiresAt time.Time            `json:"expiresAt"`
	Profile   ambry.AccountProfile `json:"profile"`
}

// SendCode has a code sent.
func (a *Account) SendCode(ctx context.Context, r ambry.CodeRequest) (ambry.CodeSent, error) {
	if err := checkChannel(r.Channel); err != nil {
		return ambry.CodeSent{}, err
	}
	wait, err := a.Service().Send(ctx, r.Email, r.Locale)
	if err != nil {
		return ambry.CodeSent{}, err
	}
	return ambry.CodeSent{OK: true, ResendAfterSec: int(wait.Seconds())}, nil
}

func checkChannel(channel string) error {
	if channel != "email" {
		return ambry.InvalidArgument.Errorf("codes are sent by mail only; give channel email and an address")
	}
	return nil
}

// VerifyCode logs in with a code. The session that there was before is ended.
func (a *Account) VerifyCode(ctx context.Context, r ambry.CodeAnswer) (ambry.AccountSession, error) {
	if err := checkChannel(r.Channel); err != nil {
		return ambry.AccountSession{}, err
	}
	a.change.Lock()
	defer a.change.Unlock()
	svc := a.Service()
	before, had, err := a.stored(ctx)
	if err != nil {
		return ambry.AccountSession{}, err
	}
	l, err := svc.Verify(ctx, r.Email, r.VerificationCode)
	if err != nil {
		return ambry.AccountSession{}, err
	}
	next := session{Where: svc.Where(), Token: l.Token, ExpiresAt: l.ExpiresAt, Profile: l.Profile}
	if err := a.store(ctx, next); err != nil {
		a.revoke(ctx, svc, l.Token) // or nobody could end it any more
		return ambry.AccountSession{}, err
	}
	if had && before.Where == svc.Where() {
		a.revoke(ctx, svc, before.Token)
	}
	a.Bus.Publish(ambry.AccountLoggedIn{UserID: l.Profile.UserID})
	shown := next.shown()
	shown.IsNewUser = l.IsNewUser
	return shown, nil
}

func (s session) shown() ambry.AccountSession {
	return ambry.AccountSession{Authenticated: true, Profile: &s.Profile, ExpiresAt: &s.ExpiresAt}
}

// Session says who is logged in; the service is asked. If it cannot be reached,
// what it said last counts. A session that has ended is nobody's.
func (a *Account) Session(ctx context.Context) (ambry.AccountSession, error) {
	s, ok, err := a.current(ctx)
	if err != nil || !ok {
		return ambry.AccountSession{}, err
	}
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	who, err := a.Service().Who(asking, s.Token)
	switch {
	case ambry.KindOf(err) == ambry.Unauthorized, err == nil && !a.Now().Before(s.ExpiresAt):
		return ambry.AccountSession{}, a.end(ctx, s)
	case err != nil && s.Where == "":
		return ambry.AccountSession{}, err
	case err != nil:
		shown := s.shown()
		shown.Unconfirmed = true
		return shown, nil
	}
	s.Profile = who
	return s.shown(), nil
}

// Known says who is logged in as far as is known here, without asking a service
// elsewhere.
func (a *Account) Known(ctx context.Context) (ambry.AccountSession, error) {
	s, ok, err := a.current(ctx)
	if err != nil || !ok {
		return ambry.AccountSession{}, err
	}
	if s.Where == "" {
		return a.Session(ctx)
	}
	shown := s.shown()
	shown.Unconfirmed = true
	return shown, nil
}

// current returns the session that is kept, if it is one of the service that is
// in force and has not expired.
func (a *Account) current(ctx context.Context) (session, bool, error) {
	s, ok, err := a.stored(ctx)
	if err != nil || !ok || s.Where != a.Service().Where() {
		return session{}, false, err
	}
	if !a.Now().Before(s.ExpiresAt) {
		return session{}, false, a.end(ctx, s)
	}
	return s, true, nil
}

// end forgets a session that has ended elsewhere, unless it is another one by now.
func (a *Account) end(ctx context.Context, s session) error {
	a.change.Lock()
	defer a.change.Unlock()
	now, ok, err := a.stored(ctx)
	if err != nil || !ok || now.Token != s.Token {
		return err
	}
	if err := a.Secrets.Delete(ctx, sessionID); err != nil {
		return reachable(err)
	}
	a.over(ctx, "ended")
	return nil
}

func (a *Account) over(ctx context.Context, reason string) {
	a.Ended(ctx)
	a.Bus.Publish(ambry.AccountLoggedOut{Reason: reason})
}

// Logout ends the session. The secret is deleted first, so that nobody is logged
// in here even if the service cannot be told. Without a session it does nothing.
func (a *Account) Logout(ctx context.Context) error {
	a.change.Lock()
	defer a.change.Unlock()
	s, ok, err := a.stored(ctx)
	if err != nil {
		return err
	}
	if err := a.Secrets.Delete(ctx, sessionID); err != nil {
		return reachable(err)
	}
	if !ok {
		return nil
	}
	a.over(ctx, "logout")
	if svc := a.Service(); svc.Where() == s.Where {
		a.revoke(ctx, svc, s.Token)
	}
	return nil
}

// revoke tells the service that a session is over. If it does not hear it, the
// session expires there by itself; its token is gone.
func (a *Account) revoke(ctx context.Context, svc Service, token string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askWithin)
	defer cancel()
	if err := svc.Revoke(ctx, token); err != nil {
		a.Log.Warn("the account service was not told that a session is over", "err", err)
	}
}

// stored returns what is kept of the session, if it can be read.
func (a *Account) stored(ctx context.Context) (s session, ok bool, err error) {
	text, err := a.Secrets.Get(ctx, sessionID)
	if lost(err) {
		return session{}, false, nil
	}
	if err != nil {
		return session{}, false, reachable(err)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.Token == "" {
		return session{}, false, nil // not of this version: nobody is logged in
	}
	return s, true, nil
}

func (a *Account) store(ctx context.Context, s session) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := a.Secrets.Set(ctx, sessionID, string(text)); err != nil {
		return reachable(err)
	}
	return nil
}

// lost reports whether a secret is not there, or can never be read again.
func lost(err error) bool {
	return ambry.KindOf(err) == ambry.NotFound || errors.Is(err, secret.ErrLocked)
}

// reachable says what a person can do about a keychain that does not answer.
func reachable(err error) error {
	if errors.Is(err, secret.ErrKeychain) {
		return ambry.Conflict.Wrap(err, secret.ErrKeychain.Error())
	}
	return err
}

// chinese reports whether a locale is one of Chinese.
func chinese(locale string) bool {
	language, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(locale), "_", "-"), "-")
	return language == "zh"
}
