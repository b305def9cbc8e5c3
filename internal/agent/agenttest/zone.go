package agenttest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// What a history tells must not depend on where it is read. The zone of a
// process is set once, before anything reads the clock, so the other zone is the
// one of a second process: the test binary again, with this test alone.
const (
	zoneHome = "AMBRY_AGENTTEST_ZONE_HOME" // the home to read in the far east
	zoneOut  = "AMBRY_AGENTTEST_ZONE_OUT"  // the file for what was read
)

var _ = func() bool {
	if os.Getenv(zoneHome) != "" {
		time.Local = time.FixedZone("far east", 12*3600+45*60)
	}
	return true
}()

func (s suite) zone(t *testing.T) {
	if home := os.Getenv(zoneHome); home != "" {
		s.home.Dir = home
		if err := os.WriteFile(os.Getenv(zoneOut), s.portraits(t), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "told.json")
	there := exec.CommandContext(t.Context(), self, "-test.run="+only(t.Name()), "-test.count=1")
	there.Env = append(os.Environ(), zoneHome+"="+s.home.Dir, zoneOut+"="+out)
	if said, err := there.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(s.portraits(t)), string(got)); diff != "" {
		t.Errorf("in another time zone it tells something else (-here +there):\n%s", diff)
	}
}

// portraits returns what all sources tell.
func (s suite) portraits(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, src := range s.all(t) {
		all.Write(s.portrait(t, src))
	}
	return all.Bytes()
}

// only is the pattern that matches this test and no other.
func only(name string) string {
	levels := strings.Split(name, "/")
	for i, level := range levels {
		levels[i] = "^" + regexp.QuoteMeta(level) + "$"
	}
	return strings.Join(levels, "/")
}
