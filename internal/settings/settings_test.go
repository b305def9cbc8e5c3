package settings_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry/internal/settings"
)

// secret looks like no real token.
var secret = strings.Repeat("not-a-token-", 3)

func TestDefaults(t *testing.T) {
	for name, from := range map[string]settings.Sources{
		"no sources":     {},
		"no file":        {File: filepath.Join(t.TempDir(), "config.yaml")},
		"empty file":     {File: write(t, "")},
		"only comments":  {File: write(t, "# log:\n#   level: debug\n")},
		"empty sections": {File: write(t, "log:\nmemory: {}\n")},
		"empty variable": {Getenv: env{"AMBRY_LOG_LEVEL": ""}.get},
	} {
		t.Run(name, func(t *testing.T) {
			s := load(t, from)
			if s.API.MaxEventStreams != 32 || s.Log.Level != slog.LevelInfo || len(s.API.AllowedOrigins) != 0 ||
				s.Memory != (settings.Memory{Embedding: "static"}) || s.Warnings != nil {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestFile(t *testing.T) {
	s := load(t, settings.Sources{File: write(t, `
# a comment
memory:
  url: https://memory.example.org:8443/
  token: "`+secret+`"   # theirs
api:
  allowedOrigins:
    - http://localhost:5173
    - "tauri://localhost"
  maxEventStreams: 64
log: {level: debug}
`)})
	want := settings.API{AllowedOrigins: []string{"http://localhost:5173", "tauri://localhost"}, MaxEventStreams: 64}
	if diff := cmp.Diff(want, s.API); diff != "" {
		t.Error(diff)
	}
	if want := (settings.Memory{URL: "https://memory.example.org:8443", Token: secret, Embedding: "static"}); s.Memory != want {
		t.Errorf("got %+v, want %+v", s.Memory, want)
	}
	if s.Log.Level != slog.LevelDebug {
		t.Errorf("got level %v", s.Log.Level)
	}
}

func TestStrongerSourceWins(t *testing.T) {
	file := write(t, "log:\n  level: debug\napi: {maxEventStreams: 1, allowedOrigins: [http://a]}\n")
	environment := env{"AMBRY_LOG_LEVEL": "warn", "AMBRY_API_MAX_EVENT_STREAMS": "2", "AMBRY_MEMORY_URL": "http://127.0.0.1:9"}
	s := load(t, settings.Sources{File: file, Getenv: environment.get, Flags: map[string]string{"log.level": "error"}})

	var got []string
	for _, e := range s.Explain() {
		got = append(got, fmt.Sprintf("%s=%s (%s)", e.Key, e.Value, strings.ReplaceAll(e.Origin, file, "FILE")))
	}
	want := []string{
		"account.smtp.from= (default)",
		"account.smtp.host= (default)",
		"account.smtp.password= (default)",
		"account.smtp.port=0 (default)",
		"account.smtp.security=starttls (default)",
		"account.smtp.user= (default)",
		"account.url= (default)",
		"api.allowedOrigins=http://a (FILE:3)",
		"api.maxEventStreams=2 (AMBRY_API_MAX_EVENT_STREAMS)",
		"log.level=error (flag log.level)",
		"mcp.upstreams= (default)",
		"memory.embedding=static (default)",
		"memory.token= (default)",
		"memory.url=http://127.0.0.1:9 (AMBRY_MEMORY_URL)",
		"model.background=never (default)",
		"model.callsPerDay=200 (default)",
		"model.costPerDay= (default)",
		"model.embeddingPrice= (default)",
		"model.inputPrice= (default)",
		"model.outputPrice= (default)",
		"model.tokensPerDay=500000 (default)",
		"secret.store=auto (default)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestListsInTheEnvironment(t *testing.T) {
	s := load(t, settings.Sources{Getenv: env{"AMBRY_API_ALLOWED_ORIGINS": " http://a:1, https://b ,,"}.get})
	if diff := cmp.Diff([]string{"http://a:1", "https://b"}, s.API.AllowedOrigins); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	file := write(t, "memory:\n  url: http://127.0.0.1:1\n  token: "+secret+"\n")
	for _, e := range load(t, settings.Sources{File: file}).Explain() {
		if strings.Contains(e.Value, secret) {
			t.Errorf("%s shows its secret", e.Key)
		}
		if e.Key == "memory.token" && e.Value != "********" {
			t.Errorf("a token that is set shows as %q", e.Value)
		}
		if e.About == "" {
			t.Errorf("%s is not explained", e.Key)
		}
	}
	for _, text := range []string{
		"memory: {token: " + secret + "}",
		"memory: {url: 'http://a', token: [" + secret + "]}",
		"memory: {url: 'http://a', token: '" + secret + " with a space'}",
		"memory:\n  token: " + secret + "\n  token: " + secret,
		"memory:\n  url: 'http://x:" + secret + "@a'",
		"memory:\n\ttoken: " + secret,
		"memory: {token: '" + secret,
	} {
		_, err := settings.Load(settings.Sources{File: write(t, text)})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: got %v, want an error without the secret", text, err)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"unknown key", "log:\n  levle: debug\n", "FILE:2: unknown key log.levle"},
		{"unknown section", "\nlgo: {}\n", "FILE:2: unknown key lgo"},
		{"another case", "Log: {level: debug}", "FILE:1: unknown key Log"},
		{"dotted key", "log.level: debug", `FILE:1: unknown key "log.level"`},
		{"key below a value", "log: {level: {x: 1}}", "FILE:1: log.level must be text"},
		{"section with a value", "# x\napi: 5", "FILE:2: api must hold keys and values"},
		{"key twice", "log:\n  level: debug\n  level: info\n", "FILE:3: "},
		{"text for a number", "api: {maxEventStreams: '5'}", "FILE:1: api.maxEventStreams must be a whole number"},
		{"fraction", "api: {maxEventStreams: 5.5}", "FILE:1: api.maxEventStreams must be a whole number"},
		{"too small", "api: {maxEventStreams: 0}", "FILE:1: api.maxEventStreams must be 1 to 199"},
		{"too large", "api: {maxEventStreams: 200}", "FILE:1: api.maxEventStreams must be 1 to 199"},
		{"far too large", "api: {maxEventStreams: 99999999999999999999}", "FILE:1: api.maxEventStreams"},
		{"number for a text", "memory: {url: 'http://a', token: 12345}", "FILE:1: memory.token must be text; put it in quotes"},
		{"nothing for a text", "log:\n  level:\n", "FILE:2: log.level must be text"},
		{"text for a list", "api: {allowedOrigins: 'http://a'}", "FILE:1: api.allowedOrigins must be a list"},
		{"numbers in a list", "api: {allowedOrigins: [1]}", "FILE:1: api.allowedOrigins must be a list of texts"},
		{"unknown level", "log: {level: loud}", "FILE:1: log.level must be debug, info, warn or error"},
		{"alias", "log: &x {level: debug}\napi: *x", "FILE:1: log must hold keys and values"},
		{"list as a file", "- a\n- b\n", "FILE:1: must be keys and values"},
		{"word as a file", "\n\nhello", "FILE:3: must be keys and values"},
		{"two documents", "log: {level: debug}\n---\nlog: {level: info}\n", "FILE: holds more than one document"},
		{"not YAML", "log: {level: debug", "FILE:1: "},
		{"token alone", "memory:\n  token: x\n", "FILE:2: memory.token needs memory.url"},
		{"too long", strings.Repeat("#\n", 200_000), "FILE: larger than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := write(t, tt.file)
			_, err := settings.Load(settings.Sources{File: file})
			if err == nil {
				t.Fatal("got no error")
			}
			if got := strings.ReplaceAll(err.Error(), file, "FILE"); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s…", got, tt.want)
			}
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := settings.Load(settings.Sources{
		File:   write(t, "api: 1\nlog:\n  levle: x\n"),
		Getenv: env{"AMBRY_API_MAX_EVENT_STREAMS": "many"}.get,
		Flags:  map[string]string{"log.level": "loud", "log.colour": "red"},
	})
	if err == nil {
		t.Fatal("got no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{"api must", "log.levle", "AMBRY_API_MAX_EVENT_STREAMS: api.max", "flag log.colour: unknown", "flag log.level: log.level must"} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Fatalf("line %d of the error is not about %q:\n%v", i+1, want, err)
		}
	}
}

func TestUnreadableFileIsAnError(t *testing.T) {
	if _, err := settings.Load(settings.Sources{File: t.TempDir()}); err == nil {
		t.Error("a directory passed for a file")
	}
}

func TestOrigins(t *testing.T) {
	good := []string{
		"http://localhost:5173", "https://example.org", "http://127.0.0.1:1", "http://[::1]:3000",
		"tauri://localhost", "app://-", "chrome-extension://abcdefghijklmnop",
	}
	bad := []string{
		"*", "null", "http://*", "http://*.example.org", "https://example.org/", "https://example.org/path", "HTTPS://example.org",
		"https://Example.org", "example.org", "//example.org", "https://", "https://user@example.org", "https://example.org?x",
		"https://example.org#x", "http://a:0", "http://a:65536", "http://a:080", "http://a:80", "https://a:443", "file://x",
		"https://例え.jp", "http://a b", " http://a", "http://a\nhttp://b", "",
	}
	for _, o := range good {
		load(t, settings.Sources{File: write(t, fmt.Sprintf("api: {allowedOrigins: [%q]}", o))})
	}
	for _, o := range bad {
		_, err := settings.Load(settings.Sources{File: write(t, fmt.Sprintf("api: {allowedOrigins: [%q]}", o))})
		if err == nil || !strings.Contains(err.Error(), "api.allowedOrigins has ") {
			t.Errorf("%q: got %v, want a refusal", o, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for given, want := range map[string]string{
		"http://127.0.0.1:8080":  "http://127.0.0.1:8080",
		"https://example.org/":   "https://example.org",
		"http://[::1]:1":         "http://[::1]:1",
		"":                       "",
		"ftp://example.org":      "refused",
		"example.org":            "refused",
		"localhost:8080":         "refused",
		"http://":                "refused",
		"http://:80":             "refused",
		"http://a/api":           "refused",
		"http://a?x=1":           "refused",
		"http://a#x":             "refused",
		"http://me:pw@a":         "refused",
		"http://a:port":          "refused",
		"http://a/%zz":           "refused",
		"http://a//":             "refused",
		"javascript:alert(1)":    "refused",
		"unix:///run/ambry.sock": "refused",
	} {
		s, err := settings.Load(settings.Sources{Flags: map[string]string{"memory.url": given}})
		if got := s.Memory.URL; got != want && (err == nil || want != "refused") {
			t.Errorf("%q: got %q, %v; want %q", given, got, err, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	config := func(url string, mode os.FileMode) string {
		file := write(t, "memory: {url: '"+url+"', token: x}")
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	warn := func(from settings.Sources) string { return strings.Join(load(t, from).Warnings, "\n") }

	if got := warn(settings.Sources{File: config("http://localhost:1", 0o600)}); got != "" {
		t.Errorf("a private file and this machine: %q", got)
	}
	if got := warn(settings.Sources{File: config("http://example.org", 0o600)}); !strings.Contains(got, "https") {
		t.Errorf("a token in the clear: %q", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if got := warn(settings.Sources{File: config("https://example.org", 0o640)}); !strings.Contains(got, "chmod 600") {
		t.Errorf("a token that others can read: %q", got)
	}
	open := write(t, "log: {level: info}")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	elsewhere := env{"AMBRY_MEMORY_URL": "https://a", "AMBRY_MEMORY_TOKEN": "x"}
	if got := warn(settings.Sources{File: open, Getenv: elsewhere.get}); got != "" {
		t.Errorf("the token is not in the file: %q", got)
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "log: {level: debug}", "api:\n  allowedOrigins:\n  - http://a\n  maxEventStreams: 5\n", "a: &b c\nd: *b\n<<: *b\n",
		"? [a]\n: b", "%YAML 1.2\n---\n", "!!str a", "{", "- - -", "\xff\xfe", "memory:\n  token: |\n    x\n", "log: !!x {level: a}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := settings.Load(settings.Sources{File: file})
		if err == nil && (s.API.MaxEventStreams < 1 || s.API.MaxEventStreams > 199) {
			t.Errorf("accepted %+v", s)
		}
	})
}

type env map[string]string

func (e env) get(name string) string { return e[name] }

func load(t *testing.T, from settings.Sources) settings.Settings {
	t.Helper()
	s, err := settings.Load(from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
