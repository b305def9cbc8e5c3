package server_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"ambry.dev/ambry"
)

// channels is a [server.Channels] that does as it is told.
type channels struct {
	asked []string
	err   error
}

func (c *channels) Definitions() ambry.ChannelDefinitions {
	return ambry.ChannelDefinitions{Channels: []ambry.ChannelDefinition{{ID: "telegram", Capabilities: []string{}, Fields: []ambry.ChannelField{}}}}
}

func (c *channels) Connections(context.Context) (ambry.ChannelConnections, error) {
	return ambry.ChannelConnections{Connections: []ambry.ChannelConnection{{ID: "1", Provider: "telegram", Status: ambry.ChannelConnected, Peers: []ambry.ChannelPeer{}}}}, c.err
}

func (c *channels) Status(context.Context) ([]ambry.ChannelStatus, error) {
	return []ambry.ChannelStatus{{Provider: "telegram", Connected: true, Status: ambry.ChannelConnected}}, c.err
}

func (c *channels) Connect(_ context.Context, provider string, fields map[string]string) (ambry.ChannelOpened, error) {
	c.asked = append(c.asked, fmt.Sprint("connect ", provider, " ", fields))
	return ambry.ChannelOpened{Status: ambry.ChannelStarting, ConnectionID: "1"}, c.err
}

func (c *channels) Disconnect(_ context.Context, provider string) error {
	c.asked = append(c.asked, "disconnect "+provider)
	return c.err
}

func (c *channels) Pair(_ context.Context, provider string) (ambry.ChannelCode, error) {
	c.asked = append(c.asked, "pair "+provider)
	return ambry.ChannelCode{PairingCode: "1234-5678"}, c.err
}

func (c *channels) Unpair(_ context.Context, provider, peer string) error {
	c.asked = append(c.asked, "unpair "+provider+" "+peer)
	return c.err
}

func TestChannelRoutes(t *testing.T) {
	a := serve(t)
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "definitions", "", 200},
		{"GET", "connections", "", 200},
		{"POST", "telegram/connect", `{"token":"x","other":"y"}`, 200},
		{"POST", "wechat/connect", "", 200},
		{"POST", "telegram/connect", `{"token":1}`, 400},
		{"POST", "telegram/connect", `["x"]`, 400},
		{"POST", "telegram/pair", "", 200},
		{"POST", "telegram/unpair", `{"id":"@ann:example.org/phone"}`, 200},
		{"POST", "telegram/unpair", `{}`, 400},
		{"POST", "telegram/disconnect", `{}`, 200},
		{"POST", "telegram/disconnect", `{"x":1}`, 400},
		{"GET", "telegram/connect", "", 405},
	} {
		if status, out := a.ask(tt.method, "/api/v1/channels/"+tt.path, tt.body); status != tt.status {
			t.Errorf("%s %s: %d %v", tt.method, tt.path, status, out)
		}
	}
	want := []string{
		"connect telegram map[other:y token:x]", "connect wechat map[]", "pair telegram",
		"unpair telegram @ann:example.org/phone", "disconnect telegram",
	}
	if !reflect.DeepEqual(a.channels.asked, want) {
		t.Errorf("asked is %q, want %q", a.channels.asked, want)
	}
	a.channels.err = ambry.NotFound.Errorf("there is no such channel")
	for _, what := range []string{"connect", "disconnect", "pair"} {
		if status, out := a.ask("POST", "/api/v1/channels/constructor/"+what, ""); status != 404 {
			t.Errorf("%s: %d %v", what, status, out)
		}
	}
	a.channels.err = nil
	if _, out := a.ask("GET", "/api/v1/integrations/capabilities", ""); len(out["channels"].([]any)) != 1 {
		t.Errorf("got %v", out)
	}
}
