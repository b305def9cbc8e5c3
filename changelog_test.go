package ambry_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChangelogEntriesBeginAsAgreed looks at the first lines of what is not
// released, see CONTRIBUTING.md.
func TestChangelogEntriesBeginAsAgreed(t *testing.T) {
	entries, err := filepath.Glob("changelog/unreleased/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range entries {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kind, rest, _ := strings.Cut(string(data), ": ")
		if !slices.Contains([]string{"Security", "Fix", "New", "Change"}, kind) || strings.TrimSpace(rest) == "" {
			t.Errorf("%s begins with %q, not with Security, Fix, New or Change", name, strings.SplitN(string(data), "\n", 2)[0])
		}
	}
}
