package settings_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/settings"
)

// change sets a key in a file of the given text, or with an empty value takes it
// out, and returns the text afterwards.
func change(t *testing.T, before, key, value string) (string, error) {
	t.Helper()
	file := write(t, before)
	var err error
	if value == "" {
		_, err = settings.Unset(t.Context(), file, key)
	} else {
		_, err = settings.Change(t.Context(), file, key, value)
	}
	after, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(after), err
}

func TestChangeTouchesNothingElse(t *testing.T) {
	tests := []struct{ name, before, key, value, want string }{
		{"empty file", "", "log.level", "debug", "log:\n  level: debug\n"},
		{"only comments", "# mine\n", "log.level", "debug", "# mine\nlog:\n  level: debug\n"},
		{"no newline at the end", "# mine", "log.level", "debug", "# mine\nlog:\n  level: debug\n"},
		{"value", "# a\nlog: # b\n  # c\n  level:   info   # d\n# e\n", "log.level", "warn", "# a\nlog: # b\n  # c\n  level:   warn   # d\n# e\n"},
		{"quoted value", "log: \n  'level' : \"info\" # x\n", "log.level", "warn", "log: \n  'level' : warn # x\n"},
		{"quote in quotes", "memory: {url: 'http://a', token: 'a''b' }\n", "memory.token", "c", "memory: {url: 'http://a', token: \"c\" }\n"},
		{"number", "api:\n  maxEventStreams: 0x20 # hex\n", "api.maxEventStreams", "64", "api:\n  maxEventStreams: 64 # hex\n"},
		{"the same again", "log:\n  level: 'info'\n", "log.level", "info", "log:\n  level: 'info'\n"},
		{
			"second key", "api:\n    # n\n    maxEventStreams: 5 # x\n\n# about the log\nlog:\n  level: info\n", "api.allowedOrigins", "http://a, https://b",
			"api:\n    # n\n    maxEventStreams: 5 # x\n    allowedOrigins: [\"http://a\", \"https://b\"]\n\n# about the log\nlog:\n  level: info\n",
		},
		{"second section", "log:\n  level: info\n# end\n", "api.maxEventStreams", "64", "log:\n  level: info\n# end\napi:\n  maxEventStreams: 64\n"},
		{"section without keys", "log: # c\n#  level: x\napi:\n  maxEventStreams: 3\n", "log.level", "debug", "log: # c\n  level: debug\n#  level: x\napi:\n  maxEventStreams: 3\n"},
		{"section of nothing", "log: ~ # c\n", "log.level", "debug", "log: {level: debug} # c\n"},
		{"empty braces", "log: { } # c\n", "log.level", "debug", "log: {level: debug } # c\n"},
		{"braces", "api: { maxEventStreams: 5 } # c\n", "api.allowedOrigins", "http://a", "api: { maxEventStreams: 5, allowedOrigins: [\"http://a\"] } # c\n"},
		{"value in braces", "{log: {level: info}, api: {}}\n", "log.level", "debug", "{log: {level: debug}, api: {}}\n"},
		{"section in braces", "{log: {level: info}} # c\n", "api.maxEventStreams", "7", "{log: {level: info}, api: {maxEventStreams: 7}} # c\n"},
		{"braces over lines", "api: {\n  maxEventStreams: 5, # five\n}\n", "api.maxEventStreams", "6", "api: {\n  maxEventStreams: 6, # five\n}\n"},
		{"list in brackets", "api:\n  allowedOrigins: [http://a, # x\n    'http://b'] # y\n", "api.allowedOrigins", "http://c", "api:\n  allowedOrigins: [\"http://c\"] # y\n"},
		{
			"list of lines: more", "api:\n  allowedOrigins: # mine\n  - http://a # x\n  # about b\n  - 'http://b'\n  # end\nlog: {}\n", "api.allowedOrigins", "http://a,http://b,http://c",
			"api:\n  allowedOrigins: # mine\n  - http://a # x\n  # about b\n  - 'http://b'\n  - \"http://c\"\n  # end\nlog: {}\n",
		},
		{
			"list of lines: fewer", "api:\n  allowedOrigins:\n    - http://a # x\n    # about b\n    - http://b # y\n    - http://c\n", "api.allowedOrigins", "http://b",
			"api:\n  allowedOrigins:\n    # about b\n    - http://b # y\n",
		},
		{
			"list of lines: others", "api:\n  allowedOrigins:\n    - http://a\n    - http://b\n  maxEventStreams: 5\n", "api.allowedOrigins", "http://c, http://a",
			"api:\n  allowedOrigins:\n    - \"http://c\"\n    - \"http://a\"\n  maxEventStreams: 5\n",
		},
		{"list of lines: none", "api:\n  allowedOrigins: # mine\n    - http://a\n  maxEventStreams: 5\n", "api.allowedOrigins", ",", "api:\n  allowedOrigins: [] # mine\n  maxEventStreams: 5\n"},
		{"text over lines", "memory:\n  url: http://a\n  token: |-\n    abc\n  # c\nlog: {}\n", "memory.token", "true", "memory:\n  url: http://a\n  token: \"true\"\n  # c\nlog: {}\n"},
		{"CRLF and BOM", "\ufeff# é\r\n\r\nlog:\r\n  level: info # 日本\r\n", "log.level", "warn", "\ufeff# é\r\n\r\nlog:\r\n  level: warn # 日本\r\n"},
		{"CRLF added", "log:\r\n  level: info\r\n", "api.maxEventStreams", "9", "log:\r\n  level: info\r\napi:\r\n  maxEventStreams: 9\r\n"},
		{"mixed line ends", "log:\n  level: info\r\napi:\n  maxEventStreams: 1\r\n", "log.level", "warn", "log:\n  level: warn\r\napi:\n  maxEventStreams: 1\r\n"},
		{"wide characters before", "memory: {url: 'http://a', token: \"x\"} # 日本\nlog: {level: info} # é\n", "log.level", "warn", "memory: {url: 'http://a', token: \"x\"} # 日本\nlog: {level: warn} # é\n"},
		{"document marks", "---\nlog:\n  level: info\n...\n", "api.maxEventStreams", "9", "---\nlog:\n  level: info\napi:\n  maxEventStreams: 9\n...\n"},

		{"unset", "api:\n  # n\n  maxEventStreams: 5 # x\n  # o\n  allowedOrigins: []\n", "api.maxEventStreams", "", "api:\n  # n\n  # o\n  allowedOrigins: []\n"},
		{"unset the only key", "# a\nlog:\n  level: info\n# b\napi: {}\n", "log.level", "", "# a\n# b\napi: {}\n"},
		{"unset the only key, comment", "log: # mine\n  level: info\n", "log.level", "", "log: # mine\n"},
		{"unset the only key, comments", "log:\n  level: info\n  # mine\n", "log.level", "", "log:\n  # mine\n"},
		{"unset what is not set", "log: {level: info}\n", "api.maxEventStreams", "", "log: {level: info}\n"},
		{"unset in braces", "api: {maxEventStreams: 5, allowedOrigins: []} # x\n", "api.maxEventStreams", "", "api: {allowedOrigins: []} # x\n"},
		{"unset last in braces", "api: {maxEventStreams: 5, allowedOrigins: [http://a]} # x\n", "api.allowedOrigins", "", "api: {maxEventStreams: 5} # x\n"},
		{"unset alone in braces", "log: { level: info } # x\n", "log.level", "", "log: {} # x\n"},
		{"unset a list of lines", "api:\n  allowedOrigins:\n  - http://a\n  # x\n  - http://b\n  maxEventStreams: 4\n", "api.allowedOrigins", "", "api:\n  maxEventStreams: 4\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := change(t, tt.before, tt.key, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangeRefuses(t *testing.T) {
	good := "log:\n  level: info\n"
	tests := []struct{ name, before, key, value, want string }{
		{"unknown key", good, "log.colour", "red", `no setting "log.colour"; there are account.smtp.from, `},
		{"section", good, "log", "debug", `no setting "log"`},
		{"unset of an unknown key", good, "log.colour", "", `no setting "log.colour"`},
		{"bad value", good, "log.level", "loud", "log.level must be debug, info, warn or error"},
		{"bad number", good, "api.maxEventStreams", "many", "api.maxEventStreams must be a whole number"},
		{"number out of range", good, "api.maxEventStreams", "500", "api.maxEventStreams must be 1 to 199"},
		{"bad origin", good, "api.allowedOrigins", "http://a,*", "api.allowedOrigins has"},
		{"token alone", good, "memory.token", "x", "memory.token needs memory.url beside it"},
		{"address of a token", "memory: {url: 'http://a', token: x}\n", "memory.url", "", "memory.token needs memory.url beside it"},
		{"broken file", "# a\nlog: {level: info\n", "log.level", "debug", "the file is not valid, so it was not touched: FILE:2: "},
		{"broken elsewhere", "log:\n  level: info\napi:\n  maxEventStreams: many\n", "log.level", "debug", "FILE:4: api.maxEventStreams must be"},
		{"broken with CRLF", "# a\r\n\r\nlog:\r\n  level: info\r\napi: 5\r\n", "log.level", "debug", "FILE:5: api must hold"},
		{"two documents", "log: {}\n---\nlog: {}\n", "log.level", "debug", "more than one document"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := write(t, tt.before)
			var err error
			if tt.value == "" {
				_, err = settings.Unset(t.Context(), file, tt.key)
			} else {
				_, err = settings.Change(t.Context(), file, tt.key, tt.value)
			}
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), file, "FILE"), tt.want) {
				t.Errorf("got %v, want …%s…", err, tt.want)
			}
			after, err := os.ReadFile(file)
			if err != nil || string(after) != tt.before {
				t.Errorf("the file was touched: %q, %v", after, err)
			}
		})
	}
}

// What an edit does not understand is left to the person, never written wrongly.
func TestChangeLeavesOddShapesToThePerson(t *testing.T) {
	for _, tt := range []struct{ before, key, value string }{
		{"{log: , api: {}}\n", "log.level", "debug"},
		{"api: {maxEventStreams: 5, # five\n  allowedOrigins: []}\n", "api.allowedOrigins", ""},
	} {
		after, err := change(t, tt.before, tt.key, tt.value)
		if ambry.KindOf(err) != ambry.Conflict || after != tt.before {
			t.Errorf("%q: got %q, %v", tt.before, after, err)
		}
	}
}

func TestSettingAndUnsettingIsNothing(t *testing.T) {
	for _, before := range []string{
		"", "# a\n", "log:\n  level: info # x\n", "api:\r\n  maxEventStreams: 5\r\n", "\ufeff# é\n", "{}\n", "log: {}\n# b\n",
		"api:\n  allowedOrigins:\n  - http://a\n", "{log: {level: info}}\n",
	} {
		file := write(t, before)
		for key, value := range map[string]string{"memory.url": "http://127.0.0.1:1", "api.maxEventStreams": "77"} {
			if strings.Contains(before, "maxEventStreams") && key != "memory.url" {
				continue
			}
			if changed, err := settings.Change(t.Context(), file, key, value); err != nil || !changed {
				t.Fatalf("%q: %v, %v", before, changed, err)
			}
			if changed, err := settings.Unset(t.Context(), file, key); err != nil || !changed {
				t.Fatalf("%q: %v, %v", before, changed, err)
			}
		}
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// In braces the section stays, empty.
		got := strings.NewReplacer(", memory: {}", "", "memory: {}", "", ", api: {}", "", "api: {}", "").Replace(string(after))
		if got = strings.Replace(got, "{, ", "{", 1); got != before {
			t.Errorf("%q became %q", before, after)
		}
	}
}

func TestChangeWritesAPrivateFileOrKeepsALink(t *testing.T) {
	dir := t.TempDir()
	file, elsewhere := filepath.Join(dir, "config.yaml"), filepath.Join(t.TempDir(), "dotfile")
	if changed, err := settings.Change(t.Context(), file, "log.level", "warn"); err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the new file is %v, %v; want 0600", info.Mode(), err)
	}
	if err := os.Rename(file, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, file); err != nil {
		t.Skipf("this system has no links for us: %v", err)
	}
	if _, err := settings.Change(t.Context(), file, "log.level", "error"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(elsewhere); err != nil || string(data) != "log:\n  level: error\n" {
		t.Errorf("what the link leads to says %q, %v", data, err)
	}
}

func TestChangesAtOnceAreAllKept(t *testing.T) {
	for range 20 {
		file := write(t, "# mine\n")
		var wg sync.WaitGroup
		for key, value := range map[string]string{"log.level": "warn", "api.maxEventStreams": "64", "api.allowedOrigins": "http://a", "memory.url": "http://127.0.0.1:1"} {
			wg.Go(func() {
				if _, err := settings.Change(t.Context(), file, key, value); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := load(t, settings.Sources{File: file})
		if s.API.MaxEventStreams != 64 || len(s.API.AllowedOrigins) != 1 || s.Memory.URL == "" || s.Log.Level != slog.LevelWarn {
			t.Fatalf("got %+v", s)
		}
	}
}

func FuzzChange(f *testing.F) {
	for _, seed := range []string{
		"", "log: {level: debug}", "api:\n  allowedOrigins:\n  - http://a # x\n  maxEventStreams: 5\n", "{log: {level: info}, api: {}}",
		"? log\n: level: debug\n", "memory:\n  url: http://a\n  token: |\n    x\n    # y\n", "api: {\n maxEventStreams: 5, # x\n}", "\ufefflog:\r\n  level: 'in\r\n\r\n   fo'\r\n",
		"log:\n  level: >-\n   info\n", "log:\n- a", "api:\n  allowedOrigins:\n  -\n   http://a\n", "log: {level: info,}", "log: ~", "---\nlog:\n...\n", "log:\n  level: info\t# x\n",
	} {
		f.Add(seed, uint8(0), "debug")
		f.Add(seed, uint8(1), "http://b,http://c")
		f.Add(seed, uint8(2), "")
	}
	keys := []string{"log.level", "api.allowedOrigins", "api.maxEventStreams", "memory.url", "memory.token"}
	f.Fuzz(func(t *testing.T, before string, which uint8, value string) {
		key := keys[int(which)%len(keys)]
		after, err := change(t, before, key, value)
		if err != nil {
			if after != before {
				t.Errorf("%v, but the file was touched", err)
			}
			return
		}
		// Comments on lines of their own are all there, but for what may be content.
		if strings.ContainsAny(before, "|>'\"") {
			return
		}
		rest := strings.Split(after, "\n")
		for line := range strings.SplitSeq(before, "\n") {
			if !strings.HasPrefix(line, "#") {
				continue
			}
			at := 0
			for at < len(rest) && strings.TrimRight(rest[at], "\r") != strings.TrimRight(line, "\r") {
				at++
			}
			if at == len(rest) {
				t.Fatalf("comment %q is gone:\n%q\n%q", line, before, after)
			}
			rest = rest[at+1:]
		}
	})
}
