//go:build dendrite

// Against a real homeserver, Dendrite, whose programs are in the folder that
// DENDRITE names. `make e2e-matrix` builds and runs it.

package matrix

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"text/template"
	"time"

	"maunium.net/go/mautrix"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"ambry.dev/ambry/internal/channel/channeltest"
)

var config = template.Must(template.New("").Parse(`version: 2
global:
  server_name: localhost
  private_key: {{.}}/key.pem
  disable_federation: true
  jetstream: {storage_path: {{.}}, topic_prefix: T}
  cache: {max_size_estimated: 64mb, max_age: 1h}
client_api:
  registration_disabled: false
  rate_limiting: {enabled: false}
federation_api: {database: {connection_string: "file:{{.}}/federation.db"}}
key_server: {database: {connection_string: "file:{{.}}/keys.db"}}
media_api: {database: {connection_string: "file:{{.}}/media.db"}, base_path: {{.}}/media}
room_server: {database: {connection_string: "file:{{.}}/rooms.db"}}
sync_api: {database: {connection_string: "file:{{.}}/sync.db"}}
user_api: {bcrypt_cost: 4, account_database: {connection_string: "file:{{.}}/accounts.db"}}
relay_api: {database: {connection_string: "file:{{.}}/relay.db"}}
mscs: {database: {connection_string: "file:{{.}}/mscs.db"}}
`))

// dendrite runs a homeserver until the test ends, and returns its address.
func dendrite(t *testing.T) string {
	t.Helper()
	programs, dir := os.Getenv("DENDRITE"), t.TempDir()
	if programs == "" {
		t.Fatal("DENDRITE names no folder")
	}
	if out, err := exec.Command(filepath.Join(programs, "generate-keys"), "--private-key", filepath.Join(dir, "key.pem")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var text bytes.Buffer
	if err := config.Execute(&text, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dendrite.yaml"), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	var log bytes.Buffer
	server := exec.Command(filepath.Join(programs, "dendrite"), "--config", filepath.Join(dir, "dendrite.yaml"),
		"--http-bind-address", address, "--really-enable-open-registration")
	server.Dir, server.Stdout, server.Stderr = dir, &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		server.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		server.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			server.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := http.Get("http://" + address + "/_matrix/client/versions")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
		select {
		case <-ended:
			t.Fatalf("it ended: %s", log.String())
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it does not start")
		}
	}
}

// person is somebody with an account.
type person struct {
	*testing.T
	*mautrix.Client
}

var accounts atomic.Int64

func register(t *testing.T, server, name string) person {
	t.Helper()
	c, err := mautrix.NewClient(server, "", "")
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.RegisterDummy(t.Context(), &mautrix.ReqRegister[any]{
		Username: fmt.Sprintf("%s%d", name, accounts.Add(1)), Password: "pass-" + "word-0123456789",
	})
	if err != nil {
		t.Fatal(err)
	}
	c.UserID, c.AccessToken = out.UserID, out.AccessToken
	return person{t, c}
}

func (p person) room(direct bool, invite ...id.UserID) id.RoomID {
	p.Helper()
	out, err := p.CreateRoom(p.Context(), &mautrix.ReqCreateRoom{Invite: invite, IsDirect: direct, Preset: "private_chat"})
	if err != nil {
		p.Fatal(err)
	}
	return out.RoomID
}

func (p person) join(room id.RoomID) {
	p.Helper()
	if _, err := p.JoinRoomByID(p.Context(), room); err != nil {
		p.Fatal(err)
	}
}

func (p person) Context() context.Context { return p.T.Context() }

// world is one of the suite, on a homeserver that many share.
func world(t *testing.T, server string) channeltest.World {
	us, ann, ben := register(t, server, "harbour"), register(t, server, "ann"), register(t, server, "ben")
	people := map[string]person{channeltest.Ann: ann, channeltest.Ben: ben}
	rooms := map[string]id.RoomID{
		channeltest.Ann: ann.room(true, us.UserID), channeltest.Ben: ben.room(true, us.UserID),
		channeltest.Harbour: ann.room(false, us.UserID, ben.UserID), channeltest.Basin: ann.room(false, us.UserID, ben.UserID),
	}
	for _, group := range []string{channeltest.Harbour, channeltest.Basin} {
		us.join(rooms[group])
		ben.join(rooms[group])
	}
	heard := make(chan channeltest.Sent, 256)
	listen(ann, us.UserID, heard, map[id.RoomID]string{rooms[channeltest.Ann]: channeltest.Ann, rooms[channeltest.Harbour]: channeltest.Harbour, rooms[channeltest.Basin]: channeltest.Basin})
	listen(ben, us.UserID, heard, map[id.RoomID]string{rooms[channeltest.Ben]: channeltest.Ben})
	base, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool // until we begin anew
	forward := httputil.NewSingleHostReverseProxy(base)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/whoami") {
			down.Store(false)
		}
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return channeltest.World{
		Values: map[string]string{"server": proxy.URL, "token": us.AccessToken},
		Wrong:  map[string]string{"server": proxy.URL, "token": "wrong-" + "token-0123456789"},
		Say: func(l channeltest.Line) {
			content := map[string]any{"msgtype": "m.text", "body": l.Text, "m.mentions": map[string]any{}}
			if l.Bot {
				content["msgtype"] = "m.notice"
			}
			in := l.From
			if l.In != "" {
				in = l.In
			}
			if l.Mention {
				content["body"], content["m.mentions"] = us.UserID.String()+": "+l.Text, map[string]any{"user_ids": []id.UserID{us.UserID}}
			}
			if _, err := people[l.From].SendMessageEvent(t.Context(), rooms[in], mevent.EventMessage, content); err != nil {
				t.Error(err)
			}
		},
		Hear: func(within time.Duration) (channeltest.Sent, bool) {
			select {
			case s := <-heard:
				return s, true
			case <-time.After(within):
				return channeltest.Sent{}, false
			}
		},
		Cut: func() {
			down.Store(true)
			proxy.CloseClientConnections()
		},
		Bots: true, Remembers: true, Long: 70_000,
	}
}

// listen passes on what we write in rooms, until the test ends.
func listen(p person, us id.UserID, heard chan<- channeltest.Sent, rooms map[id.RoomID]string) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	p.Cleanup(func() {
		cancel()
		<-ended
	})
	go func() {
		defer close(ended)
		since := ""
		for {
			out, err := p.FullSyncRequest(ctx, mautrix.ReqSync{Since: since, Timeout: 10_000})
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				p.Error(err)
				return
			}
			since = out.NextBatch
			for room, name := range rooms {
				joined := out.Rooms.Join[room]
				if joined == nil {
					continue
				}
				for _, e := range joined.Timeline.Events {
					if e.Sender != us || e.Type.Type != "m.room.message" {
						continue
					}
					body, _ := e.Content.Raw["body"].(string)
					live := ""
					if e.Content.Raw["msgtype"] != "m.notice" || e.Content.Raw["formatted_body"] != nil {
						live = fmt.Sprint(e.Content.Raw)
					}
					heard <- channeltest.Sent{In: name, Text: body, Live: live}
				}
			}
		}
	}()
}

func TestARealHomeserver(t *testing.T) {
	server := dendrite(t)
	channeltest.Run(t, Provider(), func(t *testing.T) channeltest.World { return world(t, server) })

	t.Run("encrypted", func(t *testing.T) {
		us, ann := register(t, server, "harbour"), register(t, server, "ann")
		room := ann.room(true, us.UserID)
		if _, err := ann.SendStateEvent(t.Context(), room, mevent.StateEncryption, "", map[string]any{"algorithm": "m.megolm.v1.aes-sha2"}); err != nil {
			t.Fatal(err)
		}
		heard := make(chan channeltest.Sent, 8)
		listen(ann, us.UserID, heard, map[id.RoomID]string{room: channeltest.Ann})
		l := linkTo(t, server, &http.Client{}, "")
		l.token = us.AccessToken
		h := newHost()
		// All of it is said before we come.
		for range 2 {
			if _, err := ann.SendMessageEvent(t.Context(), room, mevent.EventEncrypted, map[string]any{"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x", "session_id": "s", "sender_key": "k", "device_id": "d"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ann.SendMessageEvent(t.Context(), room, mevent.EventMessage, map[string]any{"msgtype": "m.text", "body": "in plain"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, h) }()
		m := <-h.received
		send := <-h.sends
		for range 2 { // sent again, it is heard once
			if err := send(t.Context(), "an answer"); err != nil {
				t.Error(err)
			}
		}
		if err := send(t.Context(), "over"); err != nil {
			t.Error(err)
		}
		if m.Text != "in plain" || m.Group {
			t.Errorf("received %+v", m)
		}
		for _, want := range []string{unreadable, "an answer", "over"} {
			if s := <-heard; s.Text != want || s.Live != "" {
				t.Errorf("heard is %+v, want %q", s, want)
			}
		}
		if err := us.logout(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "token") {
			t.Errorf("after the logout, Run ends with %v", err)
		}
		cancel()
	})
}

func (p person) logout() error {
	_, err := p.Logout(p.Context())
	return err
}
