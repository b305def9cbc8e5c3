package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry/internal/web"
)

func bodies(t *testing.T) *server {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"bytes":%d,"length":%d,"whole":%v}`, len(data), r.ContentLength, err == nil)
	})
	return start(t, echoRoute(), logoutRoute(), listRoute(),
		web.Post("/api/small", "Small", func(_ context.Context, in *smallInput) (*web.JSON[bool], error) {
			return web.Reply(true), nil
		}).MaxBody(64),
		web.Handle("/api/import", "Import", h, "POST").Lines(),
		web.Handle("/mcp/bridge", "Bridge", h, "POST"),
		web.Proxy("/api/v1/memory/", "The memory", h),
	)
}

type smallInput struct {
	Body struct {
		Text string `json:"text"`
	}
}

const chunked = "Transfer-Encoding: chunked"

// Line 6: what pages may send without asking, and what unpacks to more than it
// looks like.
func TestGuardMedia(t *testing.T) {
	s := bodies(t)
	json := `{"text":"x"}`
	for _, kind := range []string{
		"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "application/jsonp", "application/json2",
		"", "json", "application/json; charset=utf-16", "application/json, text/plain", "application/x-ndjson", "application/json; charset", "text/json",
	} {
		for _, target := range []string{"/api/echo/x", "/api/logout", "/mcp/bridge"} {
			s.do("POST", target, json, "Content-Type: "+kind).want(t, 415, "unsupported_media_type")
		}
		if kind != "application/x-ndjson" {
			s.do("POST", "/api/v1/memory/search", json, "Content-Type: "+kind).want(t, 415, "unsupported_media_type")
			s.do("POST", "/api/import", json, "Content-Type: "+kind).want(t, 415, "unsupported_media_type")
		}
	}
	s.do("POST", "/api/echo/x", json, "Content-Type: application/json", "Content-Type: application/json").want(t, 415, "unsupported_media_type")
	s.do("POST", "/api/import", json).want(t, 415, "unsupported_media_type")
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"} {
		s.do("POST", "/api/echo/x", json, "Content-Type: "+kind).want(t, 200, "")
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write([]byte(json))
	_ = z.Close()
	for _, encoding := range []string{"gzip", "br", "identity, gzip", "chunked", ""} {
		for _, target := range []string{"/api/echo/x", "/api/v1/memory/search", "/mcp/bridge"} {
			s.do("POST", target, bomb.String(), "Content-Encoding: "+encoding).want(t, 415, "unsupported_media_type")
		}
	}
	s.do("POST", "/api/echo/x", json, "Content-Encoding: identity").want(t, 200, "")
}

// Line 6: lengths, announced or not.
func TestGuardLength(t *testing.T) {
	s := bodies(t)
	fits := `{"text":"x"` + strings.Repeat(" ", 64-12) + `}`
	s.do("POST", "/api/small", fits).want(t, 200, "")
	s.do("POST", "/api/small", fits+" ").want(t, 413, "payload_too_large")
	s.do("POST", "/api/small", chunks(fits), chunked).want(t, 200, "")
	s.do("POST", "/api/small", chunks(fits+" "), chunked).want(t, 413, "payload_too_large")
	big := `{"text":"` + strings.Repeat("a", web.DefaultMaxBody) + `"}`
	for _, target := range []string{"/api/echo/x", "/api/logout", "/mcp/bridge"} {
		s.do("POST", target, big).want(t, 413, "payload_too_large")
	}
	s.do("POST", "/api/v1/memory/add", big).want(t, 200, "")
	s.do("POST", "/api/v1/memory/add", big+strings.Repeat(" ", web.ProxyMaxBody)).want(t, 413, "payload_too_large")
	many := strings.Repeat(`{"a":1}`+"\n", 1<<20)
	for _, target := range []string{"/api/import", "/api/v1/memory/import"} {
		r := s.do("POST", target, many, "Content-Type: application/x-ndjson")
		r.want(t, 200, "")
		if want := fmt.Sprintf(`"bytes":%d`, len(many)); !strings.Contains(r.body, want) {
			t.Errorf("%s: got %s, want %s", target, r.body, want)
		}
	}
}

func chunks(body string) string {
	var b strings.Builder
	for len(body) > 0 {
		n := min(len(body), 7)
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

// An endless body is cut where it gets too long.
func TestEndlessBodyIsCut(t *testing.T) {
	s := bodies(t)
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "POST /api/v1/memory/add HTTP/1.1\r\nHost: %s\r\n%s\r\nContent-Type: application/json\r\n%s\r\n\r\n", s.addr, token, chunked)
	chunk := []byte("10000\r\n" + strings.Repeat("a", 0x10000) + "\r\n")
	for sent := 0; ; sent += len(chunk) {
		if _, err := conn.Write(chunk); err != nil {
			return
		}
		if sent > 64<<20 {
			t.Fatalf("took %d MiB without an end", sent>>20)
		}
	}
}

// Line 7, through the socket; TestCheckJSON has the rest.
func TestGuardJSON(t *testing.T) {
	s := bodies(t)
	for name, body := range map[string]string{
		"null": "null", "array": "[]", "string": `"x"`, "number": "7", "cut off": `{"text":"x`, "two values": `{"text":"x"}{"text":"y"}`,
		"trailing": `{"text":"x"} x`, "single quotes": `{'text':'x'}`, "comment": `{"text":"x"/*c*/}`, "trailing comma": `{"text":"x",}`,
		"NaN": `{"count":NaN}`, "bad UTF-8": "{\"text\":\"\xff\"}", "UTF-16": "\xff\xfe{\x00}\x00", "NUL": "{\"text\":\"a\x00b\"}", "escaped NUL": `{"text":"a\u0000b"}`,
		"wrong types": `{"text":{"a":1}}`, "twice": `{"text":"x","text":"y"}`, "other case": `{"text":"x","Text":"y"}`, "only other case": `{"Text":"x"}`,
		"too deep": strings.Repeat("[", 200000), "too large": `{"text":"x","count":1e999}`, "blank": " ", "a float": `{"text":"x","count":1.5}`,
		"a BOM": "\xef\xbb\xbf{\"text\":\"x\"}",
	} {
		r := s.do("POST", "/api/echo/x", body)
		if r.status != 400 {
			t.Errorf("%s: got %d %s, want 400", name, r.status, r.body)
			continue
		}
		for _, d := range r.problem(t).Error.Details {
			if !strings.HasPrefix(d.Field, "body") {
				t.Errorf("%s: details name %q, want the body", name, d.Field)
			}
		}
	}
	r := s.do("POST", "/api/echo/x", "", "Content-Type: application/json")
	r.want(t, 400, "invalid_argument")
}

func TestRoutesWithoutABodyTakeNone(t *testing.T) {
	s := bodies(t)
	for _, body := range []string{"", "{}", " { } "} {
		s.do("POST", "/api/logout", body).want(t, 200, "")
	}
	for _, body := range []string{`{"a":1}`, "[]", "1", "{", "{} {}"} {
		s.do("POST", "/api/logout", body).want(t, 400, "invalid_argument")
		s.do("GET", "/api/list", body).want(t, 400, "invalid_argument")
	}
}

// A route that is quiet in the log is guarded like any other.
func TestQuietRoutesAreGuarded(t *testing.T) {
	s := start(t, echoRoute().Quiet())
	s.do("POST", "/api/echo/x", `{"text":"x","Text":"y"}`).want(t, 400, "invalid_argument")
	s.do("POST", "/api/echo/x", `{"text":"x"}`, "Content-Type: text/plain").want(t, 415, "unsupported_media_type")
	s.do("POST", "/api/echo/x", strings.Repeat(" ", web.DefaultMaxBody+1)).want(t, 413, "payload_too_large")
	s.do("POST", "/api/echo/x", `{"text":"x"}`).want(t, 200, "")
	s.wantLog(true, "level=DEBUG msg=request route=/api/echo/{id} method=POST status=200")
}

// What the proxy passes on is JSON already; what has no body stays without.
func TestProxyRouteChecksJSON(t *testing.T) {
	s := bodies(t)
	for _, body := range []string{"{", `{"a":1,"A":2}`, "null", " ", "[]", `"x"`, "7"} {
		s.do("POST", "/api/v1/memory/search", body).want(t, 400, "invalid_argument")
	}
	s.do("POST", "/api/v1/memory/search", "", "Content-Type: application/json").want(t, 400, "invalid_argument")
	s.do("POST", "/api/v1/memory/x/close", "").want(t, 200, "")
	s.do("DELETE", "/api/v1/memory/x", "", "Content-Type: application/json").want(t, 200, "")
	r := s.do("POST", "/api/v1/memory/search", chunks(`{"query":"x"}`), chunked)
	if want := `"bytes":13,"length":13,"whole":true`; !strings.Contains(r.body, want) {
		t.Errorf("got %s, want %s", r.body, want)
	}
}

func TestQueryIsReadOneWay(t *testing.T) {
	s := bodies(t)
	for _, query := range []string{"page=1&page=2", "page=0", "page=-1", "page=1.5", "page=0x10", "page=1e3", "page=99999999999999999999", "page=NaN", "page=%F0%9F%92%A9", "page=1;page=2", "page=%zz", "name=a&name=b&name=c&name=d"} {
		s.do("GET", "/api/list?"+query, "").want(t, 400, "invalid_argument")
	}
	r := s.do("GET", "/api/list?page=2&name=a&name=b&other=x", "")
	if want := `{"Page":2,"Names":["a","b"]}`; strings.TrimSpace(r.body) != want {
		t.Errorf("got %s, want %s", r.body, want)
	}
}

// Bodies that are framed badly are the caller's fault, and nothing smuggled in
// one is answered.
func TestBadFraming(t *testing.T) {
	s := bodies(t)
	inner := "GET /api/health HTTP/1.1\r\nHost: HOST\r\n\r\n"
	for name, tail := range map[string]string{
		"two lengths": "Content-Length: 2\r\nContent-Length: 20\r\n\r\n{}" + inner, "length list": "Content-Length: 2, 20\r\n\r\n{}" + inner,
		"signed length": "Content-Length: +2\r\n\r\n{}", "negative length": "Content-Length: -2\r\n\r\n{}", "hex length": "Content-Length: 0x2\r\n\r\n{}",
		"space before the colon": "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "unknown coding": "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"chunked twice": "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "bad chunk size": chunked + "\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
		"chunk size overflow": chunked + "\r\n\r\nffffffffffffffff1\r\n{}\r\n0\r\n\r\n", "NUL in a header": "X-Bad: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
		"bare CR": "X-Bad: a\rX-Other: b\r\nContent-Length: 2\r\n\r\n{}", "length and chunked": "Content-Length: 4\r\n" + chunked + "\r\n\r\n0\r\n\r\n" + inner,
	} {
		for _, target := range []string{"/api/echo/x", "/api/v1/memory/search", "/api/v1/memory/import"} {
			r := s.raw("POST " + target + " HTTP/1.1\r\nHost: HOST\r\n" + token + "\r\nContent-Type: application/json\r\n" + tail)
			if r.status < 400 || r.status >= 500 && r.status != 501 {
				t.Errorf("%s on %s: got %d %s, want a refusal", name, target, r.status, r.body)
			}
		}
	}
}
