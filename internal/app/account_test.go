package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/account/accounttest"
)

// The whole service, with a mail server on this machine and then with one that is
// not: settings are taken over while it runs, and local-only mode holds.
func TestAccountOfTheService(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir, memoryAt(t, "127.0.0.1").URL)
	const me = "me@example.org"
	send := func(address string) error {
		_, err := s.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: address, Locale: "en"})
		return err
	}
	if err := send("nobody@example.org"); ambry.KindOf(err) != ambry.DeliveryUnavailable || !strings.Contains(err.Error(), "account.smtp.host") {
		t.Errorf("without a mail server: %v", err)
	}
	mode := func() error {
		_, err := s.PatchSettings(t.Context(), ambry.AppSettingsPatch{UserMode: ptr("account")})
		return err
	}
	if err := mode(); ambry.KindOf(err) != ambry.Unauthorized {
		t.Errorf("the mode without a session: %v", err)
	}

	mail := accounttest.ServeMail(t, nil)
	changes := s.changes()
	configure := func(host string, port int) {
		t.Helper()
		text := fmt.Sprintf("account:\n  smtp: {host: %q, port: %d, security: none, from: \"ambry@example.org\"}\n", host, port)
		if err := os.WriteFile(filepath.Join(dir, ".ambry", "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c := next(t, changes); c.Section != "config" || len(c.Restart) > 0 {
			t.Errorf("told %+v", c)
		}
	}
	configure("127.0.0.1", mail.Port)
	if _, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{LocalOnlyMode: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	next(t, changes)
	if err := send(me); err != nil {
		t.Fatal(err)
	}
	session, err := s.VerifyCode(t.Context(), ambry.CodeAnswer{Channel: "email", Email: me, VerificationCode: mail.Code(t, me)})
	if err != nil || !session.Authenticated || !session.IsNewUser {
		t.Fatalf("%+v, %v", session, err)
	}
	if err := mode(); err != nil {
		t.Error(err)
	}
	next(t, changes)
	if b := s.bootstrap(); b.App.UserMode != "account" || b.Account.Profile == nil || b.Account.Profile.Email != me || b.Health.Cloud != ambry.HealthOff {
		t.Errorf("bootstrap has %+v and %+v", b.App, b.Account)
	}

	configure("mail.example.org", 25)
	if err := send("you@example.org"); ambry.KindOf(err) != ambry.DeliveryUnavailable || !strings.Contains(err.Error(), "local-only mode") {
		t.Errorf("in local-only mode: %v", err)
	}
	s.stop()
	s = serveIn(t, dir, memoryAt(t, "127.0.0.1").URL)
	if got, err := s.AccountSession(t.Context()); err != nil || !got.Authenticated || got.Profile.UserID != session.Profile.UserID {
		t.Errorf("after a start: %+v, %v", got, err)
	}
	for range 2 {
		if err := s.Logout(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if b := s.bootstrap(); b.App.UserMode != "unset" || b.Account.Authenticated {
		t.Errorf("after logging out: %+v, %+v", b.App, b.Account)
	}
}
