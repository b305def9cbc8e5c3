package supervise_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/supervise"
)

func TestChildBecomesReady(t *testing.T) {
	began := time.Now()
	r := run(t, config("good", hello{Token: "t"}))
	if s := r.State(); s.Health != ambry.HealthStarting && s.Health != ambry.HealthOK {
		t.Errorf("began as %+v", s)
	}
	a := r.ok()
	t.Logf("ready after %v", time.Since(began))
	if s := r.State(); s != (supervise.State{Health: ambry.HealthOK}) {
		t.Errorf("got %+v, want ok without a reason", s)
	}
	r.stop()
	gone(t, a.Addr)
	if _, ok := r.Current(); ok || r.State().Health != ambry.HealthUnavailable {
		t.Errorf("after the stop it is %+v", r.State())
	}
}

func TestSecretsGoThroughThePipeAlone(t *testing.T) {
	secret := strings.Repeat("not-a-token-", 3)
	t.Setenv("AMBRY_MEMORY_TOKEN", secret)
	t.Setenv("SOME_API_KEY", secret)
	a := run(t, config("good", hello{Token: secret})).ok() // its probe shows that the token arrived
	for _, seen := range slices.Concat(a.Args, a.Environ) {
		if strings.Contains(seen, secret) {
			t.Errorf("others can see the secret in %q", seen)
		}
	}
	if !slices.ContainsFunc(a.Environ, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		t.Errorf("the child has no PATH: %q", a.Environ)
	}
}

func TestLongHello(t *testing.T) {
	tell := hello{Token: "t", Payload: strings.Repeat("x", 900_000)}
	if a := run(t, config("good", tell)).ok(); a.Payload != len(tell.Payload) {
		t.Errorf("%d of %d bytes arrived", a.Payload, len(tell.Payload))
	}
}

func TestNewsReachTheNextChild(t *testing.T) {
	cfg := config("good", hello{Token: "t"})
	cfg.Timing.Pace = time.Hour
	r := run(t, cfg)
	first := r.ok()
	if err := r.Tell(hello{Token: "t"}); err != nil {
		t.Fatal(err)
	}
	if got := r.current(); got.Addr != first.Addr {
		t.Error("what is no news has ended the child")
	}
	if err := r.Tell(hello{Token: "t", Payload: "news"}); err != nil {
		t.Fatal(err)
	}
	r.until(ambry.HealthStarting)
	second := r.ok()
	if second.Payload != len("news") || second.Addr == first.Addr {
		t.Errorf("the next child was told %+v", second)
	}
	gone(t, first.Addr)
	if s := r.State(); s.Restarts != 0 {
		t.Errorf("it counts as %d restarts", s.Restarts)
	}
	for i := range 5 { // more than the pace of faults allows at once
		if err := r.Tell(hello{Token: "t", Payload: strings.Repeat("x", i)}); err != nil {
			t.Fatal(err)
		}
		r.until(ambry.HealthStarting)
		if got := r.ok(); got.Payload != i {
			t.Errorf("child %d was told %+v", i, got)
		}
	}
	if err := r.Tell(math.NaN()); err == nil {
		t.Error("what is no JSON is told")
	}
}

func TestFailingChildIsTold(t *testing.T) {
	tests := []struct {
		role   string
		health ambry.HealthState
		reason string
	}{
		{"exits", ambry.HealthUnavailable, "the test child ended before it was ready (exit status 3); it is being started again"},
		{"exits", ambry.HealthFailed, "the test child ended before it was ready (exit status 3), again and again"},
		{"garbage", ambry.HealthFailed, "the test child does not answer as agreed"},
		{"flood", ambry.HealthFailed, "the test child does not answer as agreed"},
		{"stuck", ambry.HealthFailed, "the test child was not ready after 100ms"},
		{"slow", ambry.HealthUnavailable, "the test child was not ready after 100ms"},
		{"dies", ambry.HealthFailed, "the test child ended (exit status 1)"},
		{"refuses", ambry.HealthFailed, "the test child refuses to start: the database is newer"},
	}
	for _, tt := range tests {
		t.Run(tt.role+" "+string(tt.health), func(t *testing.T) {
			t.Parallel()
			cfg := config(tt.role, hello{Payload: strings.Repeat("x", 200_000)}) // more than a pipe holds
			if strings.Contains(tt.reason, "100ms") {
				cfg.Timing.Handshake = 100 * time.Millisecond
			}
			r := run(t, cfg)
			if s := r.until(tt.health); !strings.HasPrefix(s.Reason, tt.reason) {
				t.Errorf("got  %s\nwant %s…", s.Reason, tt.reason)
			}
		})
	}
}

// TestLongStartThatIsTold has a child that is ready long after the handshake, but
// says what it is at.
func TestLongStartThatIsTold(t *testing.T) {
	t.Parallel()
	cfg := config("long", hello{})
	cfg.Timing.Handshake = 2 * time.Second // the child takes three
	r := run(t, cfg)
	if s := r.until(ambry.HealthStarting); !strings.HasPrefix(s.Reason, "the test child counts, ") {
		t.Errorf("while it starts: %+v", s)
	}
	if s := r.until(ambry.HealthOK); s.Restarts != 0 {
		t.Errorf("then: %+v", s)
	}
}

func TestProgramThatDoesNotExist(t *testing.T) {
	cfg := config("good", hello{})
	cfg.Command = filepath.Join(t.TempDir(), "absent")
	s := run(t, cfg).until(ambry.HealthFailed)
	if !strings.Contains(s.Reason, "cannot be started") || strings.Contains(s.Reason, "absent") {
		t.Errorf("got %q, want a reason without a path", s.Reason)
	}
}

func TestComesBackWhenTheCauseIsGone(t *testing.T) {
	cause := filepath.Join(t.TempDir(), "cause")
	if err := os.WriteFile(cause, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, config("sick", hello{Token: "t", Cause: cause}))
	if s := r.until(ambry.HealthFailed); s.Restarts < 2 {
		t.Errorf("failed after %d restarts", s.Restarts)
	}
	if err := os.Remove(cause); err != nil {
		t.Fatal(err)
	}
	r.ok()
}

func TestKilledChildIsReplacedNeverTwoAtOnce(t *testing.T) {
	r := run(t, config("good", hello{Token: "t", Lock: filepath.Join(t.TempDir(), "lock")}))
	for i := range 10 {
		a := r.ok()
		if !a.Alone {
			t.Fatal("two children at once")
		}
		if got := r.State().Restarts; got != i {
			t.Errorf("%d restarts are told, there were %d", got, i)
		}
		p, err := os.FindProcess(a.PID)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTalkingChildDoesNotGetStuck(t *testing.T) {
	r := run(t, config("talks", hello{Token: "t"}))
	a := r.ok()
	r.stop()
	gone(t, a.Addr)
}

func TestDeafChildIsKilled(t *testing.T) {
	cfg := config("deaf", hello{Token: "t"})
	cfg.Timing.Grace = 50 * time.Millisecond
	r := run(t, cfg)
	a := r.ok()
	r.stop()
	gone(t, a.Addr)
}

func TestStopDuringTheStart(t *testing.T) {
	for _, role := range []string{"slow", "stuck", "good", "exits"} {
		for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 40 * time.Millisecond} {
			cfg := config(role, hello{Token: "t"})
			cfg.Timing.Grace = 100 * time.Millisecond
			r := run(t, cfg)
			time.Sleep(after) // any moment will do
			r.stop()          // and the leak check sees what is left
		}
	}
}

func TestHelloThatIsNoJSON(t *testing.T) {
	if _, err := supervise.New(supervise.Config[answer]{Hello: math.NaN()}); err == nil {
		t.Error("got no error")
	}
}
