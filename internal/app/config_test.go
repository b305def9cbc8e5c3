package app

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/settings"
)

// preflight asks on behalf of a page whether it may call the API.
func (r *running) preflight(origin string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodOptions, r.BaseURL()+"/api/app/bootstrap", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Origin", origin)
	req.Header.Set("Access-Control-Request-Method", "GET")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestServiceFollowsTheSettings(t *testing.T) {
	memory, dir := memoryAt(t, "127.0.0.1"), t.TempDir()
	s := serveIn(t, dir, memory.URL)
	changes, file := s.changes(), filepath.Join(dir, ".ambry", "config.yaml")
	const page = "http://localhost:5173"
	if got := s.preflight(page); got != 403 {
		t.Fatalf("a page that nobody allowed gets %d", got)
	}

	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("api:\n  allowedOrigins: [" + page + "]\n  maxEventStreams: 1\n")
	if c := next(t, changes); c.Section != "config" || !slices.Equal(c.Fields, []string{"api.allowedOrigins", "api.maxEventStreams"}) || c.Restart != nil {
		t.Errorf("told was %+v", c)
	}
	if got := s.preflight(page); got != 204 {
		t.Errorf("a page that is allowed gets %d", got)
	}
	for _, err := range s.Events(t.Context(), "") {
		if ambry.KindOf(err) != ambry.RateLimited {
			t.Errorf("a second stream of events gets %v", err)
		}
		break
	}

	write("api:\n  allowedOrigins: [" + page + "]\n  maxEventStreams: none\n")
	if c := next(t, changes); c.Section != "config" || len(c.Fields) != 0 {
		t.Errorf("a broken file was told as %+v", c)
	}
	why := s.bootstrap().Health.SettingsError
	if !strings.HasPrefix(why, "config.yaml:3: api.maxEventStreams must be") || strings.Contains(why, dir) {
		t.Errorf("health says %q", why)
	}
	if got := s.preflight(page); got != 204 {
		t.Errorf("with a broken file the page gets %d", got)
	}

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if c := next(t, changes); !slices.Equal(c.Fields, []string{"api.allowedOrigins", "api.maxEventStreams"}) {
		t.Errorf("told was %+v", c)
	}
	if got := s.preflight(page); got != 403 {
		t.Errorf("a page that is no longer allowed gets %d", got)
	}
	if why := s.bootstrap().Health.SettingsError; why != "" {
		t.Errorf("health still says %q", why)
	}
}

// following returns a config that follows a file, in the time of a synctest
// bubble, and what it says.
func following(t *testing.T, file string) (*config, func() (told []ambry.SettingsChanged)) {
	c, err := loadConfig(settings.Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	bus, log := event.New("e", 100, time.Now), slog.New(slog.NewTextHandler(t.Output(), nil))
	sub := bus.Subscribe("")
	t.Cleanup(start(t.Context(), "settings", log, func(ctx context.Context) error { return c.follow(ctx, bus, log, func(settings.Settings) {}) }))
	return c, func() (told []ambry.SettingsChanged) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for {
			e, err := sub.Next(ended)
			if err != nil {
				return told
			}
			told = append(told, e.Payload.(ambry.SettingsChanged))
		}
	}
}

func TestConfigFollowsTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config.yaml")
		c, told := following(t, file)
		write := func(text string) {
			t.Helper()
			if err := home.WriteFile(file, []byte(text), 0o600); err != nil { // a new file each time, whatever the clock says
				t.Fatal(err)
			}
			time.Sleep(2 * lookEvery)
			synctest.Wait()
		}
		expect := func(level slog.Level, problem string, want ...ambry.SettingsChanged) {
			t.Helper()
			if c.get().Log.Level != level || c.level.Level() != level || !strings.HasPrefix(c.problem(), problem) || problem == "" && c.problem() != "" {
				t.Errorf("the level is %v and %v, the problem %q", c.get().Log.Level, c.level.Level(), c.problem())
			}
			if got := told(); !reflect.DeepEqual(got, want) {
				t.Errorf("told was %+v, want %+v", got, want)
			}
		}
		silent := ambry.SettingsChanged{Section: "config", Fields: []string{}}

		time.Sleep(time.Hour)
		expect(slog.LevelInfo, "")
		write("log: {level: debug}")
		expect(slog.LevelDebug, "", ambry.SettingsChanged{Section: "config", Fields: []string{"log.level"}})
		write("# a comment\nlog: {level: debug}")
		expect(slog.LevelDebug, "")
		write("log: {level: debu")
		expect(slog.LevelDebug, "config.yaml:1: ", silent)
		time.Sleep(time.Hour)
		expect(slog.LevelDebug, "config.yaml:1: ")
		write("log:\n  level: loud")
		expect(slog.LevelDebug, "config.yaml:2: log.level must be", silent)
		write("log: {level: debug}")
		expect(slog.LevelDebug, "", silent)
		write("log: {level: debug}\nmemory: {url: 'http://127.0.0.1:1'}")
		expect(slog.LevelDebug, "", ambry.SettingsChanged{Section: "config", Fields: []string{"memory.url"}, Restart: []string{"memory.url"}})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		expect(slog.LevelInfo, "", ambry.SettingsChanged{Section: "config", Fields: []string{"log.level", "memory.url"}, Restart: []string{"memory.url"}})
	})
}

// A file that is written in pieces is read when it is whole.
func TestConfigWaitsForTheEndOfAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config.yaml")
		c, told := following(t, file)
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, r := range "log: {level: error}" + strings.Repeat(" ", 60) {
			if _, err := f.WriteString(string(r)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(settingsRest / 2)
		}
		if got := told(); got != nil || c.problem() != "" {
			t.Errorf("half a file was told as %+v, %q", got, c.problem())
		}
		time.Sleep(lookEvery + 2*settingsRest)
		synctest.Wait()
		if got := told(); len(got) != 1 || c.get().Log.Level != slog.LevelError {
			t.Errorf("got %v, told was %+v", c.get().Log.Level, got)
		}
	})
}

// The file is a link, as people who keep such files elsewhere have it.
func TestConfigFollowsALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, elsewhere := filepath.Join(t.TempDir(), "config.yaml"), filepath.Join(t.TempDir(), "dotfile")
		if err := os.Symlink(elsewhere, file); err != nil {
			t.Skipf("this system has no links for us: %v", err)
		}
		c, _ := following(t, file)
		if err := os.WriteFile(elsewhere, []byte("log: {level: warn}"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		if c.get().Log.Level != slog.LevelWarn {
			t.Errorf("the level is %v", c.get().Log.Level)
		}
	})
}
