//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
	"ambry.dev/ambry/e2e/stubmodel"
	"ambry.dev/ambry/internal/channel/ntfy/ntfytest"
)

// conversation is a person who writes to the memory on a topic.
type conversation struct {
	t      *testing.T
	server *ntfytest.Server
}

// hears returns the next answer, and fails the test unless it has some words.
func (c *conversation) hears(words ...string) string {
	c.t.Helper()
	select {
	case m := <-c.server.Sent:
		for _, w := range words {
			if !strings.Contains(m.Message, w) {
				c.t.Errorf("the answer is %q, without %q", m.Message, w)
			}
		}
		return m.Message
	case <-time.After(patience):
		c.t.Fatal("nothing is answered")
		return ""
	}
}

// asks says something and returns the answer.
func (c *conversation) asks(text string, words ...string) string {
	c.t.Helper()
	c.server.Say(text)
	return c.hears(words...)
}

// channelState waits until the channel is in a state.
func channelState(t *testing.T, c *client.Client, want ambry.ChannelState) ambry.ChannelConnection {
	t.Helper()
	var last ambry.ChannelConnections
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := poll(ctx, func() bool {
		var err error
		last, err = c.ChannelConnections(ctx)
		return err == nil && len(last.Connections) == 1 && last.Connections[0].Status == want
	})
	if err != nil {
		t.Fatalf("it is not %s: %+v", want, last)
	}
	return last.Connections[0]
}

// channelCommand runs the command line as the person of a home does.
func channelCommand(t *testing.T, home, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command("ambry", append([]string{"channel"}, args...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TOPIC_TOKEN=" + ntfytest.Token}
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ambry channel %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestConversationOnAChannel connects, pairs, asks, remembers, is killed and
// goes on, answers by a model, forgets, and disconnects. Neither log nor files
// show what is secret.
func TestConversationOnAChannel(t *testing.T) {
	server := ntfytest.New()
	t.Cleanup(server.Close)
	talk := &conversation{t, server}
	home := t.TempDir()
	cmd, c := serve(t, home, t.Output())

	var opened ambry.ChannelOpened
	out := channelCommand(t, home, ntfytest.Topic+"\n", "connect", "ntfy", "--field", "server="+server.URL, "--field", "token=env:TOPIC_TOKEN", "--json")
	if err := json.Unmarshal([]byte(out), &opened); err != nil || opened.PairingCode == "" {
		t.Fatalf("connected is %s, %v", out, err)
	}
	channelState(t, c, ambry.ChannelConnected)

	// Nobody is told anything before the code is there.
	talk.asks("when does the harbour gate close?", "people I know")
	talk.asks(opened.PairingCode, "Paired")
	if l := channelState(t, c, ambry.ChannelConnected); len(l.Peers) != 1 {
		t.Errorf("paired are %+v", l.Peers)
	}
	for command, want := range map[string]string{"list": "connected as a topic of 127.0.0.1", "peers": "anyone who knows the topic", "pair": "Send this code"} {
		args := []string{command, "ntfy"}
		if command == "list" {
			args = args[:1]
		}
		if out := channelCommand(t, home, "", args...); !strings.Contains(out, want) {
			t.Errorf("ambry channel %s says %q, without %q", command, out, want)
		}
	}
	talk.asks("when does the harbour gate close?", "nothing about that")
	secret := "ghp_" + "0123456789abcdefghijABCDEFGHIJ" + "4aVbGh"
	talk.asks("/remember the harbour gate closes at noon on tuesdays, its key is "+secret, "Remembered", "secret")
	if got := talk.asks("when does the harbour gate close?", "at noon on tuesdays", "channel:ntfy", "[1]"); strings.Contains(got, secret) {
		t.Errorf("the answer shows a secret: %q", got)
	}
	talk.asks("闸门 harbour gate", "channel:ntfy")

	// After a kill it goes on, with what was said meanwhile, and nothing twice.
	kill(t, 0, cmd, 0)
	server.Say("/status")
	cmd, c = serve(t, home, t.Output())
	talk.hears("1 memories")
	channelState(t, c, ambry.ChannelConnected)

	gate := &stubmodel.Model{Reply: "It closes at noon on tuesdays [1]."}
	thinks := httptest.NewServer(gate)
	t.Cleanup(thinks.Close)
	if _, err := c.SetModelConfig(t.Context(), ambry.ModelConfigInput{ModelInput: ambry.ModelInput{
		Provider: "openai_compatible", BaseURL: thinks.URL + "/v1", ModelID: "m", APIKey: json.RawMessage(`"a-key-that-opens"`),
	}}); err != nil {
		t.Fatal(err)
	}
	talk.asks("when does the harbour gate close?", "It closes at noon on tuesdays [1].", "Sources:", "channel:ntfy")
	asked := gate.Requests()
	if len(asked) != 1 || !strings.Contains(asked[0].Body, "untrusted history") || strings.Contains(asked[0].Body, secret) {
		t.Errorf("the model was asked %+v", asked)
	}

	talk.asks("/sources", "[1] channel:ntfy", "trace_")
	talk.asks("/forget 1", "/forget yes", "noon")
	talk.asks("/forget yes", "Forgotten")
	talk.asks("when does the harbour gate close?", "nothing about that")
	talk.asks("/unpair", "not paired")
	if l := channelState(t, c, ambry.ChannelConnected); len(l.Peers) != 0 {
		t.Errorf("paired are %+v", l.Peers)
	}
	channelCommand(t, home, "", "disconnect", "ntfy")
	if all, err := c.ChannelConnections(t.Context()); err != nil || len(all.Connections) != 0 {
		t.Errorf("connected are %+v, %v", all, err)
	}

	// Whoever deletes everything has nothing to disconnect.
	again, err := c.ConnectChannel(t.Context(), "ntfy", map[string]string{"server": server.URL, "topic": ntfytest.Topic, "token": ntfytest.Token})
	if err != nil || again.PairingCode == "" {
		t.Fatalf("got %+v, %v", again, err)
	}
	if _, err := c.DeleteData(t.Context(), ambry.DeleteData{Confirm: true, Scope: ambry.ScopeAll}); err != nil {
		t.Fatal(err)
	}
	if all, err := c.ChannelConnections(t.Context()); err != nil || len(all.Connections) != 0 {
		t.Errorf("connected are %+v, %v", all, err)
	}
	end(t, cmd)
	showsNo(t, home, ntfytest.Token, ntfytest.Topic, secret)
}

// showsNo fails the test if a file of a home holds one of some words.
func showsNo(t *testing.T, home string, words ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(filepath.Join(home, ".ambry"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for i, w := range words {
			if bytes.Contains(data, []byte(w)) {
				t.Errorf("%s holds word %d", path, i)
			}
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files were read: %v", files, err)
	}
}
