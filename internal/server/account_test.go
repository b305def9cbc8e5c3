package server_test

import (
	"context"
	"testing"

	"ambry.dev/ambry"
)

// person is a [server.Account] that does as it is told.
type person struct {
	session ambry.AccountSession
	err     error
	code    ambry.CodeRequest
	answer  ambry.CodeAnswer
	logouts int
}

func (p *person) SendCode(_ context.Context, r ambry.CodeRequest) (ambry.CodeSent, error) {
	p.code = r
	return ambry.CodeSent{OK: true, ResendAfterSec: 60}, p.err
}

func (p *person) VerifyCode(_ context.Context, r ambry.CodeAnswer) (ambry.AccountSession, error) {
	p.answer = r
	return p.session, p.err
}

func (p *person) Session(context.Context) (ambry.AccountSession, error) { return p.session, p.err }
func (p *person) Known(context.Context) (ambry.AccountSession, error)   { return p.session, p.err }
func (p *person) Logout(context.Context) error                          { p.logouts++; return p.err }

var somebody = ambry.AccountSession{Authenticated: true, Profile: &ambry.AccountProfile{UserID: "usr_1", Email: "me@example.org", Nickname: "me"}}

func TestAccountRoutes(t *testing.T) {
	a := serve(t)
	if status, out := a.ask("POST", "/api/account/send-code", `{"channel":"email","email":"me@example.org","locale":"zh"}`); status != 202 || out["resendAfterSec"] != 60.0 || out["ok"] != true {
		t.Errorf("%d %v", status, out)
	}
	if a.account.code.Email != "me@example.org" || a.account.code.Locale != "zh" {
		t.Errorf("got %+v", a.account.code)
	}
	if _, out := a.ask("GET", "/api/account/session", ""); len(out) != 1 || out["authenticated"] != false {
		t.Errorf("nobody is %v", out)
	}
	a.account.session = somebody
	if status, out := a.ask("POST", "/api/account/verify-code", `{"channel":"email","email":"me@example.org","verificationCode":"123456","loginSource":"Memmy"}`); status != 200 || out["profile"].(map[string]any)["userId"] != "usr_1" {
		t.Errorf("%d %v", status, out)
	}
	for _, body := range []string{"", "{}"} {
		if status, out := a.ask("POST", "/api/account/logout", body); status != 200 || out["ok"] != true {
			t.Errorf("%d %v", status, out)
		}
	}
	a.account.err = &ambry.Error{Kind: ambry.VerificationFailed, Message: "no", Extra: map[string]any{"attemptsLeft": 3}}
	if status, out := a.ask("POST", "/api/account/verify-code", `{"channel":"email","email":"me@example.org","verificationCode":"123456"}`); status != 400 || out["attemptsLeft"] != 3.0 {
		t.Errorf("%d %v", status, out)
	}
}

// The mode needs somebody who is logged in; without, all of the change is refused.
func TestAccountModeNeedsASession(t *testing.T) {
	a := serve(t)
	const change = `{"userMode":"account","theme":"dark"}`
	if status, _ := a.ask("PATCH", "/api/app/settings", change); status != 401 || a.settings.value != ambry.DefaultAppSettings() {
		t.Errorf("%d, %+v", status, a.settings.value)
	}
	a.account.session = somebody
	if status, out := a.ask("PATCH", "/api/app/settings", change); status != 200 || out["userMode"] != "account" || out["theme"] != "dark" {
		t.Errorf("%d %v", status, out)
	}
	if _, out := a.ask("GET", "/api/app/bootstrap", ""); out["account"].(map[string]any)["authenticated"] != true {
		t.Errorf("bootstrap says %v", out["account"])
	}
}
