package main

import (
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// channels are the answers about three channels, of which one was connected.
func channels(status ambry.ChannelState, reason string) map[string]any {
	until := time.Date(2026, 5, 1, 10, 30, 0, 0, time.UTC)
	return map[string]any{
		"GET /api/v1/channels/definitions": ambry.ChannelDefinitions{Channels: []ambry.ChannelDefinition{
			{ID: "chat", Name: "Chat", Enabled: true, Fields: []ambry.ChannelField{
				{Key: "server", Kind: "url", Default: "https://chat.example"},
				{Key: "first", Kind: "secret", Required: true},
				{Key: "second", Kind: "secret", Required: true},
				{Key: "third", Kind: "secret"},
			}},
			{ID: "other", Name: "Other", Enabled: true},
			{ID: "never", Name: "Never", Reason: "it cannot be"},
		}},
		"GET /api/v1/channels/connections": ambry.ChannelConnections{Connections: []ambry.ChannelConnection{
			{ID: "1", Provider: "chat", Status: status, DisplayName: "bot", LastError: reason, Peers: []ambry.ChannelPeer{{ID: "42", Name: "Ann\x1b[2J", PairedAt: day}}},
		}},
		"POST /api/v1/channels/chat/connect":    ambry.ChannelOpened{Status: ambry.ChannelStarting, DisplayName: "bot", PairingCode: "1234-5678", ExpiresAt: &until},
		"POST /api/v1/channels/chat/pair":       ambry.ChannelCode{PairingCode: "8765-4321", ExpiresAt: until},
		"POST /api/v1/channels/chat/unpair":     map[string]bool{"ok": true},
		"POST /api/v1/channels/chat/disconnect": map[string]bool{"ok": true},
	}
}

func TestChannelCommands(t *testing.T) {
	s := fakeService(t, channels(ambry.ChannelConnected, ""))
	ambryIn(t, s.home, "channel", "list").check(t, 0, "connected as bot, 1 person paired", "Other", "cannot be connected: it cannot be")
	ambryIn(t, s.home, "channel", "peers", "chat").check(t, 0, "42  Ann[2J, since 2026-05-01")
	ambryIn(t, s.home, "channel", "peers", "other").check(t, 1, "other is not connected")
	ambryIn(t, s.home, "channel", "pair", "chat").check(t, 0, "8765-4321")
	ambryIn(t, s.home, "channel", "unpair", "chat", "42").check(t, 0, "42 may not write any more")
	ambryIn(t, s.home, "channel", "disconnect", "chat").check(t, 0, "chat is not connected any more")
	ambryIn(t, s.home, "channel", "connect", "nobody").check(t, 1, `there is no channel "nobody"`)
	ambryIn(t, s.home, "channel", "connect", "never").check(t, 1, "Never cannot be connected: it cannot be")
}

// Secrets come from standard input in the order of the fields, or from
// variables; never from arguments.
func TestSecretsOfAChannelAreNoArguments(t *testing.T) {
	s := fakeService(t, channels(ambry.ChannelConnected, ""))
	connect := func(in string, args ...string) outcome {
		return ambryWith(t.Context(), t, in, append([]string{"channel", "connect", "chat", "--home", s.home}, args...)...)
	}
	connect("one\ntwo\n", "--field", "server=https://own.example").check(t, 0, "Chat is connected as bot", "1234-5678")
	want := `POST /api/v1/channels/chat/connect {"first":"one","second":"two","server":"https://own.example"}`
	if sent := s.sent("POST"); len(sent) != 1 || sent[0] != want {
		t.Errorf("sent is %q, want %q", sent, want)
	}
	connect("one", "--field", "first=one").check(t, 2, "takes no secret as it stands")
	connect("one\n").check(t, 2, "second is missing")
	connect("", "--field", "fourth=x").check(t, 2, "there are server, first, second, third")
	connect("one\ntwo\n", "--field", "third=env:NO_SUCH_VARIABLE").check(t, 2, "NO_SUCH_VARIABLE is not set")
	if sent := s.sent("POST"); len(sent) != 1 {
		t.Errorf("sent is %q", sent)
	}
}

func TestDoctorLooksAtChannels(t *testing.T) {
	for status, want := range map[ambry.ChannelState]string{
		ambry.ChannelConnected: "connected as bot", ambry.ChannelRestarting: "restarting as bot", ambry.ChannelExpired: `"ambry channel connect chat" connects it anew`,
	} {
		s := fakeService(t, channels(status, ""))
		if o := ambryIn(t, s.home, "doctor"); !strings.Contains(o.out, want) {
			t.Errorf("doctor says\n%s", o.out)
		}
	}
}
