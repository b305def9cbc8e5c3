package secret_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/secret"
)

// planted is a key that must be found nowhere. It is put together so that
// nothing takes this file for a leak.
const planted = "sk-" + "planted-0123456789abcdef-canary"

var day = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

// world is a home with what belongs to its secrets.
type world struct {
	t    *testing.T
	home home.Home
	cfg  secret.Config
}

func newWorld(t *testing.T) *world {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, h, secret.Config{
		Home: h, KeyDir: filepath.Join(t.TempDir(), "keys"),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: func() time.Time { return day },
	}}
}

func (w *world) open() *secret.Store {
	w.t.Helper()
	s, err := secret.Open(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) want(s *secret.Store, id, want string) {
	w.t.Helper()
	if got, err := s.Get(w.t.Context(), id); err != nil || got != want {
		w.t.Errorf("%s is %q, %v; want %q", id, got, err, want)
	}
}

func (w *world) set(s *secret.Store, id, value string) {
	w.t.Helper()
	if err := s.Set(w.t.Context(), id, value); err != nil {
		w.t.Fatal(err)
	}
}

// fake is a keychain in memory, which may be broken.
type fake struct {
	mu    sync.Mutex
	items map[string]string
	err   error
}

func (f *fake) Set(_ context.Context, id, value string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.items[id] = value
	}
	return f.err
}

func (f *fake) Get(_ context.Context, id string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if value, ok := f.items[id]; ok || f.err != nil {
		return value, f.err
	}
	return "", ambry.NotFound.Errorf("none")
}

func (f *fake) Delete(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		delete(f.items, id)
	}
	return f.err
}

func TestSecretsSurviveARestart(t *testing.T) {
	for name, keychain := range map[string]secret.Keychain{"file": nil, "keychain": &fake{items: map[string]string{}}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cfg.Keychain = keychain
			s := w.open()
			if _, err := s.Get(t.Context(), "a"); ambry.KindOf(err) != ambry.NotFound {
				t.Errorf("what was never set answers %v", err)
			}
			w.set(s, "a", "one")
			w.set(s, "b", "two")
			w.set(s, "a", "three")
			w.want(s, "a", "three")
			s = w.open()
			w.want(s, "a", "three")
			w.want(s, "b", "two")
			for range 2 {
				if err := s.Delete(t.Context(), "a"); err != nil {
					t.Error(err)
				}
			}
			if _, err := s.Get(t.Context(), "a"); ambry.KindOf(err) != ambry.NotFound {
				t.Errorf("what was deleted answers %v", err)
			}
			if got := fmt.Sprint(w.open().IDs()); got != "[b]" {
				t.Errorf("left are %s", got)
			}
		})
	}
}

// Whatever is done, no file of the home shows a secret, whole or in part, nor
// the key that opens it; and the files are the person's alone.
func TestNothingReadableInTheHome(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	for i := range 20 {
		w.set(s, fmt.Sprint("id-", i%7), planted+fmt.Sprint(i))
	}
	files, keys := read(t, w.home.Dir()), read(t, w.cfg.KeyDir)
	if len(files) == 0 || len(keys) != 1 {
		t.Fatalf("%d files and %d of keys: the test sees nothing", len(files), len(keys))
	}
	for path, data := range files {
		for i := 0; i+8 <= len(planted); i++ {
			if bytes.Contains(data, []byte(planted[i:i+8])) {
				t.Fatalf("%s shows %q", path, planted[i:i+8])
			}
		}
	}
	for path := range keys {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

// read returns the content of all files below a directory.
func read(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTheKeyLiesOutsideTheHome(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{w.home.Dir(), filepath.Join(w.home.Dir(), "keys"), filepath.Join(w.home.Dir(), "..keys")} {
		w.cfg.KeyDir = dir
		if _, err := secret.Open(w.cfg); err == nil {
			t.Errorf("a key in %s is accepted", dir)
		}
	}
	w.cfg.KeyDir = w.home.Dir() + "-keys"
	w.open()
}

// A secret opens under its own id only, and only as it was written.
func TestASecretThatWasMovedOrChangedDoesNotOpen(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	w.set(s, "aaaa", "one")
	w.set(s, "bbbb", "two")
	data, err := os.ReadFile(w.home.Secrets())
	if err != nil {
		t.Fatal(err)
	}
	swapped := strings.NewReplacer(`"aaaa"`, `"bbbb"`, `"bbbb"`, `"aaaa"`).Replace(string(data))
	if err := os.WriteFile(w.home.Secrets(), []byte(swapped), 0o600); err != nil {
		t.Fatal(err)
	}
	s = w.open()
	for _, id := range []string{"aaaa", "bbbb"} {
		if got, err := s.Get(t.Context(), id); !errors.Is(err, secret.ErrLocked) {
			t.Errorf("%s opens as %q, %v", id, got, err)
		}
	}
}

func TestWithoutItsKeyASecretIsLockedNotLost(t *testing.T) {
	w := newWorld(t)
	w.set(w.open(), "a", "one")
	away := w.cfg.KeyDir + ".away"
	if err := os.Rename(w.cfg.KeyDir, away); err != nil {
		t.Fatal(err)
	}
	s := w.open()
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, secret.ErrLocked) {
		t.Errorf("got %v", err)
	}
	w.set(s, "b", "two") // with a new key
	w.want(w.open(), "b", "two")
	w.set(s, "a", "again")
	w.want(w.open(), "a", "again")
}

func TestAnOldKeyIsReplaced(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	w.set(s, "a", "one")
	before := read(t, w.cfg.KeyDir)
	w.cfg.Now = func() time.Time { return day.Add(89 * 24 * time.Hour) }
	w.open()
	if after := read(t, w.cfg.KeyDir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a key is replaced before its time")
	}
	w.cfg.Now = func() time.Time { return day.Add(91 * 24 * time.Hour) }
	w.want(w.open(), "a", "one")
	after := read(t, w.cfg.KeyDir)
	if fmt.Sprint(after) == fmt.Sprint(before) || len(after) != 1 {
		t.Error("the key is as before")
	}
	w.want(w.open(), "a", "one")

	// The old key opens nothing any more.
	for path, data := range before {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.cfg.Now = func() time.Time { return day }
	if _, err := w.open().Get(t.Context(), "a"); !errors.Is(err, secret.ErrLocked) {
		t.Errorf("the old key answers %v", err)
	}
}

func TestABrokenKeychainIsReplacedByTheFile(t *testing.T) {
	w := newWorld(t)
	k := &fake{items: map[string]string{}}
	w.cfg.Keychain = k
	s := w.open()
	w.set(s, "a", "in the keychain")
	k.err = errors.New("locked")
	w.set(s, "b", "in the file")
	w.want(s, "b", "in the file")
	s = w.open()
	w.want(s, "b", "in the file")
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, secret.ErrKeychain) {
		t.Errorf("what is in a locked keychain answers %v", err)
	}
	if err := s.Delete(t.Context(), "a"); !errors.Is(err, secret.ErrKeychain) {
		t.Errorf("deleting it answers %v", err)
	}
	k.err = nil
	w.want(s, "a", "in the keychain")
	if err := secret.Works(t.Context(), k); err != nil || len(k.items) != 1 {
		t.Errorf("got %v, and %d items", err, len(k.items))
	}
}

func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			id, value := fmt.Sprint("id-", i), fmt.Sprint("value-", i)
			if err := s.Set(t.Context(), id, value); err != nil {
				t.Error(err)
			}
			w.want(s, id, value)
			if i%2 == 0 {
				if err := s.Delete(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s = w.open()
	if n := len(s.IDs()); n != 20 {
		t.Errorf("%d are left, want 20", n)
	}
	w.want(s, "id-39", "value-39")
}

func TestFilesThatAreNotOurs(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "a later version": `{"version":2}`, "a key elsewhere": `{"version":1,"lock":"../../etc/passwd"}`,
	} {
		w := newWorld(t)
		if err := os.WriteFile(w.home.Secrets(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.Open(w.cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if got, err := os.ReadFile(w.home.Secrets()); err != nil || string(got) != text {
			t.Errorf("%s was touched", name)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	w := newWorld(t)
	w.set(w.open(), "a", "one")
	for path := range read(t, w.cfg.KeyDir) {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := secret.Open(w.cfg); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read answers %v", err)
	}
}

// TestUnusableSecretsSayWhy has whoever asks for a secret told why there is none, and the
// files left as they are.
func TestUnusableSecretsSayWhy(t *testing.T) {
	w := newWorld(t)
	w.cfg.Getenv = func(string) string { return "from the environment" }
	if err := os.WriteFile(w.home.Secrets(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, why := secret.Open(w.cfg)
	s := secret.Unusable(w.cfg, why)
	_, got := s.Get(t.Context(), "a")
	for how, err := range map[string]error{"get": got, "set": s.Set(t.Context(), "a", "one"), "delete": s.Delete(t.Context(), "a")} {
		if ambry.KindOf(err) != ambry.Conflict || !errors.Is(err, secret.ErrUnusable) || !strings.Contains(err.Error(), why.Error()) {
			t.Errorf("%s: %v", how, err)
		}
	}
	if ids := s.IDs(); len(ids) > 0 {
		t.Errorf("there are %v", ids)
	}
	if v, err := s.Resolve(t.Context(), "env:A_API_KEY"); v == "" || err != nil {
		t.Errorf("a reference: %q, %v", v, err)
	}
	if data, err := os.ReadFile(w.home.Secrets()); string(data) != "{" || err != nil {
		t.Errorf("the file is %q, %v", data, err)
	}
}

// TestAKeyThatCannotBeReplacedIsUsedOn: a disk that takes nothing keeps no secret from being
// read.
func TestAKeyThatCannotBeReplacedIsUsedOn(t *testing.T) {
	w := newWorld(t)
	w.set(w.open(), "a", "one")
	w.cfg.Now = func() time.Time { // nothing can be written to what is no directory
		if err := errors.Join(os.RemoveAll(w.cfg.KeyDir), os.WriteFile(w.cfg.KeyDir, nil, 0o600)); err != nil {
			t.Error(err)
		}
		return day.Add(365 * 24 * time.Hour)
	}
	w.want(w.open(), "a", "one")
}

func TestSetRefuses(t *testing.T) {
	s := newWorld(t).open()
	for _, value := range []string{"", strings.Repeat("x", secret.MaxLength+1)} {
		if err := s.Set(t.Context(), "a", value); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%d bytes answer %v", len(value), err)
		}
	}
}

func TestReferences(t *testing.T) {
	w := newWorld(t)
	w.cfg.Getenv = func(name string) string {
		return map[string]string{"OPENAI_API_KEY": " from-env\n", "AMBRY_MEMORY_TOKEN": "no", "EMPTY_API_KEY": ""}[name]
	}
	w.cfg.Named = &fake{items: map[string]string{"work": "from-keychain"}}
	s := w.open()
	w.set(s, "own", "one")
	for _, tt := range []struct {
		ref, want string
		kind      ambry.Kind
	}{
		{"env:OPENAI_API_KEY", "from-env", ""},
		{"keychain:work", "from-keychain", ""},
		{"env:EMPTY_API_KEY", "", ambry.NotFound},
		{"env:OTHER_API_KEY", "", ambry.NotFound},
		{"keychain:own", "", ambry.NotFound}, // our own entries are out of reach
		{"env:AMBRY_MEMORY_TOKEN", "", ambry.InvalidArgument},
		{"env:AWS_SECRET_ACCESS_KEY", "", ambry.InvalidArgument},
		{"env:", "", ambry.InvalidArgument},
		{"keychain:", "", ambry.InvalidArgument},
		{"keychain:a/b", "", ambry.InvalidArgument},
	} {
		got, err := s.Resolve(t.Context(), tt.ref)
		if got != tt.want || tt.kind != "" && ambry.KindOf(err) != tt.kind || tt.kind == "" && err != nil {
			t.Errorf("%s is %q, %v", tt.ref, got, err)
		}
	}
	w.cfg.Named = nil
	if _, err := w.open().Resolve(t.Context(), "keychain:work"); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("without a keychain: %v", err)
	}
	if secret.IsReference("sk-env:x") || !secret.IsReference("env:x") {
		t.Error("what a reference is")
	}
}
