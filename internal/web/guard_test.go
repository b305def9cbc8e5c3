package web_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// guarded is a server with a route of each sort behind the guard.
func guarded(t *testing.T) *server {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"reached":true}`)
	})
	return start(t, echoRoute(), listRoute(), logoutRoute(),
		web.Stream("/api/events", "Follow", ok).TokenInQuery(),
		web.Proxy("/api/v1/memory/", "The memory", ok),
		web.Handle("/mcp/bridge", "The bridge", ok, "GET", "POST", "DELETE").WithToken(web.Token{Header: ambry.MCPTokenHeader, Secret: mcpSecret}),
	)
}

func logoutRoute() web.Route {
	return web.Post("/api/logout", "Log out", func(context.Context, *web.None) (*web.JSON[bool], error) {
		return web.Reply(true), nil
	})
}

const token = ambry.LocalTokenHeader + ": " + secret

// Line 1: DNS rebinding. A page whose name points to 127.0.0.1 has the tokens
// only if it stole them, but always sends its own name as Host.
func TestGuardHost(t *testing.T) {
	s := guarded(t)
	for _, host := range []string{
		"evil.example", "evil.example:PORT", "127.0.0.1.evil.example:PORT", "localhost.evil.example:PORT", "localhost:PORT.evil.example",
		"0.0.0.0:PORT", "foo.localhost:PORT", "127.0.0.1", "localhost", "127.0.0.1:1", "localhost:1", "127.0.0.2:PORT", "[::1]:PORT",
		"127.0.0.1:PORT@evil.example", "evil.example@127.0.0.1:PORT", "[::ffff:7f00:1]:PORT", "2130706433:PORT", "0x7f.1:PORT",
		"evil.example#127.0.0.1:PORT", "127.0.0.1:PORT,evil.example", "127.0.0.1:0PORT", "127.0.0.1:+PORT", "127.0.0.1:PORT ", "localhost.:PORT", "",
	} {
		host = strings.ReplaceAll(host, "PORT", s.port)
		for _, target := range []string{"GET /api/health", "GET /api/list", "POST /mcp/bridge", "GET /api/events?token=" + secret, "POST /api/v1/memory/search"} {
			r := s.raw(target + " HTTP/1.1\r\nHost: " + host + "\r\n" + token + "\r\n" + ambry.MCPTokenHeader + ": " + mcpSecret + "\r\nX-Forwarded-Host: HOST\r\nContent-Length: 0\r\n\r\n")
			if strings.TrimSpace(host) != host && r.status == 200 {
				continue // blanks around a header's value are not part of it
			}
			if r.status != 403 && r.status != 400 {
				t.Errorf("%s with Host %q: got %d, want 403", target, host, r.status)
			}
		}
	}
	for _, host := range []string{"127.0.0.1:" + s.port, "localhost:" + s.port} {
		s.raw("GET /api/health HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n").want(t, 200, "")
	}
	for name, lines := range map[string]string{
		"no Host":                "GET /api/health HTTP/1.1\r\n\r\n",
		"two Hosts":              "GET /api/health HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n",
		"HTTP/1.0 without Host":  "GET /api/health HTTP/1.0\r\n\r\n",
		"HTTP/0.9":               "GET /api/health\r\n\r\n",
		"absolute form, foreign": "GET http://evil.example/api/health HTTP/1.1\r\nHost: HOST\r\n\r\n",
	} {
		if r := s.raw(lines); r.status != 403 && r.status != 400 {
			t.Errorf("%s: got %d, want a refusal", name, r.status)
		}
	}
}

// Line 2: pages. They cannot forge Origin or Sec-Fetch-Site.
func TestGuardOrigin(t *testing.T) {
	s := guarded(t)
	for _, origin := range []string{
		"https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example", "http://127.0.0.1:1", "http://localhost:4321",
		"https://127.0.0.1:4321", "http://127.0.0.1:43210", "http://127.0.0.1:4321/", "HTTP://127.0.0.1:4321", "null", "", "data:",
		"chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "http://127.0.0.1:4321 https://evil.example", "https://evil.example, " + panel,
	} {
		for _, target := range []string{"/api/health", "/api/list", "/none", "/api/events?token=" + secret} {
			for _, method := range []string{"GET", "OPTIONS"} {
				r := s.do(method, target, "", "Origin: "+origin, "Access-Control-Request-Method: DELETE", "Access-Control-Request-Private-Network: true")
				r.want(t, 403, "forbidden")
				for name := range r.header {
					if strings.HasPrefix(name, "Access-Control-") {
						t.Errorf("%s %s from %q is granted %s", method, target, origin, name)
					}
				}
			}
		}
	}
	s.do("GET", "/api/list", "", "Origin: "+panel, "Origin: "+panel).want(t, 403, "forbidden")
	for _, site := range []string{"cross-site", "same-site", "odd"} {
		s.do("GET", "/api/list", "", "Sec-Fetch-Site: "+site).want(t, 403, "forbidden")
		s.send("GET", "/api/health", "", "Sec-Fetch-Site: "+site, "Sec-Fetch-Mode: navigate").want(t, 403, "forbidden")
	}
	for _, site := range []string{"none", "same-origin"} {
		s.do("GET", "/api/list", "", "Sec-Fetch-Site: "+site).want(t, 200, "")
	}
	r := s.do("GET", "/api/list", "", "Origin: "+panel, "Sec-Fetch-Site: same-site")
	r.want(t, 200, "")
	if got := r.header.Get("Access-Control-Allow-Origin"); got != panel || r.header.Get("Vary") != "Origin" {
		t.Errorf("the panel is granted %q, varying by %q", got, r.header.Get("Vary"))
	}
}

// Without a list, as in the runtime, every page is refused.
func TestGuardWithoutOriginsRefusesEveryPage(t *testing.T) {
	cfg := config()
	cfg.Origins = nil
	cfg.Token = web.Token{Header: "Authorization", Scheme: "Bearer", Secret: "runtime-secret"}
	s := startWith(t, cfg, listRoute())
	s.send("GET", "/api/list", "", "Authorization: Bearer runtime-secret").want(t, 200, "")
	s.send("GET", "/api/list", "", "Authorization: Bearer runtime-secret", "Origin: "+panel).want(t, 403, "forbidden")
	for _, value := range []string{"runtime-secret", "bearer runtime-secret", "Bearer  runtime-secret", "Bearer", "Bearer ", "Basic runtime-secret", "Bearer runtime-secret2"} {
		s.send("GET", "/api/list", "", "Authorization: "+value).want(t, 401, "unauthorized")
	}
	s.do("GET", "/api/list", "").want(t, 401, "unauthorized")
}

// The preflight: exactly what the panel needs.
func TestGuardPreflight(t *testing.T) {
	s := guarded(t)
	r := s.send("OPTIONS", "/api/echo/x", "", "Origin: "+panel, "Access-Control-Request-Method: PATCH", "Access-Control-Request-Headers: x-app-local-token,content-type", "Access-Control-Request-Private-Network: true")
	r.want(t, 204, "")
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":          panel,
		"Access-Control-Allow-Methods":         "GET, HEAD, POST, PUT, PATCH, DELETE",
		"Access-Control-Allow-Headers":         "accept, content-type, idempotency-key, if-none-match, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, x-app-agent, x-app-local-token, x-app-mcp-token, x-request-id",
		"Vary":                                 "Origin",
		"Access-Control-Allow-Credentials":     "",
		"Access-Control-Allow-Private-Network": "",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	s.send("OPTIONS", "/api/list", "").want(t, 401, "unauthorized")
	s.send("OPTIONS", "*", "").want(t, 401, "unauthorized")
	s.do("OPTIONS", "/api/list", "").want(t, 405, "method_not_allowed")
}

// Line 3: whoever has no token, learns nothing.
func TestGuardToken(t *testing.T) {
	s := guarded(t)
	bearer := "Authorization: Bearer " + secret
	tests := []struct {
		name, method, target string
		headers              []string
	}{
		{"none", "GET", "/api/list", nil},
		{"none, unknown route", "GET", "/api/none", nil},
		{"none, wrong method", "DELETE", "/api/list", nil},
		{"none, odd path", "GET", "/api/../api/list", nil},
		{"none, TRACE", "TRACE", "/api/list", nil},
		{"none, bare star", "GET", "*", nil},
		{"none, absolute form", "GET", "http://HOST/api/list", nil},
		{"none, below health", "GET", "/api/health/", nil},
		{"none, encoded health", "GET", "/api/health%2f..%2flist", nil},
		{"empty", "GET", "/api/list", []string{ambry.LocalTokenHeader + ":"}},
		{"a blank", "GET", "/api/list", []string{ambry.LocalTokenHeader + ":  "}},
		{"shorter", "GET", "/api/list", []string{token[:len(token)-1]}},
		{"longer", "GET", "/api/list", []string{token + "x"}},
		{"other case", "GET", "/api/list", []string{ambry.LocalTokenHeader + ": " + strings.ToUpper(secret)}},
		{"with a scheme", "GET", "/api/list", []string{ambry.LocalTokenHeader + ": Bearer " + secret}},
		{"a list", "GET", "/api/list", []string{token + "," + secret}},
		{"twice", "GET", "/api/list", []string{token, token}},
		{"right, then wrong", "GET", "/api/list", []string{token, "X-App-Local-Token: wrong"}},
		{"wrong, then right", "GET", "/api/list", []string{"X-App-Local-Token: wrong", token}},
		{"named hop-by-hop", "GET", "/api/list", []string{"Connection: " + ambry.LocalTokenHeader}},
		{"in the query", "GET", "/api/list?token=" + secret, nil},
		{"as a bearer", "GET", "/api/list", []string{bearer}},
		{"as a cookie", "GET", "/api/list", []string{"Cookie: token=" + secret}},
		{"in a header with underscores", "GET", "/api/list", []string{"x_app_local_token: " + secret}},
		{"of the bridge", "GET", "/api/list", []string{ambry.LocalTokenHeader + ": " + mcpSecret}},
		{"in the bridge's header", "GET", "/api/list", []string{ambry.MCPTokenHeader + ": " + mcpSecret}},
		{"on the bridge", "POST", "/mcp/bridge", []string{token}},
		{"on the bridge, in its header", "POST", "/mcp/bridge", []string{ambry.MCPTokenHeader + ": " + secret}},
		{"below the bridge, its own", "POST", "/mcp/bridge/x", []string{ambry.MCPTokenHeader + ": " + mcpSecret}},
		{"on the stream, in the header", "GET", "/api/events", []string{token}},
		{"on the stream, empty", "GET", "/api/events?token=", nil},
		{"on the stream, wrong", "GET", "/api/events?token=wrong", nil},
		{"on the stream, other name", "GET", "/api/events?Token=" + secret, nil},
		{"on the stream, as a list", "GET", "/api/events?token[]=" + secret, nil},
		{"on the stream, longer by NUL", "GET", "/api/events?token=" + secret + "%00", nil},
		{"on the stream, twice", "GET", "/api/events?token=" + secret + "&token=" + secret, nil},
		{"on the stream, right then wrong", "GET", "/api/events?token=" + secret + "&token=wrong", nil},
		{"on the stream, with a semicolon", "GET", "/api/events?token=" + secret + ";token=wrong", nil},
		{"on the stream, the bridge's", "GET", "/api/events?token=" + mcpSecret, nil},
		{"on the stream, wrong method", "POST", "/api/events", []string{token}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := s.send(tt.method, tt.target, "", tt.headers...)
			r.want(t, 401, "")
			if !r.closes {
				t.Error("the connection stays open")
			}
		})
	}
	s.do("GET", "/api/list", "").want(t, 200, "")
	s.send("GET", "/api/events?token="+secret, "").want(t, 200, "")
	s.send("POST", "/mcp/bridge", "{}", ambry.MCPTokenHeader+": "+mcpSecret).want(t, 200, "")
}

func TestAnEmptySecretOpensNothing(t *testing.T) {
	cfg := config()
	cfg.Token.Secret = ""
	s := startWith(t, cfg, listRoute())
	s.send("GET", "/api/list", "", ambry.LocalTokenHeader+":").want(t, 401, "unauthorized")
}

// The body of a stranger is not read: the answer is there while it is still
// being sent, and the connection ends.
func TestGuardAnswersBeforeTheBody(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	for name, headers := range map[string]string{
		"no token": "", "wrong token": ambry.LocalTokenHeader + ": wrong\r\n", "evil Origin": token + "\r\nOrigin: https://evil.example\r\n",
		"too long": token + "\r\nContent-Type: application/json\r\n", "a form": token + "\r\nContent-Type: text/plain\r\n",
	} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(conn, "POST /api/echo/x HTTP/1.1\r\nHost: %s\r\n%sContent-Length: 1073741824\r\n\r\n{", s.addr, headers)
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
			t.Errorf("%s: got %.40q and %v, want an answer and the end", name, answer, err)
		}
		conn.Close()
	}
}

// Line 4: two spellings of one path.
func TestGuardPath(t *testing.T) {
	s := guarded(t)
	for _, path := range []string{
		"//api/list", "/api//list", "/api/./list", "/api/../api/list", "/api/health/../list", "/api/list/..", "/./api/list", "/api/list/.",
		"/api/%2e/list", "/api/%2e%2e/list", "/api/.%2e/list", "/api/%2E%2E/list", "/api/health%2f..%2flist", "/api%2Flist", "/api/%5c..%5clist",
		`/api\list`, "/api/list;x", "/api/list;/api/health", "/api/%3blist", "/api/%61pp", "/api/list%00", "/api/%0d%0aX-Injected:1",
		"/api/v1/memory/%252e%252e%252fadmin", "/api/v1/memory/%c0%ae%c0%ae/admin", "/api/v1/memory/a%2Fb", "/api/v1/memory/%ff%fe", "/api/v1/memory/a%3Fq=1",
		"/api/v1/memory/a%23b", "/api/v1/memory/%25%30%30", "/api/v1/memory/%c2%85", "/api/v1/memory//x", "/api/v1/memory/%7F", "/api/v1/memory/x%",
		"/api/v1/memory/..;/admin", "/api/" + strings.Repeat("a", 2048), "*", "http://HOST/api/list",
	} {
		for _, method := range []string{"GET", "POST"} {
			r := s.do(method, path, "")
			if r.status != 400 || r.header.Get("X-Injected") != "" || r.header.Get("Location") != "" {
				t.Errorf("%s %.60s: got %d, want 400", method, path, r.status)
			}
		}
	}
	for _, path := range []string{"/api/list/", "/api/list%20", "/API/LIST", "/api", "/", "/api/v1/memory", "/api/v1/admin/shutdown"} {
		s.do("GET", path, "").want(t, 404, "not_found")
	}
	for _, path := range []string{"/api/v1/memory/", "/api/v1/memory/a:b~c@d", "/api/v1/memory/%E4%BD%A0", "/api/v1/memory/a%20b", "/api/v1/memory/x/y/z/", "/api/v1/memory/'--?a=%2e%2e"} {
		s.do("GET", path, "").want(t, 200, "")
	}
}

// Line 5: methods that reach nobody.
func TestGuardMethod(t *testing.T) {
	s := guarded(t)
	tests := []struct{ method, target, allow string }{
		{"DELETE", "/api/list", "GET"},
		{"HEAD", "/api/list", "GET"},
		{"get", "/api/list", "GET"},
		{"GETX", "/api/list", "GET"},
		{"PROPFIND", "/api/list", "GET"},
		{"TRACE", "/api/list", "GET"},
		{"CONNECT", "/api/list", "GET"},
		{"GET", "/api/echo/x", "POST"},
		{"POST", "/api/events?token=" + secret, "GET"},
		{"HEAD", "/api/events?token=" + secret, "GET"},
		{"PUT", "/mcp/bridge", "GET, POST, DELETE"},
		{"POST", "/api/health", "GET, HEAD"},
		{"TRACE", "/api/v1/memory/x", "GET, HEAD, POST, PUT, PATCH, DELETE"},
	}
	for _, tt := range tests {
		r := s.do(tt.method, tt.target, "", ambry.MCPTokenHeader+": "+mcpSecret, "X-HTTP-Method-Override: GET", "X-Original-URL: /api/health")
		if r.status != 405 || r.header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: got %d, Allow %q, want 405 and %q", tt.method, tt.target, r.status, r.header.Get("Allow"), tt.allow)
		}
		if strings.Contains(r.body, secret) {
			t.Errorf("%s echoes the token", tt.method)
		}
	}
	s.do("POST", "/api/list?_method=GET", "{}").want(t, 405, "method_not_allowed")
}

// No connection becomes another protocol's.
func TestGuardNeverUpgrades(t *testing.T) {
	s := guarded(t)
	for _, protocol := range []string{"websocket", "h2c", "TLS/1.0"} {
		for _, target := range []string{"/api/list", "/api/v1/memory/x", "/api/events?token=" + secret, "/mcp/bridge"} {
			r := s.raw("GET " + target + " HTTP/1.1\r\nHost: HOST\r\n" + token + "\r\n" + ambry.MCPTokenHeader + ": " + mcpSecret +
				"\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: " + protocol + "\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
			r.want(t, 200, "")
		}
	}
	if r := s.raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); r.status < 400 {
		t.Errorf("HTTP/2: got %d", r.status)
	}
}
