package gateway_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

func TestEachChannelIsDefined(t *testing.T) {
	w := newWorld(t)
	all := w.Definitions().Channels
	if len(all) != 3 || !all[0].Enabled || all[0].AuthKind != "form" || len(all[0].Fields) != 3 || all[2].Enabled || all[2].AuthKind != "unsupported" || all[2].Reason == "" {
		t.Errorf("got %+v", all)
	}
	status, err := w.Status(t.Context())
	if err != nil || status[0].Status != ambry.ChannelDisabled || status[2].Status != ambry.ChannelUnsupported {
		t.Errorf("got %+v, %v", status, err)
	}
	w.connect()
	if status, err = w.Status(t.Context()); err != nil || !status[0].Connected || status[0].Status != ambry.ChannelConnected || status[1].Connected {
		t.Errorf("got %+v, %v", status, err)
	}
}

// What is refused, by us or by the service, leaves everything as it was.
func TestNothingIsStoredThatIsRefused(t *testing.T) {
	w := newWorld(t)
	w.connect()
	before := w.connection()
	for name, tt := range map[string]struct {
		provider string
		fields   map[string]string
		kind     ambry.Kind
		field    string
	}{
		"nobody":     {"constructor", nil, ambry.NotFound, ""},
		"missing":    {"one", nil, ambry.InvalidArgument, "body.token"},
		"unknown":    {"one", map[string]string{"token": right, "other": "x"}, ambry.InvalidArgument, "body.other"},
		"line break": {"one", map[string]string{"token": "a\r\nX-Injected: 1"}, ambry.InvalidArgument, "body.token"},
		"NUL":        {"one", map[string]string{"token": "a\x00b"}, ambry.InvalidArgument, "body.token"},
		"endless":    {"one", map[string]string{"token": strings.Repeat("a", 1<<19)}, ambry.InvalidArgument, "body.token"},
		"no address": {"one", map[string]string{"token": right, "server": "file:///etc/passwd"}, ambry.InvalidArgument, "body.server"},
		"impossible": {"one", map[string]string{"token": right, "name": "impossible"}, ambry.InvalidArgument, "body.name"},
		"wrong":      {"one", map[string]string{"token": "tok-" + "of-somebody-else"}, ambry.VerificationFailed, ""},
	} {
		_, err := w.Connect(t.Context(), tt.provider, tt.fields)
		e, ok := errors.AsType[*ambry.Error](err)
		if !ok || e.Kind != tt.kind || tt.field != "" && (len(e.Details) != 1 || e.Details[0].Field != tt.field) {
			t.Errorf("%s answers %+v", name, err)
		}
		if ok && strings.Contains(e.Message, "somebody-else") {
			t.Errorf("%s shows the secret: %v", name, err)
		}
	}
	if after := w.connection(); fmt.Sprint(after) != fmt.Sprint(before) || len(w.secrets.IDs()) != 1 || w.service.count() != 1 {
		t.Errorf("it is %+v, was %+v; secrets %v", after, before, w.secrets.IDs())
	}
	if o, err := w.Connect(t.Context(), "none", map[string]string{"x": "y"}); err != nil || o.Status != ambry.ChannelUnsupported || o.Reason == "" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestDisconnectedNothingIsLeft(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.service.say(t, message("ann", "hello"))
	if err := w.service.host.Keep(t.Context(), "17"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Disconnect(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		setup, err := w.db.Channels.Load(t.Context())
		cursors, err2 := w.db.ChannelCursors.Load(t.Context())
		if err != nil || err2 != nil || len(setup.Links) != 0 || len(cursors) != 0 || len(w.secrets.IDs()) != 0 || w.service.here != 0 {
			t.Errorf("left are %+v, %+v, %v", setup, cursors, w.secrets.IDs())
		}
	}
	if last := w.told[len(w.told)-1]; last.Status != ambry.ChannelDisabled {
		t.Errorf("told is %+v", w.told)
	}
	if _, err := w.Pair(t.Context(), "one"); ambry.KindOf(err) != ambry.Conflict {
		t.Errorf("got %v", err)
	}
}

// Whatever stands in our files, none of it is what was secret.
func TestSecretsAreInNoFile(t *testing.T) {
	w := newWorld(t)
	w.connect()
	w.stop()
	files, err := os.ReadDir(w.home.Dir())
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(w.home.Dir() + "/" + f.Name()); err == nil && strings.Contains(string(data), right) {
			t.Errorf("%s shows it", f.Name())
		}
	}
}

// After a restart it goes on: the same connection, people and place, and no
// secret that a crash has left.
func TestARestartGoesOn(t *testing.T) {
	w := newWorld(t)
	o := w.connect()
	w.service.say(t, message("ann", o.PairingCode))
	w.hears("ann", paired)
	if err := w.service.host.Keep(t.Context(), "17"); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if err := w.secrets.Set(t.Context(), "channel-lost", "x"); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.up()
	c := w.connection()
	if c.ID != o.ConnectionID || len(c.Peers) != 1 || c.Peers[0].ID != "ann" || w.service.host.Cursor() != "17" || len(w.secrets.IDs()) != 1 {
		t.Errorf("it is %+v at %q, with %v", c, w.service.host.Cursor(), w.secrets.IDs())
	}
	w.service.say(t, message("ann", "hello"))
	w.hears("ann", "re: hello")

	// Connected anew as the same, the people stay, and nothing else.
	again := w.connect()
	if c = w.connection(); c.ID == o.ConnectionID || c.ID != again.ConnectionID || len(c.Peers) != 1 || again.PairingCode != "" || w.service.host.Cursor() != "" {
		t.Errorf("it is %+v, opened by %+v", c, again)
	}
	other, err := w.Connect(t.Context(), "one", map[string]string{"token": right, "name": "other"})
	if err != nil || other.PairingCode == "" || len(w.connection().Peers) != 0 {
		t.Errorf("got %+v, %v; paired are %+v", other, err, w.connection().Peers)
	}
	if w.service.most != 1 {
		t.Errorf("%d connections at a time", w.service.most)
	}
}

// Two hundred changes at the same time end as if one had come after the other:
// what is stored is what runs, with its own secret, and no other.
func TestTwoHundredChangesAtOnce(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	for i := range 200 {
		provider := []string{"one", "two"}[i%2]
		all.Go(func() {
			if i%3 == 2 {
				if err := w.Disconnect(t.Context(), provider); err != nil {
					t.Error(err)
				}
				return
			}
			o, err := w.Connect(t.Context(), provider, map[string]string{"token": right, "name": fmt.Sprint(rand.IntN(3))})
			if err != nil || o.ConnectionID == "" {
				t.Errorf("got %+v, %v", o, err)
			}
		})
	}
	all.Wait()
	setup, err := w.db.Channels.Load(t.Context())
	if err != nil || len(setup.Links) > 2 || len(w.secrets.IDs()) != len(setup.Links) {
		t.Fatalf("got %+v, %v with %v", setup, err, w.secrets.IDs())
	}
	for _, l := range setup.Links {
		if _, err := w.secrets.Get(t.Context(), l.Secret); err != nil {
			t.Errorf("%s: %v", l.Provider, err)
		}
	}
	w.stop()
	if w.service.here != 0 || w.service.most > 2 {
		t.Errorf("%d run at the end, %d at a time", w.service.here, w.service.most)
	}
	before := w.service.count()
	w.service.up = make(chan struct{}, 10)
	w.start()
	for range setup.Links {
		w.up()
	}
	w.stop()
	if got := w.service.count() - before; got != len(setup.Links) {
		t.Errorf("%d run after a restart, %d are stored", got, len(setup.Links))
	}
}

func TestDeletingEverythingIsAboutChannelsToo(t *testing.T) {
	w := newWorld(t)
	w.connect()
	if _, err := w.Connect(t.Context(), "two", map[string]string{"token": right}); err != nil {
		t.Fatal(err)
	}
	if err := w.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := w.Connections(t.Context()); err != nil || len(all.Connections) != 0 || len(w.secrets.IDs()) != 0 || w.service.here != 0 {
		t.Errorf("left are %+v, %v, %v", all, err, w.secrets.IDs())
	}
}

var _ channel.Link = (*link)(nil)
