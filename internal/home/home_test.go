package home_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/home"
)

func TestDefault(t *testing.T) {
	person := func() (string, error) { return filepath.FromSlash("/home/ada"), nil }
	nobody := func() (string, error) { return "", errors.New("$HOME is not defined") }
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(wd, "elsewhere")

	tests := []struct {
		name     string
		variable string
		home     func() (string, error)
		want     string
	}{
		{"the person's home", "", person, filepath.FromSlash("/home/ada/.ambry")},
		{"the variable", elsewhere, person, elsewhere},
		{"a relative variable is made absolute", "elsewhere", person, elsewhere},
		{"the variable needs no home", elsewhere, nobody, elsewhere},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := home.Default(env(tt.variable), tt.home)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	t.Run("no home says what to set", func(t *testing.T) {
		_, err := home.Default(env(""), nobody)
		if err == nil || !strings.Contains(err.Error(), home.Variable) {
			t.Errorf("got %v, want an error that names %s", err, home.Variable)
		}
	})
}

func env(value string) func(string) string {
	return func(name string) string {
		if name == home.Variable {
			return value
		}
		return ""
	}
}

func TestOpenCreatesPrivateDirectories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "home")
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{h.Dir(), h.Logs(), h.Exports(), h.Backups()} {
		info, err := os.Stat(d)
		if err != nil {
			t.Fatal(err)
		}
		if !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, want a directory of mode 0700", d, info.Mode())
		}
	}
	if _, err := home.Open(dir); err != nil {
		t.Errorf("open again: %v", err)
	}
}

func TestExistingCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if h, err := home.Existing(dir); err != nil || h.Dir() != dir {
		t.Errorf("got %q, %v", h.Dir(), err)
	}
	if _, err := home.Existing(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want not there", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v", entries, err)
	}
}

func TestPathsAreBelowTheHome(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range []string{
		h.Config(), h.AppDB(), h.MemoryDB(), h.RuntimeFile(), h.Lock(), h.MemoryLock(), h.Logs(), h.Exports(), h.Backups(),
	} {
		if filepath.Dir(p) != h.Dir() || seen[p] {
			t.Errorf("%s is not a name of its own in %s", p, h.Dir())
		}
		seen[p] = true
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := home.Open(""); err == nil {
		t.Error("opened a home without a name")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Open(file); err == nil {
		t.Error("opened a file as a home")
	}
}
