package account_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/account"
	"ambry.dev/ambry/internal/account/accounttest"
)

func TestLoginAndLogout(t *testing.T) {
	w := newWorld(t)
	w.wantOut()
	s := w.login(me)
	if !s.Authenticated || !s.IsNewUser || s.Profile.Email != me || s.Profile.Nickname != "me" || s.Profile.UserID == "" {
		t.Errorf("logged in as %+v, %+v", s, s.Profile)
	}
	id := s.Profile.UserID
	w.close()
	w.open() // the service starts anew
	for _, ask := range []func(context.Context) (ambry.AccountSession, error){w.Session, w.Known} {
		if s, err := ask(t.Context()); err != nil || !s.Authenticated || s.IsNewUser || s.Unconfirmed || s.Profile.UserID != id {
			t.Errorf("after a start: %+v, %v", s, err)
		}
	}
	for range 2 {
		if err := w.Logout(t.Context()); err != nil {
			t.Error(err)
		}
		w.wantOut()
	}
	w.pass(account.ResendAfter)
	if s, err := w.try("ME@Example.ORG", w.send(me)); err != nil || s.IsNewUser || s.Profile.UserID != id {
		t.Errorf("the same person is %+v, %v", s, err)
	}
	if want := []string{"account.logged_in", "account.logged_out", "account.logged_in"}; !slices.Equal(w.told, want) || w.ended != 1 {
		t.Errorf("told %q and %d ends, want %q and 1", w.told, w.ended, want)
	}
}

func TestNoFileShowsACodeOrAToken(t *testing.T) {
	w := newWorld(t)
	code := w.send(me)
	shows := func(what string) {
		t.Helper()
		err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), what) {
				t.Errorf("%s shows %q", filepath.Base(path), what)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	shows(code)
	shows(me) // who has asked for a code only has no account
	if _, err := w.try(me, code); err != nil {
		t.Fatal(err)
	}
	text, err := w.secrets.Get(t.Context(), "account-session")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, `"token":"`)
	token, _, found := strings.Cut(rest, `"`)
	if !found || len(token) < 40 {
		t.Fatalf("no token in the secret")
	}
	shows(token)
}

func TestMailIsInTheLanguageOfThePerson(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ locale, subject, text string }{
		{"en", "Your code for Ambry", "can be used once"}, {"", "Your code", "Hello"}, {"zh-CN", "登录验证码", "只能使用一次"}, {"zh_Hant", "登录验证码", "分钟"}, {"de-DE", "Your code", "Hello"},
	} {
		if _, err := w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me, Locale: tt.locale}); err != nil {
			t.Fatal(err)
		}
		d := w.mail.Next(t)
		if subject, text := accounttest.Read(t, d.Text); !strings.Contains(subject, tt.subject) || !strings.Contains(text, tt.text) {
			t.Errorf("%s: %q, %q", tt.locale, subject, text)
		}
		if !strings.HasPrefix(d.From, "FROM:<ambry@example.org>") {
			t.Errorf("from %q", d.From)
		}
		w.pass(account.ResendAfter)
	}
}

// Whoever guesses sees the same, whether there is a code or not.
func TestGuessing(t *testing.T) {
	w := newWorld(t)
	code := w.send(me)
	for _, address := range []string{me, "nobody@example.org"} {
		for left := account.MaxTries - 1; left > 0; left-- {
			_, err := w.try(address, other(code))
			e, ok := errors.AsType[*ambry.Error](err)
			if !ok || e.Kind != ambry.VerificationFailed || e.Extra["attemptsLeft"] != left {
				t.Fatalf("%s: got %v, want %d tries left", address, err, left)
			}
		}
		for range 3 {
			wantLimited(t, second(w.try(address, other(code))), account.CodeAge)
		}
	}
	wantLimited(t, second(w.try(me, code)), account.CodeAge) // it is void
	w.close()
	w.open()
	wantLimited(t, second(w.try(me, code)), account.CodeAge)
	w.pass(account.CodeAge)
	if _, err := w.try(me, code); ambry.KindOf(err) != ambry.VerificationFailed {
		t.Errorf("a void code is answered with %v", err)
	}
	w.login(me)
}

func second[T any](_ T, err error) error { return err }

func wantLimited(t *testing.T, err error, within time.Duration) {
	t.Helper()
	e, ok := errors.AsType[*ambry.Error](err)
	if !ok || e.Kind != ambry.RateLimited || e.RetryAfter < 1 || e.RetryAfter > int(within.Seconds()) {
		t.Errorf("got %v (%+v), want a limit of at most %v", err, e, within)
	}
}

func TestGuessingIsLimitedOverAll(t *testing.T) {
	w := newWorld(t)
	code := w.send(me)
	for n := range account.OwnLimits().Wrong {
		if _, err := w.try("a"+strings.Repeat("x", n)+"@example.org", "123456"); ambry.KindOf(err) != ambry.VerificationFailed {
			t.Fatalf("guess %d: %v", n, err)
		}
	}
	wantLimited(t, second(w.try(me, code)), time.Hour)
	w.close()
	w.open()
	wantLimited(t, second(w.try("b@example.org", "123456")), time.Hour)
	w.pass(time.Hour)
	w.login(me)
}

func TestCodesAreLimited(t *testing.T) {
	w := newWorld(t)
	send := func(address string) error {
		_, err := w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: address})
		return err
	}
	first := w.send(me)
	wantLimited(t, send(me), account.ResendAfter)
	w.close()
	w.open()
	wantLimited(t, send(me), account.ResendAfter)
	w.pass(account.ResendAfter)
	again := w.send(me)
	if _, err := w.try(me, first); first != again && ambry.KindOf(err) != ambry.VerificationFailed {
		t.Errorf("the code that was replaced is answered with %v", err)
	}
	w.smtp.Host = "" // what is not delivered counts, too
	for n := 2; n < account.OwnLimits().Codes; n++ {
		if err := send("a" + strings.Repeat("x", n) + "@example.org"); ambry.KindOf(err) != ambry.DeliveryUnavailable || !strings.Contains(err.Error(), "set account.smtp.host") {
			t.Fatalf("number %d: %v", n, err)
		}
	}
	wantLimited(t, send("new@example.org"), time.Hour)
	w.close()
	w.open()
	wantLimited(t, send("new@example.org"), time.Hour)
	w.pass(time.Hour)
	if err := send("new@example.org"); ambry.KindOf(err) != ambry.DeliveryUnavailable {
		t.Errorf("an hour later: %v", err)
	}
}

func TestACodeIsGoodOnceAndForTenMinutes(t *testing.T) {
	w := newWorld(t)
	code := w.send(me)
	w.pass(account.CodeAge - time.Millisecond)
	if _, err := w.try(me, code); err != nil {
		t.Fatal(err)
	}
	if _, err := w.try(me, code); ambry.KindOf(err) != ambry.VerificationFailed {
		t.Errorf("used twice: %v", err)
	}
	code = w.send(me)
	w.pass(account.CodeAge)
	if _, err := w.try(me, code); ambry.KindOf(err) != ambry.VerificationFailed {
		t.Errorf("too late: %v", err)
	}
}

// Of many at the same time, one is sent and one is let in.
func TestAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	const many = 20
	count := func(do func() error) (done int) {
		errs := make(chan error, many)
		var all sync.WaitGroup
		for range many {
			all.Go(func() { errs <- do() })
		}
		all.Wait()
		close(errs)
		for err := range errs {
			if err == nil {
				done++
			} else if k := ambry.KindOf(err); k != ambry.RateLimited && k != ambry.VerificationFailed {
				t.Error(err)
			}
		}
		return done
	}
	if n := count(func() error {
		_, err := w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me})
		return err
	}); n != 1 {
		t.Errorf("%d codes were sent", n)
	}
	code := w.mail.Code(t, me)
	if n := count(func() error { return second(w.try(me, code)) }); n != 1 {
		t.Errorf("%d were let in", n)
	}
}

func TestEndedSessionsAreLoggedOut(t *testing.T) {
	for name, end := range map[string]func(*world){
		"expired": func(w *world) { w.pass(account.SessionAge) },
		"revoked": func(w *world) {
			if n, err := w.db.RevokeGrants(w.t.Context(), me, w.clock()); n != 1 || err != nil {
				w.t.Errorf("%d, %v", n, err)
			}
		},
		"everything deleted": func(w *world) {
			if err := w.db.Reset(w.t.Context()); err != nil {
				w.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.login(me)
			end(w)
			w.wantOut()
			if !slices.Equal(w.told, []string{"account.logged_in", "account.logged_out"}) || w.ended != 1 {
				t.Errorf("told %q", w.told)
			}
		})
	}
}

func TestAnotherLoginEndsTheSession(t *testing.T) {
	w := newWorld(t)
	w.login(me)
	w.login("you@example.org")
	if n, err := w.db.RevokeGrants(t.Context(), me, w.clock()); n != 0 || err != nil {
		t.Errorf("%d sessions are left, %v", n, err)
	}
}

func TestErrorsRepeatNothing(t *testing.T) {
	w := newWorld(t)
	const address, code = "verysecret@example.org", "918273"
	w.smtp.Host = ""
	errs := []error{
		second(w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: address})),
		second(w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: address})),
		second(w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: address + "\r\nBcc: x@example.org"})),
		second(w.SendCode(t.Context(), ambry.CodeRequest{Channel: "phone", Email: address})),
		second(w.try(address, code)), second(w.try(address, code+"9")), second(w.try("<"+address+">", code)),
	}
	for range account.MaxTries {
		errs = append(errs, second(w.try(address, code)))
	}
	for _, err := range errs {
		if err == nil || ambry.KindOf(err) == ambry.Internal || strings.Contains(err.Error(), code) || strings.Contains(err.Error(), "verysecret") {
			t.Errorf("got %v", err)
		}
	}
}

// The answer is the same whether the mail server knows the address or not; that
// the mail failed is told as an event.
func TestUnknownMailbox(t *testing.T) {
	w := newWorld(t)
	w.mail.Refuse("550 5.1.1 <me@example.org>: no such user")
	s, err := w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me})
	if err != nil || !s.OK || s.ResendAfterSec != 60 {
		t.Errorf("got %+v, %v", s, err)
	}
	w.issuer.Close()
	if !slices.Equal(w.told, []string{"account.delivery_failed"}) {
		t.Errorf("told %q", w.told)
	}
}

// A mail server that says nothing does not keep the service from stopping.
func TestHangingMailServer(t *testing.T) {
	w := newWorld(t)
	w.mail.Hang()
	w.issuer.Grace = time.Millisecond
	if _, err := w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me}); err != nil {
		t.Fatal(err)
	}
	w.issuer.Close()
	if !slices.Equal(w.told, []string{"account.delivery_failed"}) {
		t.Errorf("told %q", w.told)
	}
}

func TestWaysToTheMailServer(t *testing.T) {
	for name, tt := range map[string]struct {
		security, user string
		implicit       bool
		untrusted      bool
		fails          bool
	}{
		"in the clear, on this machine":    {security: account.NoTLS},
		"with a password, on this machine": {security: account.NoTLS, user: "bot"},
		"STARTTLS":                         {security: account.StartTLS},
		"STARTTLS with a password":         {security: account.StartTLS, user: "bot"},
		"TLS":                              {security: account.ImplicitTLS, implicit: true},
		"TLS with a password":              {security: account.ImplicitTLS, implicit: true, user: "bot"},
		"wrong password":                   {security: account.StartTLS, user: "else", fails: true},
		"nobody vouches for it":            {security: account.StartTLS, untrusted: true, fails: true},
		"TLS, nobody vouches for it":       {security: account.ImplicitTLS, implicit: true, untrusted: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mail = accounttest.ServeMail(t, func(s *accounttest.MailServer) { s.Secure, s.Auth = tt.implicit, "bot\x00geheim" })
			w.smtp = account.SMTP{Host: "127.0.0.1", Port: w.mail.Port, Security: tt.security, User: tt.user, From: "ambry@example.org"}
			w.issuer.Mail.Roots = w.mail.Roots
			if tt.untrusted {
				w.issuer.Mail.Roots = nil
			}
			_, err := w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me})
			if tt.fails {
				if ambry.KindOf(err) != ambry.DeliveryUnavailable || strings.Contains(err.Error(), "geheim") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err, errors.Unwrap(err))
			}
			if d := w.mail.Next(t); d.TLS != (tt.security != account.NoTLS) || (d.User != "") != (tt.user != "") {
				t.Errorf("sent with tls %v as %q", d.TLS, d.User)
			}
		})
	}
}

func TestLocalOnlyModeSendsNothing(t *testing.T) {
	w := newWorld(t)
	w.issuer.Mail.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, account.ErrLocalOnly }
	_, err := w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me})
	if ambry.KindOf(err) != ambry.DeliveryUnavailable || !strings.Contains(err.Error(), "local-only mode") {
		t.Errorf("got %v", err)
	}
}
