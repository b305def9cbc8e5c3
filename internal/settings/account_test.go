package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/settings"
)

// Keys that are two sections deep can be set, changed and taken out, in whatever
// way a person has begun to write them.
func TestChangeWithinASection(t *testing.T) {
	for name, tt := range map[string]struct{ before, key, value, after string }{
		"an empty file":     {"", "account.smtp.host", "mail.example.org", "account:\n  smtp: {host: \"mail.example.org\"}\n"},
		"a second key":      {"account:\n  smtp: {host: \"a.b\"}\n", "account.smtp.port", "25", "account:\n  smtp: {host: \"a.b\", port: 25}\n"},
		"another section":   {"log: # x\n  level: info\n", "account.smtp.port", "25", "log: # x\n  level: info\naccount:\n  smtp: {port: 25}\n"},
		"the outer one":     {"account:\n  # here\n  url: https://a.b\n", "account.smtp.port", "25", "account:\n  # here\n  url: https://a.b\n  smtp: {port: 25}\n"},
		"lines":             {"account:\n  smtp:\n    host: a.b # why\n    port: 1\n  url: \"\"\n", "account.smtp.port", "25", "account:\n  smtp:\n    host: a.b # why\n    port: 25\n  url: \"\"\n"},
		"a new line":        {"account:\n  smtp:\n    host: a.b # why\n", "account.smtp.port", "25", "account:\n  smtp:\n    host: a.b # why\n    port: 25\n"},
		"nothing in it yet": {"account:\n  smtp:\n", "account.smtp.port", "25", "account:\n  smtp:\n    port: 25\n"},
		"braces":            {"{account: {url: \"https://a.b\"}}\n", "account.smtp.port", "25", "{account: {url: \"https://a.b\", smtp: {port: 25}}}\n"},
		"unset":             {"account:\n  smtp:\n    host: a.b\n    port: 1\n", "account.smtp.port", "-", "account:\n  smtp:\n    host: a.b\n"},
		"unset the last":    {"account:\n  url: https://a.b\n  smtp:\n    port: 1\n", "account.smtp.port", "-", "account:\n  url: https://a.b\n"},
		"unset in braces":   {"account:\n  smtp: {host: \"a.b\", port: 25}\n", "account.smtp.host", "-", "account:\n  smtp: {port: 25}\n"},
		"unset what is not": {"account:\n  url: https://a.b\n", "account.smtp.port", "-", "account:\n  url: https://a.b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
			var err error
			if tt.value == "-" {
				_, err = settings.Unset(t.Context(), file, tt.key)
			} else {
				_, err = settings.Change(t.Context(), file, tt.key, tt.value)
			}
			got, readErr := os.ReadFile(file)
			if err != nil || readErr != nil || string(got) != tt.after {
				t.Errorf("got %q, %v, want %q", got, err, tt.after)
			}
		})
	}
}

func TestAccountSettingsAreChecked(t *testing.T) {
	load := func(values map[string]string) error {
		_, err := settings.Load(settings.Sources{Flags: values})
		return err
	}
	for _, good := range []map[string]string{
		{"account.url": "https://account.example.org"},
		{"account.url": "http://127.0.0.1:8390"},
		{"account.smtp.host": "::1"},
		{"account.smtp.user": "u", "account.smtp.password": "env:MY_SMTP_PASSWORD"},
		{"account.smtp.password": "keychain:mail"},
		{"account.smtp.host": "localhost", "account.smtp.security": "none", "account.smtp.user": "u", "account.smtp.password": "keychain:mail"},
	} {
		if err := load(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	const hidden = "hunter2-hunter2"
	for want, bad := range map[string]map[string]string{
		"must be https":                {"account.url": "http://account.example.org"},
		"scheme, host and port alone":  {"account.url": "https://account.example.org/v1"},
		"without a port":               {"account.smtp.host": "mail.example.org:25"},
		"plain address":                {"account.smtp.from": "Ambry <ambry@example.org>"},
		"the password itself does not": {"account.smtp.password": hidden},
		"env:NAME_SMTP_PASSWORD":       {"account.smtp.password": "env:OPENAI_API_KEY"},
		"needs account.smtp.password":  {"account.smtp.user": "u"},
		"sends no password to another": {"account.smtp.host": "mail.example.org", "account.smtp.security": "none", "account.smtp.user": "u", "account.smtp.password": "keychain:m"},
		"starttls, tls or none":        {"account.smtp.security": "ssl"},
		"must be 0 to 65535":           {"account.smtp.port": "65536"},
		"must be printable":            {"account.smtp.user": "a b"},
	} {
		if err := load(bad); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), hidden) {
			t.Errorf("%v: got %v, want …%s…", bad, err, want)
		}
	}
}
