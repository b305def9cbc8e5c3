package account_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/account"
)

// A service that is not what it should be neither logs anybody in nor out, and
// nothing of what it says is shown.
func TestStrangeService(t *testing.T) {
	login := func(token, id, email, nickname string) string {
		return fmt.Sprintf(`{"token":%q,"expiresAt":"2030-01-01T00:00:00Z","profile":{"userId":%q,"email":%q,"nickname":%q}}`, token, id, email, nickname)
	}
	const json = "application/json"
	for name, tt := range map[string]struct {
		status     int
		kind, body string
		want       ambry.Kind
	}{
		"right":                     {200, json, login("t", "1", me, "Me"), ""},
		"a page":                    {200, "text/html", "<html>", ambry.UpstreamFailed},
		"JSON that says it is none": {200, "text/plain", login("t", "1", me, ""), ambry.UpstreamFailed},
		"half an answer":            {200, json, `{"token":"t`, ambry.UpstreamFailed},
		"endless":                   {200, json, `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, ambry.UpstreamFailed},
		"no token":                  {200, json, login("", "1", me, ""), ambry.UpstreamFailed},
		"a token for two headers":   {200, json, login("t\r\nX-A: b", "1", me, ""), ambry.UpstreamFailed},
		"nobody":                    {200, json, login("t", "", me, ""), ambry.UpstreamFailed},
		"a name that turns around":  {200, json, login("t", "1", me, "a\u202eb"), ambry.UpstreamFailed},
		"a name that is a terminal": {200, json, login("t", "1", me, "a\x1b[2J"), ambry.UpstreamFailed},
		"a long name":               {200, json, login("t", "1", me, strings.Repeat("ä", 65)), ambry.UpstreamFailed},
		"no address":                {200, json, login("t", "1", "<"+me+">", ""), ambry.UpstreamFailed},
		"a wrong code":              {400, json, `{"error":{"code":"verification_failed"},"attemptsLeft":99,"detail":"evil"}`, ambry.VerificationFailed},
		"something wrong":           {400, json, `{"detail":"evil"}`, ambry.InvalidArgument},
		"too often":                 {429, json, `{"detail":"evil"}`, ambry.RateLimited},
		"no mail":                   {503, json, `evil`, ambry.DeliveryUnavailable},
		"broken":                    {500, json, `evil`, ambry.UpstreamFailed},
		"a redirect":                {307, json, ``, ambry.UpstreamFailed},
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
			defer elsewhere.Close()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			}))
			defer s.Close()
			w := newWorld(t)
			w.service = account.NewRemote(s.URL, new(net.Dialer).DialContext)
			got, err := w.try(me, "123456")
			if (err == nil) != (tt.want == "") || err != nil && (ambry.KindOf(err) != tt.want || strings.Contains(err.Error(), "evil")) || got.Authenticated != (tt.want == "") {
				t.Errorf("got %+v, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// The token of one service is not shown to another.
func TestATokenStaysWithItsService(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.Method+" "+r.URL.Path) }))
	defer s.Close()
	w := newWorld(t)
	w.login(me)
	w.service = account.NewRemote(s.URL, new(net.Dialer).DialContext)
	if got, err := w.Session(t.Context()); err != nil || got.Authenticated {
		t.Errorf("%+v, %v", got, err)
	}
	w.service = w.issuer
	if got, err := w.Session(t.Context()); err != nil || !got.Authenticated {
		t.Errorf("back at the first one: %+v, %v", got, err)
	}
	w.service = account.NewRemote(s.URL, new(net.Dialer).DialContext)
	if err := w.Logout(t.Context()); err != nil {
		t.Error(err)
	}
	w.service = w.issuer
	w.wantOut()
	if len(asked) != 0 {
		t.Errorf("it was asked %q", asked)
	}
}
