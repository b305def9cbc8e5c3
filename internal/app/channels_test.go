package app

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel/ntfy/ntfytest"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/state"
)

// topic connects a topic of a server, and waits until people can write.
func (r *running) topic(server *ntfytest.Server) {
	r.t.Helper()
	_, err := r.ConnectChannel(r.t.Context(), "ntfy", map[string]string{
		"server": server.URL, "topic": ntfytest.Topic, "token": ntfytest.Token,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.channelIs(ambry.ChannelConnected, "")
}

// channelIs waits until the one channel is in a state, with some words for the
// reason.
func (r *running) channelIs(want ambry.ChannelState, reason string) {
	r.t.Helper()
	r.eventually("the channel is "+string(want), func() bool {
		all, err := r.ChannelConnections(r.t.Context())
		return err == nil && len(all.Connections) == 1 && all.Connections[0].Status == want && strings.Contains(all.Connections[0].LastError, reason)
	})
}

// A channel on this machine goes on in local-only mode, also after it was lost.
func TestAChannelOfThisMachine(t *testing.T) {
	server := ntfytest.New()
	t.Cleanup(server.Close)
	s := serveIn(t, t.TempDir(), memoryAt(t, "127.0.0.1").URL)
	s.topic(server)
	if _, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{LocalOnlyMode: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	before := server.Called.Load()
	server.Cut()
	s.eventually("it is connected again", func() bool { return server.Called.Load() > before })
	s.channelIs(ambry.ChannelConnected, "")
	c, err := s.Capabilities(t.Context())
	i := slices.IndexFunc(c.Channels, func(s ambry.ChannelStatus) bool { return s.Provider == "ntfy" })
	if err != nil || i < 0 || !c.Channels[i].Connected {
		t.Errorf("got %+v, %v", c.Channels, err)
	}
}

// In local-only mode a channel on another machine waits, without a call; when
// the mode ends it is called.
func TestAChannelElsewhereInLocalOnlyMode(t *testing.T) {
	ln, err := net.Listen("tcp", net.JoinHostPort(outsideAddress(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server, dir := ntfytest.On(ln), t.TempDir()
	t.Cleanup(server.Close)
	h, err := home.Open(filepath.Join(dir, ".ambry"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := state.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Privacy.Change(t.Context(), func(p *ambry.Privacy) error {
		p.LocalOnlyMode = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Channels.Change(t.Context(), func(c *ambry.ChannelSetup) error {
		c.Links = []ambry.ChannelLink{{ID: "1", Provider: "ntfy", Values: map[string]string{
			"server": strings.Replace(server.URL, "http:", "https:", 1), "topic": ntfytest.Topic,
		}}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	s := serveIn(t, dir, memoryAt(t, "127.0.0.1").URL)
	s.channelIs(ambry.ChannelRestarting, "local-only mode is on")
	_, err = s.ConnectChannel(t.Context(), "ntfy", map[string]string{"server": "https://ntfy.example.org", "topic": "t"})
	if ambry.KindOf(err) != ambry.Forbidden || server.Called.Load() != 0 {
		t.Errorf("connecting answers %v; %d connections were made", err, server.Called.Load())
	}
	if _, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{LocalOnlyMode: ptr(false)}); err != nil {
		t.Fatal(err)
	}
	s.eventually("it is called", func() bool { return server.Called.Load() > 0 })
	s.channelIs(ambry.ChannelRestarting, "cannot be reached")
}
