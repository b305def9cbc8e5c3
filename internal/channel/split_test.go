package channel_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ambry.dev/ambry/internal/channel"
)

func TestSplitPrefersParagraphsThenLinesThenSpaces(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  []string
	}{
		{"", 10, nil},
		{" \n ", 10, nil},
		{"short", 10, []string{"short"}},
		{"one two\n\nthree four", 12, []string{"one two", "three four"}},
		{"one two\nthree four", 12, []string{"one two", "three four"}},
		{"one two three", 9, []string{"one two", "three"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"记忆记忆", 7, []string{"记忆", "记忆"}},
		{"记", 1, []string{"记"}},
	} {
		if got := channel.Split(tt.text, tt.limit, channel.Bytes); !slices.Equal(got, tt.want) {
			t.Errorf("Split(%q, %d) = %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}

func TestUnitsCountsAsUTF16(t *testing.T) {
	if got := channel.Units("a记😀"); got != 4 {
		t.Errorf("Units = %d, want 4", got)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("one two\n\nthree", 5)
	f.Add("😀记忆 a", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(1, limit%500)
		text = strings.ToValidUTF8(text, "")
		for _, size := range []func(string) int{channel.Bytes, channel.Runes, channel.Units} {
			parts := channel.Split(text, limit, size)
			for _, p := range parts {
				if p == "" || !utf8.ValidString(p) || size(p) > limit && utf8.RuneCountInString(p) > 1 {
					t.Fatalf("part %q of %q, limit %d", p, text, limit)
				}
			}
			bare := strings.NewReplacer(" ", "", "\n", "", "\t", "", "\r", "", "\u0085", "", "\u00a0", "", "\u2028", "", "\u2029", "", "\u3000", "", "\v", "", "\f", "")
			if got, want := bare.Replace(strings.Join(parts, "")), bare.Replace(strings.TrimSpace(text)); got != want {
				t.Fatalf("%q became %q", want, got)
			}
		}
	})
}
