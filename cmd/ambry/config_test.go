package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/app"
)

func TestConfig(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	file := filepath.Join(dir, "config.yaml")
	ambryIn(t, dir, "config", "get", "log.level").check(t, 0, "info\n")
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking at the settings made a home")
	}
	ambryIn(t, dir, "config", "unset", "log.level").check(t, 0, "log.level is not set in")
	ambryIn(t, dir, "config", "set", "log.level", "debug").check(t, 0, "is changed. A running service takes it over")
	ambryIn(t, dir, "config", "set", "log.level", "debug").check(t, 0, "says so already")
	ambryIn(t, dir, "config", "set", "memory.url", "http://127.0.0.1:1").check(t, 0, "after a restart")
	ambryWith(t.Context(), t, "not-a-token\n", "config", "set", "memory.token", "-", "--home", dir).check(t, 0, "is changed")
	ambryIn(t, dir, "config", "get", "log.level").check(t, 0, "debug\n")
	if got := ambryIn(t, dir, "config", "get", "memory.token"); got.out != "********\n" {
		t.Errorf("a secret is printed as %q", got.out)
	}
	got := ambryIn(t, dir, "config", "explain")
	got.check(t, 0, "log.level  debug  from "+file+":2\n", "api.maxEventStreams  32  from default", "what is logged")
	if strings.Contains(got.out, "not-a-token") {
		t.Error("a secret is explained")
	}
	const want = "log:\n  level: debug\nmemory:\n  url: \"http://127.0.0.1:1\"\n  token: \"not-a-token\"\n"
	if data, err := os.ReadFile(file); err != nil || string(data) != want {
		t.Errorf("the file is %q, %v", data, err)
	}
	ambryIn(t, dir, "config", "unset", "log.level").check(t, 0, "is changed")
	ambryIn(t, dir, "config", "get", "log.level").check(t, 0, "info\n")
}

func TestConfigMistakes(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config.yaml")
	const broken = "# mine\nlog:\n  level: loud\n"
	for _, tt := range []struct {
		text string
		args []string
		code int
		want string
	}{
		{"", []string{"get", "log.colour"}, 1, `no setting "log.colour"; there are account.`},
		{"", []string{"explain", "log.colour"}, 1, `no setting "log.colour"`},
		{"", []string{"set", "log.colour", "red"}, 1, `no setting "log.colour"`},
		{"", []string{"set", "log.level", "loud"}, 1, "log.level must be debug, info, warn or error"},
		{"", []string{"set", "memory.token", "x"}, 1, "memory.token needs memory.url"},
		{"", []string{"set", "log.level"}, 2, "accepts 2 arg(s)"},
		{"", []string{"get"}, 2, "accepts 1 arg(s)"},
		{"", []string{"lose"}, 2, `unknown command "lose"`},
		{broken, []string{"set", "log.level", "debug"}, 1, "config.yaml:3: log.level must be"},
		{broken, []string{"unset", "log.level"}, 1, "config.yaml:3: log.level must be"},
		{broken, []string{"get", "log.level"}, 1, "config.yaml:3: log.level must be"},
	} {
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		ambryIn(t, dir, append([]string{"config"}, tt.args...)...).check(t, tt.code, tt.want)
		if data, err := os.ReadFile(file); err != nil || string(data) != tt.text {
			t.Errorf("%q made of the file %q, %v", tt.args, data, err)
		}
	}
}

func TestConfigAsJSON(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	ask := func(into any, args ...string) {
		t.Helper()
		out.Reset()
		environment := map[string]string{"AMBRY_API_MAX_EVENT_STREAMS": "7"}
		args = append([]string{"config"}, append(args, "--json", "--home", dir)...)
		if code := run(t.Context(), args, func(name string) string { return environment[name] }, stdio{strings.NewReader(""), &out, &errs}); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, errs.String())
		}
		if err := json.Unmarshal(out.Bytes(), into); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out.String())
		}
	}
	var c changed
	ask(&c, "set", "api.maxEventStreams", "9")
	want := changed{Key: "api.maxEventStreams", Changed: true, File: filepath.Join(dir, "config.yaml"), InForce: "AMBRY_API_MAX_EVENT_STREAMS", Live: true}
	if c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	var one app.Setting
	ask(&one, "get", "api.maxEventStreams")
	if one.Value != "7" || one.Origin != one.Name {
		t.Errorf("got %+v", one)
	}
	var all []app.Setting
	if ask(&all, "explain"); len(all) < 5 {
		t.Errorf("got %+v", all)
	}
}
