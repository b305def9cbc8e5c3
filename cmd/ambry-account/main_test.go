package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/account"
	"ambry.dev/ambry/internal/account/accounttest"
)

// hosted is a running service.
type hosted struct {
	addr string
	stop func()
}

// host runs the service on a directory until the test ends or stop is called.
func host(t *testing.T, dir, listen string, mail *accounttest.MailServer) *hosted {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, []string{
			"serve", "--data", filepath.Join(dir, "data"), "--listen", listen,
			"--smtp-host", "127.0.0.1", "--smtp-port", strconv.Itoa(mail.Port), "--smtp-security", "none", "--smtp-from", "ambry@example.org",
		}, func(string) string { return "" }, w, t.Output())
		w.Close()
		ended <- code
	}()
	h := &hosted{}
	h.stop = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("it ended with %d", code)
		}
	})
	t.Cleanup(h.stop)
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	h.addr = line[strings.LastIndexByte(line, ' ')+1 : len(line)-1]
	return h
}

// secrets keeps secrets in memory.
type secrets struct {
	mu  sync.Mutex
	all map[string]string
}

func (s *secrets) Set(_ context.Context, id, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id] = value
	return nil
}

func (s *secrets) Get(_ context.Context, id string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.all[id]; ok {
		return value, nil
	}
	return "", ambry.NotFound.Errorf("none")
}

func (s *secrets) Delete(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
	return nil
}

type silent struct{}

func (silent) Publish(ambry.Payload) ambry.Event { return ambry.Event{} }

// member is the account of somebody whose settings name the service.
func member(t *testing.T, addr string) *account.Account {
	remote := account.NewRemote("http://"+addr, new(net.Dialer).DialContext)
	return &account.Account{
		Service: func() account.Service { return remote }, Secrets: &secrets{all: map[string]string{}}, Bus: silent{}, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Ended: func(context.Context) {},
	}
}

const me = "me@example.org"

func login(t *testing.T, a *account.Account, mail *accounttest.MailServer) ambry.AccountSession {
	t.Helper()
	sent, err := a.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me, Locale: "zh"})
	if err != nil || sent.ResendAfterSec != 60 {
		t.Fatalf("%+v, %v", sent, err)
	}
	code := mail.Code(t, me)
	wrong := "000000"
	if wrong == code {
		wrong = "000001"
	}
	_, err = a.VerifyCode(t.Context(), ambry.CodeAnswer{Channel: "email", Email: me, VerificationCode: wrong})
	if e, ok := errors.AsType[*ambry.Error](err); !ok || e.Kind != ambry.VerificationFailed || e.Extra["attemptsLeft"] != account.MaxTries-1 {
		t.Fatalf("a wrong code is answered with %v", err)
	}
	s, err := a.VerifyCode(t.Context(), ambry.CodeAnswer{Channel: "email", Email: me, VerificationCode: code})
	if err != nil || !s.Authenticated || s.Profile.Email != me {
		t.Fatalf("%+v, %v", s, err)
	}
	return s
}

func TestMembersLogIn(t *testing.T) {
	mail, dir := accounttest.ServeMail(t, nil), t.TempDir()
	h := host(t, dir, "127.0.0.1:0", mail)
	a := member(t, h.addr)
	id := login(t, a, mail).Profile.UserID

	_, err := a.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me})
	if e, ok := errors.AsType[*ambry.Error](err); !ok || e.Kind != ambry.RateLimited || e.RetryAfter < 1 || e.RetryAfter > 60 {
		t.Errorf("a second code at once: %v", err)
	}

	h.stop()
	if s, err := a.Session(t.Context()); err != nil || !s.Authenticated || !s.Unconfirmed || s.Profile.UserID != id {
		t.Errorf("while it is down: %+v, %v", s, err)
	}
	if _, err := a.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me}); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("while it is down: %v", err)
	}
	host(t, dir, h.addr, mail)
	if s, err := a.Session(t.Context()); err != nil || !s.Authenticated || s.Unconfirmed || s.Profile.UserID != id {
		t.Errorf("after a start: %+v, %v", s, err)
	}

	var out bytes.Buffer
	if code := run(t.Context(), []string{"revoke", "--data", filepath.Join(dir, "data"), "Me@example.org"}, nil, &out, t.Output()); code != 0 || out.String() != "1 revoked\n" {
		t.Errorf("%d, %q", code, out.String())
	}
	if s, err := a.Session(t.Context()); err != nil || s.Authenticated {
		t.Errorf("after it was revoked: %+v, %v", s, err)
	}
}

func TestLogoutWhileTheServiceIsDown(t *testing.T) {
	mail, dir := accounttest.ServeMail(t, nil), t.TempDir()
	h := host(t, dir, "127.0.0.1:0", mail)
	a := member(t, h.addr)
	login(t, a, mail)
	h.stop()
	for range 2 {
		if err := a.Logout(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if s, err := a.Session(t.Context()); err != nil || s.Authenticated {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestLogoutIsToldToTheService(t *testing.T) {
	mail, dir := accounttest.ServeMail(t, nil), t.TempDir()
	h := host(t, dir, "127.0.0.1:0", mail)
	a := member(t, h.addr)
	login(t, a, mail)
	if err := a.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if run(t.Context(), []string{"revoke", "--data", filepath.Join(dir, "data"), me}, nil, &out, t.Output()); out.String() != "0 revoked\n" {
		t.Errorf("a session is left: %q", out.String())
	}
}

func TestRefusals(t *testing.T) {
	h := host(t, t.TempDir(), "127.0.0.1:0", accounttest.ServeMail(t, nil))
	for _, tt := range []struct {
		method, path, kind, body string
		status                   int
	}{
		{"GET", "/v1/health", "", "", 200},
		{"GET", "/", "", "", 404},
		{"GET", "/v1/codes", "", "", 405},
		{"PUT", "/v1/session", "", "", 405},
		{"POST", "/v1/codes", "text/plain", `{"email":"me@example.org"}`, 415},
		{"POST", "/v1/codes", "application/json", `{"email":"me@example.org","more":1}`, 400},
		{"POST", "/v1/codes", "application/json", `{"email":"me@example.org"}{}`, 400},
		{"POST", "/v1/codes", "application/json", `{"email":"me@example.org\r\nBcc: x@example.org"}`, 400},
		{"POST", "/v1/codes", "application/json", `{"email":"` + strings.Repeat("a", maxBody) + `"}`, 413},
		{"POST", "/v1/sessions", "application/json", `{"email":"me@example.org","code":"１２３４５６"}`, 400},
		{"POST", "/v1/sessions", "application/json", `{"email":"me@example.org","code":"123456"}`, 400},
		{"GET", "/v1/session", "", "", 401},
		{"DELETE", "/v1/session", "", "", 401},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+h.addr+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.kind != "" {
			req.Header.Set("Content-Type", tt.kind)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status || strings.Contains(string(data), "Bcc") || tt.status == 405 && resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s %.60s: %d %s, want %d", tt.method, tt.path, tt.body, resp.StatusCode, data, tt.status)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"--data is needed":      {"serve"},
		"listens on this":       {"serve", "--data", t.TempDir() + "/d", "--listen", "0.0.0.0:0"},
		"read the certificate":  {"serve", "--data", t.TempDir() + "/d", "--cert", "nowhere"},
		"must be starttls":      {"serve", "--data", t.TempDir() + "/d", "--smtp-security", "ssl"},
		"must be 1 at least":    {"serve", "--data", t.TempDir() + "/d", "--codes-per-hour", "0"},
		"no plain mail address": {"revoke", "--data", t.TempDir() + "/d", "<a@b>"},
	} {
		var errs bytes.Buffer
		if code := run(t.Context(), args, func(string) string { return "" }, io.Discard, &errs); code != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: %d, %q", args, code, errs.String())
		}
	}
}
