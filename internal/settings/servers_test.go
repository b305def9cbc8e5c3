package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/settings"
)

const upstreams = `mcp:
  upstreams:
    - id: files
      command: npx
      args: [-y, "@example/files"]
      env: {TOKEN: "env:FILES_TOKEN", PLAIN: "hush"}
      tools: [read_file]
      timeout: 90s
    - id: docs
      url: https://mcp.example.org/mcp
      headers:
        Authorization: Bearer keychain:docs
`

func TestServersAreRead(t *testing.T) {
	path := write(t, upstreams)
	s, err := settings.Load(settings.Sources{File: path})
	if err != nil {
		t.Fatal(err)
	}
	want := []ambry.Upstream{
		{
			ID: "files", Command: "npx", Args: []string{"-y", "@example/files"}, Tools: []string{"read_file"}, Timeout: 90 * time.Second,
			Env: map[string]string{"TOKEN": "env:FILES_TOKEN", "PLAIN": "hush"},
		},
		{ID: "docs", URL: "https://mcp.example.org/mcp", Headers: map[string]string{"Authorization": "Bearer keychain:docs"}},
	}
	if diff := cmp.Diff(want, s.MCP.Upstreams); diff != "" {
		t.Error(diff)
	}
	for _, e := range s.Explain() {
		if e.Key == "mcp.upstreams" && (strings.Contains(e.Value, "hush") || !strings.Contains(e.Value, "env:FILES_TOKEN")) {
			t.Errorf("got %s", e.Value)
		}
	}
	other, err := settings.Load(settings.Sources{File: write(t, strings.Replace(upstreams, "hush", "loud", 1))})
	if keys, restart := s.Changed(other); err != nil || !cmp.Equal(keys, []string{"mcp.upstreams"}) || restart != nil {
		t.Errorf("got %v %v, %v: a changed secret is a change", keys, restart, err)
	}
}

func TestServersAreWritten(t *testing.T) {
	path := write(t, "# mine\nlog:\n  level: debug\n")
	text := `[{"id":"a","command":"x","args":["1"],"env":{"K":"v"},"timeout":"5s"}]`
	if changed, err := settings.Change(t.Context(), path, "mcp.upstreams", text); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if changed, err := settings.Change(t.Context(), path, "mcp.upstreams", text); err != nil || changed {
		t.Errorf("the same again: %v, %v", changed, err)
	}
	s, err := settings.Load(settings.Sources{File: path})
	if err != nil || len(s.MCP.Upstreams) != 1 || s.MCP.Upstreams[0].Timeout != 5*time.Second {
		t.Errorf("got %+v, %v", s.MCP, err)
	}
}

func TestServersThatMakeNoSense(t *testing.T) {
	for text, want := range map[string]string{
		"mcp:\n  upstreams: docs":                                                                     "config.yaml:2: mcp.upstreams must be a list of servers",
		"mcp:\n  upstreams:\n    - docs":                                                              "line 3: a server must be keys and values",
		"mcp:\n  upstreams:\n    - id: docs":                                                          "line 3: docs needs either a command or a url",
		"mcp:\n  upstreams:\n    - {id: a, command: b, url: http://c}":                                "needs either",
		"mcp:\n  upstreams:\n    - id: a\n      command: b\n      shell: c":                           "line 5: unknown key shell",
		"mcp:\n  upstreams:\n    - id: a\n      command: b\n      args: [8080]":                       "line 5: args must be a list of texts",
		"mcp:\n  upstreams:\n    - id: a\n      command: b\n      timeout: soon":                      "line 5: timeout must be a time",
		"mcp:\n  upstreams:\n    - id: a\n      command: b\n      passThrough: maybe":                 "line 5: passThrough must be true or false",
		"mcp:\n  upstreams:\n    - id: a\n      command: b\n      env: {A-B: c}":                      "no name of a variable",
		"mcp:\n  upstreams:\n    - {id: a__b, command: c}":                                            "must be 1 to 32 of a-z",
		"mcp:\n  upstreams:\n    - {id: a, url: 'file:///etc'}":                                       "must be an address",
		"mcp:\n  upstreams:\n    - {id: a, url: 'http://u:secret@h'}":                                 "must be an address",
		"mcp:\n  upstreams:\n    - {id: a, url: 'http://h', headers: {Host: x}}":                      "cannot be set",
		"mcp:\n  upstreams:\n    - {id: a, command: b}\n    - {id: a, command: c}":                    "has the id a twice",
		"mcp:\n  upstreams:\n    - {id: a, command: b, passThrough: true}\n    - {id: c, command: d}": "passThrough at a",
	} {
		_, err := settings.Load(settings.Sources{File: write(t, text)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func FuzzServers(f *testing.F) {
	f.Add(upstreams)
	f.Add(`{"mcp":{"upstreams":[{"id":"a","command":"b"}]}}`)
	f.Add("mcp: {upstreams: [null, {env: 1}, [a]]}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := settings.Load(settings.Sources{File: write(t, text)})
		if err != nil {
			return
		}
		for _, u := range s.MCP.Upstreams {
			if err := u.Validate(); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
