package model_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"ambry.dev/ambry/internal/model"
)

func TestAddressesThatMayNotBeCalled(t *testing.T) {
	for _, base := range []string{
		"", "file:///etc/passwd", "gopher://127.0.0.1:25/_x", "javascript:alert(1)", "http://", "http:///v1", "//evil.example/v1", "evil.example/v1",
		"http://user:pass@127.0.0.1/v1", "http://127.0.0.1@evil.example/v1", "http://127.0.0.1:99999/v1", "http://127.0.0.1:0/v1", "http://127.0.0.1:0x50/v1",
		"http://exa mple/v1", "http://evil.example/v1\r\nX: 1", "http://evil.example/v1?x=1", "http://evil.example/v1?", "http://evil.example/v1#x", "http://evil.example/v1#",
		"http://169.254.169.254/latest", "http://169.254.1.1/v1", "http://[fe80::1]/v1", "http://[::ffff:169.254.169.254]/v1", "http://2852039166/v1",
		"http://0xA9FEA9FE/v1", "http://0251.0376.0251.0376/v1", "http://169.254.43518/v1", "http://1.2.3.4.5/", "http://metadata.google.internal/v1",
		"http://METADATA.google.internal./v1", "http://169.254.169.254.:80/v1", "http://0.0.0.0:1/v1", "http://[::]:1/v1", "http://224.0.0.1/v1",
		"http://255.255.255.255/v1", "http://[64:ff9b::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::1]/", "http://[::169.254.169.254]/", "http://[fd00:ec2::254]/",
		"http://100.100.100.200/", "http://[ff02::1]/", "http://[fe80::1%25eth0]/",
	} {
		if a, err := model.ParseAddress(base); err == nil {
			t.Errorf("%q passes as %+v", base, a)
		}
	}
	for base, want := range map[string]model.Address{
		"https://API.example.com/v1":      {Scheme: "https", Host: "api.example.com", Port: "443"},
		"http://localhost:11434":          {Scheme: "http", Host: "localhost", Port: "11434"},
		"http://192.168.1.7:1234/v1/":     {Scheme: "http", Host: "192.168.1.7", Port: "1234"},
		"http://[::1]:8080/v1":            {Scheme: "http", Host: "::1", Port: "8080"},
		"https://[2001:db8::1]/x":         {Scheme: "https", Host: "2001:db8::1", Port: "443"},
		"https://gw.example.com/a/b/c%20": {Scheme: "https", Host: "gw.example.com", Port: "443"},
	} {
		if got, err := model.ParseAddress(base); err != nil || got != want {
			t.Errorf("%s is %+v, %v", base, got, err)
		}
	}
}

func TestAddressesThatAreDialled(t *testing.T) {
	for text, want := range map[string][2]bool{ // may be called, and without encryption
		"127.0.0.1": {true, true}, "::1": {true, true}, "10.1.2.3": {true, true}, "192.168.0.1": {true, true}, "100.64.0.1": {true, true},
		"fd12::1": {true, true}, "::ffff:10.0.0.1": {true, true}, "8.8.8.8": {true, false}, "2001:db8::1": {true, false}, "64:ff9b::808:808": {true, false},
		"169.254.169.254": {}, "::ffff:169.254.169.254": {}, "fe80::1%eth0": {}, "0.0.0.0": {}, "::": {}, "224.0.0.1": {}, "ff02::1": {},
		"64:ff9b::a9fe:a9fe": {}, "2002:a9fe:a9fe::": {}, "100.100.100.200": {}, "168.63.129.16": {}, "fd00:ec2::254": {}, "255.255.255.255": {},
	} {
		ip := netip.MustParseAddr(text)
		if got := [2]bool{model.MayCall(ip) == nil, model.MayCallPlain(ip) == nil}; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestWhatAProviderComplainsOf(t *testing.T) {
	const key = "sk-secret"
	for body, want := range map[string]string{
		`{"error":{"message":"no such model"}}`:                          "no such model",
		`{"error":"plain"}`:                                              "plain",
		`{"message":"top"}`:                                              "top",
		`[{"error":{"message":"a list"}}]`:                               "a list",
		`{"error_msg":"baidu"}`:                                          "baidu",
		`{"base_resp":{"status_code":1004,"status_msg":"login fail"}}`:   "login fail",
		`{"base_resp":{"status_code":0,"status_msg":"success"}}`:         "",
		`{"error":{"message":"key sk-secret\n\u001b[31m\u202e is bad"}}`: "key *** [31m is bad",
		`<html>INTERNAL</html>`:                                          "",
		`{"secret":"page"}`:                                              "",
		`{"error":{"message":{"a":1}}}`:                                  "",
		``:                                                               "",
		`{"error":{"message":"` + strings.Repeat("ü", 300) + `"}}`:       strings.Repeat("ü", 199) + "…",
	} {
		if got := model.Complaint([]byte(body), key); got != want {
			t.Errorf("%.60s: got %q, want %q", body, got, want)
		}
	}
}

func TestPausesThatAreAskedFor(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"Retry-After: 7": 7 * time.Second, "Retry-After-Ms: 250": 250 * time.Millisecond, "Retry-After: 1.5": 1500 * time.Millisecond,
		"Retry-After: soon": 0, "Retry-After: -1": 0, "Retry-After: 1e300": 0, "X: 1": 0,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		a := model.Access{BaseURL: server.URL, HTTP: server.Client(), Limits: model.Limits{Attempts: 1}}
		err := a.Post(t.Context(), "/", nil, struct{}{}, new(any))
		server.Close()
		if f, ok := err.(*model.Failure); !ok || f.RetryAfter != want {
			t.Errorf("%s: got %v", header, err)
		}
	}
}

// frames collects what a reader of parts gives.
func frames(f model.Frames, r io.Reader) (all []string, err error) {
	err = f(r, func(data []byte) error {
		all = append(all, string(data))
		return nil
	})
	return all, err
}

func TestEventsAreReadHoweverTheyArrive(t *testing.T) {
	const text = ": hello\r\nevent: a\r\ndata: one\r\n\r\ndata:two\ndata: lines\nid: 7\n\n\n: keep-alive\n\ndata\n\ndata: [DONE]\n\ndata: cut"
	for name, r := range map[string]io.Reader{
		"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text)),
	} {
		got, err := frames(model.Events, r)
		if want := "one|two\nlines|[DONE]"; err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := frames(model.Events, strings.NewReader("data: "+strings.Repeat("x", 5<<20))); err == nil {
		t.Error("a part without an end is read")
	}
}

func TestLinesAreReadHoweverTheyArrive(t *testing.T) {
	for text, want := range map[string]string{
		"{}\n{\"a\":1}\r\n\n{}": `{}|{"a":1}|{}`, "{}\n{\"a\":": "{}", "": "", "\n\n": "",
	} {
		got, err := frames(model.Lines, iotest.OneByteReader(strings.NewReader(text)))
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

// Whatever a server sends: no panic, and what is read is of it.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"data: x\n\n", "data:\ndata: y\r\n\r\n", ": c\n\nevent: z\n\n", "{}\n{", "\r\n", "data: \xff\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []model.Frames{model.Events, model.Lines} {
			got, err := frames(read, bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, part := range got {
				total += len(part)
			}
			if total > len(data) {
				t.Errorf("%d bytes were read of %d", total, len(data))
			}
			again, err := frames(read, iotest.OneByteReader(bytes.NewReader(data)))
			if err != nil || strings.Join(again, "\x00") != strings.Join(got, "\x00") {
				t.Errorf("byte by byte it is %q, %v, at once %q", again, err, got)
			}
		}
	})
}

// Whatever an address is written as, what passes is stable and may be called.
func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{"https://api.example.com/v1", "http://[::1]:80", "http://0x7f.1/", "http://169.254.169.254", "http://a@b/", "http://[::ffff:1.2.3.4]/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, base string) {
		a, err := model.ParseAddress(base)
		if err != nil {
			return
		}
		host := a.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		again, err := model.ParseAddress(a.Scheme + "://" + host + ":" + a.Port)
		if err != nil || again != a {
			t.Errorf("%q is %+v, again %+v, %v", base, a, again, err)
		}
		if ip, err := netip.ParseAddr(strings.TrimRight(a.Host, ".")); err == nil && model.MayCall(ip) != nil {
			t.Errorf("%q leads to %s", base, ip)
		}
	})
}

// Whatever an answer says, what is shown of it is one short line without the key.
func FuzzComplaint(f *testing.F) {
	for _, seed := range []string{`{"error":{"message":"a key k3y"}}`, `[{"error":"x"}]`, `{"error":null}`, `{"base_resp":{"status_code":1}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		const key = "k3y-of-the-test"
		escaped, _ := json.Marshal(string(body) + key)
		for _, b := range [][]byte{body, []byte(`{"error":{"message":` + string(escaped) + `}}`)} {
			got := model.Complaint(b, key)
			if strings.Contains(got, key) || strings.ContainsAny(got, "\r\n\x00") || len([]rune(got)) > 200 {
				t.Errorf("%q shows %q", b, got)
			}
		}
	})
}
