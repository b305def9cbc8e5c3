package account_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/account"
	"ambry.dev/ambry/internal/account/accounttest"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/secret"
	"ambry.dev/ambry/internal/state"
)

const me = "me@example.org"

// world is an account with all that is behind it: a database, secrets, and a
// mail server.
type world struct {
	*account.Account
	t       *testing.T
	dir     string
	issuer  *account.Issuer
	db      *state.DB
	secrets *secret.Store
	mail    *accounttest.MailServer
	smtp    account.SMTP
	service account.Service

	mu    sync.Mutex // guards what follows
	now   time.Time
	told  []string
	ended int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), mail: accounttest.ServeMail(t, nil), now: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)}
	w.smtp = account.SMTP{Host: "127.0.0.1", Port: w.mail.Port, Security: account.NoTLS, From: "ambry@example.org"}
	w.open()
	t.Cleanup(func() { w.close() })
	return w
}

// open starts what a service has; after close it is a service that was started anew.
func (w *world) open() {
	w.t.Helper()
	h, err := home.Open(filepath.Join(w.dir, "home"))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.db, err = state.Open(w.t.Context(), h); err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	if w.secrets, err = secret.Open(secret.Config{Home: h, KeyDir: filepath.Join(w.dir, "keys"), Log: log, Now: w.clock}); err != nil {
		w.t.Fatal(err)
	}
	w.issuer = &account.Issuer{
		Store: w.db, Secrets: w.secrets, Limits: account.OwnLimits(), Now: w.clock, Log: log,
		Mail: &account.Mailer{
			Settings: func() account.SMTP { return w.smtp }, Password: func(context.Context) (string, error) { return "geheim", nil },
			Dial: new(net.Dialer).DialContext, Unset: "set account.smtp.host", Roots: w.mail.Roots,
		},
		Failed: func(reason string) { w.Publish(ambry.AccountDeliveryFailed{Reason: reason}) },
	}
	w.service = w.issuer
	w.Account = &account.Account{
		Service: func() account.Service { return w.service }, Secrets: w.secrets, Bus: w, Now: w.clock, Log: log,
		Ended: func(context.Context) { w.mu.Lock(); defer w.mu.Unlock(); w.ended++ },
	}
}

func (w *world) close() {
	w.issuer.Close()
	if err := w.db.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) clock() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }

func (w *world) pass(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.now = w.now.Add(d) }

// Publish keeps what is told.
func (w *world) Publish(p ambry.Payload) ambry.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, p.Topic())
	return ambry.Event{}
}

// send has a code sent and returns it.
func (w *world) send(address string) string {
	w.t.Helper()
	if _, err := w.SendCode(w.t.Context(), ambry.CodeRequest{Channel: "email", Email: address, Locale: "en"}); err != nil {
		w.t.Fatal(err)
	}
	return w.mail.Code(w.t, address)
}

func (w *world) try(address, code string) (ambry.AccountSession, error) {
	return w.VerifyCode(w.t.Context(), ambry.CodeAnswer{Channel: "email", Email: address, VerificationCode: code})
}

func (w *world) login(address string) ambry.AccountSession {
	w.t.Helper()
	s, err := w.try(address, w.send(address))
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) wantOut() {
	w.t.Helper()
	s, err := w.Session(w.t.Context())
	known, err2 := w.Known(w.t.Context())
	if err != nil || err2 != nil || s.Authenticated || known.Authenticated || s.Profile != nil {
		w.t.Errorf("somebody is logged in: %+v, %v", s, err)
	}
	if ids := w.secrets.IDs(); len(ids) > 1 {
		w.t.Errorf("secrets %q are left", ids)
	}
}

// other returns a code that is not the given one.
func other(code string) string {
	if code == "000000" {
		return "000001"
	}
	return "000000"
}
