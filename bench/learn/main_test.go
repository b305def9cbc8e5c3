package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/engine"
)

func TestNineOfTenJudgedAreUseful(t *testing.T) {
	f, err := os.Open("judged.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	if err := count(f, &out); err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(strings.SplitN(out.String(), "\n", 2)[0]) // all N of M useful
	useful, err := strconv.Atoi(all[1])
	if err != nil {
		t.Fatal(err)
	}
	judged, err := strconv.Atoi(all[3])
	if err != nil {
		t.Fatal(err)
	}
	if judged < 200 || 10*useful < 9*judged {
		t.Errorf("%s", &out)
	}
}

func TestAnotherVerdictIsRefused(t *testing.T) {
	if err := count(strings.NewReader("maybe\thome\trule\ttitle\n"), &bytes.Buffer{}); err == nil {
		t.Error("it was counted")
	}
}

// The corpora are invented for this purpose; see docs/learning-precision.md for how
// they came about, and for the numbers of before.
func TestWhatIsPlantedIsFoundAndAllThatIsFoundIsJudged(t *testing.T) {
	verdicts := judgedRows(t)
	for name, floor := range map[string]int{"first": 65, "second": 40} { // percent
		t.Run(name, func(t *testing.T) {
			sessions, plants, err := everything(filepath.Join("corpus", name))
			if err != nil {
				t.Fatal(err)
			}
			rows, _, err := learned(t.Context(), name, func(ctx context.Context, e *engine.Engine) (ambry.Imported, error) { return fill(ctx, e, sessions) })
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if !verdicts[strings.Join([]string{name, string(r.rule), r.title}, "\t")] {
					t.Errorf("nobody has judged %s: %s", r.rule, r.title)
				}
			}
			found, all := 0, 0
			for _, h := range recalled(plants, rows) {
				found, all = found+h.found, all+h.planted
			}
			if 100*found < floor*all {
				t.Errorf("found %d of %d, want %d %%", found, all, floor)
			}
		})
	}
}

func judgedRows(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("judged.tsv")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(strings.TrimRight(line, "\n"), "\t"); len(f) >= 4 {
			out[strings.Join(f[1:4], "\t")] = true
		}
	}
	return out
}

func TestALineThatDoesNotBelongIsRefused(t *testing.T) {
	for _, text := range []string{"U: too early", "== a claude p 2026-01-01\nA: nobody asked", "== a claude p", "== a claude p 2026-01-01\nU: hi\n+wish x", "== a claude p 2026-01-01\nU: hi\n< no command"} {
		var r reader
		var err error
		for line := range strings.Lines(text) {
			if err = r.line(strings.TrimRight(line, "\n")); err != nil {
				break
			}
		}
		if err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
