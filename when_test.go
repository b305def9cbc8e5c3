package ambry_test

import (
	"testing"
	"time"

	"ambry.dev/ambry"
)

func TestParseWhen(t *testing.T) {
	zone := time.FixedZone("", 2*60*60)
	now := time.Date(2026, 5, 10, 12, 0, 0, 0, zone)
	tests := []struct {
		text string
		want time.Time
	}{
		{"", time.Time{}},
		{" 2026-03-01 ", time.Date(2026, 3, 1, 0, 0, 0, 0, zone)},
		{"2026-03-01T10:00:00Z", time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)},
		{"2026-03-01T10:00:00.5+01:00", time.Date(2026, 3, 1, 9, 0, 0, 500_000_000, time.UTC)},
		{"90m", now.Add(-90 * time.Minute)},
		{"12h", now.Add(-12 * time.Hour)},
		{"7d", now.Add(-7 * 24 * time.Hour)},
		{"3w", now.Add(-21 * 24 * time.Hour)},
	}
	for _, tt := range tests {
		got, err := ambry.ParseWhen(tt.text, now)
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("%q: got %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"yesterday", "7", "d", "-7d", "7y", "1.5h", "99999999999d", "2026-13-01", "2026-02-30", "7 d", "日"} {
		if got, err := ambry.ParseWhen(text, now); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
