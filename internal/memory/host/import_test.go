package host_test

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
)

func TestImport(t *testing.T) {
	for name, body := range map[string]string{
		"two lines":       line(1, "a") + "\n" + line(2, "b") + "\n",
		"no last newline": line(1, "a") + "\n" + line(2, "b"),
		"CRLF and blanks": "\r\n" + line(1, "a") + "\r\n\n  \n" + line(2, "b") + "\r\n",
		"a long line":     line(1, strings.Repeat("long ", 100_000)) + "\n" + line(2, "b"),
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			res, text := serve(t, r).importLines(body)
			if n := decode[ambry.Imported](t, text); res.StatusCode != 200 || n.Conversations != 2 || n.Turns != 2 {
				t.Errorf("got %s, %+v", res.Status, n)
			}
			if got := r.sizes(); !slices.Equal(got, []int{2}) {
				t.Errorf("batches of %v, want one of 2", got)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		res, text := serve(t, &recorder{}).importLines("\n")
		if res.StatusCode != 200 || decode[ambry.Imported](t, text) != (ambry.Imported{}) {
			t.Errorf("got %s, %s", res.Status, text)
		}
	})
}

func TestImportIsBatched(t *testing.T) {
	large := strings.Repeat("large ", 200_000) // 1.2 MB
	tests := []struct {
		name string
		line func(i int) string
		n    int
		want []int
	}{
		{"by size", func(i int) string { return line(i, large) }, 9, []int{4, 4, 1}},
		{"by turns", func(i int) string { return line(i, "x") }, 2500, []int{1000, 1000, 500}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var body strings.Builder
			for i := range tt.n {
				body.WriteString(tt.line(i) + "\n")
			}
			r := &recorder{}
			_, text := serve(t, r).importLines(body.String())
			if n := decode[ambry.Imported](t, text); n.Turns != tt.n {
				t.Errorf("%d turns of %d", n.Turns, tt.n)
			}
			if got := r.sizes(); !slices.Equal(got, tt.want) {
				t.Errorf("batches of %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWrongLineIsNamed(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"not JSON", `{"session":`, "line 3: not JSON"},
		{"not an object", `[]`, "line 3: "},
		{"text", `hello`, "line 3: not JSON"},
		{"two values", line(3, "x") + line(4, "x"), "line 3: not JSON"},
		{"no agent", `{"session":{"id":"s"},"turns":[]}`, "line 3: a session needs an agent"},
		{"no session", `{"turns":[]}`, "line 3: a session needs an agent"},
		{"turn without id", `{"session":{"agent":"codex","id":"s"},"turns":[{"messages":[]}]}`, "line 3: turn 0 of session s needs an id"},
		{"unknown name", `{"session":{"agent":"codex","id":"s","mood":"good"},"turns":[]}`, "line 3: has a name"},
		{"name in another case", `{"Session":{"agent":"codex","id":"s"},"turns":[]}`, "line 3: has a name"},
		{"name twice", `{"session":{"agent":"codex","id":"s"},"turns":[],"turns":[]}`, "line 3: not JSON"},
		{"wrong type", `{"session":{"agent":"codex","id":7},"turns":[]}`, "line 3: a JSON number cannot be a string"},
		{"invalid UTF-8", `{"session":{"agent":"codex","id":"` + "\xff" + `"},"turns":[]}`, "line 3: not JSON"},
		{"deep", `{"session":` + strings.Repeat(`{"a":`, 100_000), "line 3: "},
		{"wrong time", `{"session":{"agent":"codex","id":"s","startedAt":"yesterday"},"turns":[]}`, "line 3: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			res, text := serve(t, r).importLines(line(1, "x") + "\n\n" + tt.line + "\n" + line(5, "x"))
			p := decode[problem](t, text)
			if res.StatusCode != 400 || !strings.HasPrefix(p.Error.Message, tt.want) {
				t.Errorf("got %s %q, want %q", res.Status, p.Error.Message, tt.want)
			}
			if len(r.sizes()) != 0 || p.Imported != nil {
				t.Errorf("a part of a small body was stored: %v, %v", r.sizes(), p.Imported)
			}
		})
	}
}

func TestWhatWasStoredBeforeAFailureIsTold(t *testing.T) {
	large := strings.Repeat("large ", 200_000)
	body := ""
	for i := range 6 {
		body += line(i, large) + "\n"
	}
	t.Run("wrong line", func(t *testing.T) {
		_, text := serve(t, &recorder{}).importLines(body + "no\n")
		if p := decode[problem](t, text); p.Imported == nil || p.Imported.Turns != 4 || !strings.HasPrefix(p.Error.Message, "line 7") {
			t.Errorf("got %s", text)
		}
	})
	t.Run("full disk", func(t *testing.T) {
		full := ambry.StorageFull.Errorf("the disk is full")
		res, text := serve(t, &recorder{fail: full}).importLines(body)
		if p := decode[problem](t, text); res.StatusCode != 507 || p.Error.Code != "storage_full" || p.Imported == nil || p.Imported.Turns != 4 {
			t.Errorf("got %s %s", res.Status, text)
		}
	})
}

func TestEndlessLineIsRefused(t *testing.T) {
	res, text := serve(t, &recorder{}).importLines(strings.Repeat("x", 33<<20))
	if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(decode[problem](t, text).Error.Message, "line 1") {
		t.Errorf("got %s %s", res.Status, text)
	}
}

func TestBrokenBodyStoresNoPart(t *testing.T) {
	r := &recorder{}
	h := serve(t, r)
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := "POST /api/v1/memory/import HTTP/1.1\r\nHost: " + strings.TrimPrefix(h.base, "http://") +
		"\r\nAuthorization: Bearer " + token + "\r\nContent-Type: application/x-ndjson\r\nContent-Length: 100000\r\n\r\n" + line(1, "x") + "\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(answer), " 400 ") || len(r.sizes()) != 0 {
		t.Errorf("%v batches were stored, and the answer is %s", r.sizes(), answer)
	}
}

func TestImportTakesSecretsOut(t *testing.T) {
	secret := "sk-" + "ant-" + "api03-" + strings.Repeat("Zq9x", 20) + "AA"
	r := &recorder{}
	if res, text := serve(t, r).importLines(line(1, "my key is "+secret)); res.StatusCode != 200 {
		t.Fatal(text)
	}
	if got := r.batches[0][0].Conversation().Turns[0].Messages[0].Text; strings.Contains(got, secret) {
		t.Errorf("the memory got %q", got)
	}
}
