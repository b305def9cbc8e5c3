package secret_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/secret"
)

// inSession names the variable that tells a test that it runs in a session of
// its own, with the Secret Service of GNOME.
const inSession = "AMBRY_TEST_SESSION"

// The real Secret Service, on a bus of its own, with a throw-away home. The
// test runs itself anew in there.
func TestSecretService(t *testing.T) {
	if os.Getenv(inSession) != "" {
		t.Run("within", withSecretService)
		return
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (apt-get install dbus gnome-keyring)", program)
		}
	}
	dir := t.TempDir()
	const script = `printf 'a password' | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$0" -test.run '^TestSecretService$' -test.v`
	cmd := exec.Command("dbus-run-session", "--", "sh", "-c", script, os.Args[0])
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
		"XDG_RUNTIME_DIR=" + dir, "TMPDIR=" + dir, inSession + "=1",
	}
	cmd.WaitDelay = 10 * time.Second // the daemon may hold our pipe a moment longer
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSecretService/within") {
		t.Errorf("in the session: %v", err)
	}
}

func withSecretService(t *testing.T) {
	own, persons, ok := secret.System(os.Getenv)
	if !ok {
		t.Fatal("there is no keychain in a session")
	}
	if err := secret.Works(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.cfg.Keychain, w.cfg.Named = own, persons
	s := w.open()
	w.set(s, "a", planted)
	w.set(s, "a", planted+"2")
	w.set(s, "b", "two")
	s = w.open()
	w.want(s, "a", planted+"2")
	if keys := len(keyFiles(w.cfg.KeyDir)); keys != 0 {
		t.Errorf("%d keys were made for a file that is not needed", keys)
	}
	for path, data := range read(t, os.Getenv("HOME")) {
		if strings.Contains(string(data), planted) {
			t.Errorf("%s shows the secret", path)
		}
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := own.Get(t.Context(), "a"); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("after deleting it: %v", err)
	}
	if _, err := s.Resolve(t.Context(), "keychain:b"); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("a reference reaches our own entries: %v", err)
	}
	if err := persons.Set(t.Context(), "work", "mine"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Resolve(t.Context(), "keychain:work"); err != nil || got != "mine" {
		t.Errorf("got %q, %v", got, err)
	}
}

func keyFiles(dir string) []os.DirEntry {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // it was never made
	}
	return entries
}

// Without a bus there is no keychain, and none is started.
func TestNoKeychainWithoutASession(t *testing.T) {
	empty := t.TempDir()
	for _, getenv := range []func(string) string{
		nil,
		func(string) string { return "" },
		func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": empty}[name] },
	} {
		if _, _, ok := secret.System(getenv); ok {
			t.Error("a keychain is found")
		}
	}
}
