package ambry

import (
	"strconv"
	"strings"
	"time"
)

// ParseWhen reads a time as people and agents write it: a date (2026-03-01,
// which begins at midnight where now is), an RFC 3339 time, or an age that is
// subtracted from now (90m, 12h, 7d, 3w). An empty text is the zero time.
func ParseWhen(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at, nil
	}
	unit, known := ages[text[len(text)-1]]
	if n, err := strconv.ParseUint(text[:len(text)-1], 10, 16); known && err == nil {
		return now.Add(-time.Duration(n) * unit), nil
	}
	return time.Time{}, InvalidArgument.Errorf("%q is not a time; write 2026-03-01, 2026-03-01T10:00:00Z or an age such as 7d", text)
}

var ages = map[byte]time.Duration{
	'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
}
