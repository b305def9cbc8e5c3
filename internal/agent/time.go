package agent

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"
)

// The times that a history can hold. No coding agent is older, and what is
// later is a mistake: it would be the newest of all for ever.
var (
	earliest = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Time returns the time that a value tells, in UTC: an RFC 3339 text or what
// looks like it, or the time since 1970 as a number or a text of one, in
// seconds, milliseconds, microseconds or nanoseconds. It is zero if the value
// tells none that can be; a reader never makes one up.
func Time(v Value) time.Time {
	if v.v == nil {
		return time.Time{}
	}
	switch v.v.Type() {
	case fastjson.TypeNumber:
		if n, err := v.v.Int64(); err == nil {
			return epoch(n)
		}
		return epochFloat(v.v.GetFloat64())
	case fastjson.TypeString:
		return ParseTime(string(v.v.GetStringBytes()))
	}
	return time.Time{}
}

// ParseTime is [Time] for a text. A time without a zone is taken for UTC.
func ParseTime(s string) time.Time {
	s = strings.TrimSpace(s)
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return plausible(t)
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return epoch(n)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return epochFloat(f)
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return plausible(t)
		}
	}
	return time.Time{}
}

// layouts are how agents write times when it is not RFC 3339. A fraction of a
// second may follow the seconds in any of them.
var layouts = []string{
	"2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700",
	"2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05 Z0700", "2006-01-02 15:04:05 MST", "2006-01-02 15:04",
	"2006-01-02",
}

// epoch tells the unit of a time since 1970 by its size: 1e11 seconds are in
// the year 5138, 1e11 milliseconds in 1973.
func epoch(n int64) time.Time {
	switch {
	case n < 1e11:
		return plausible(time.Unix(n, 0))
	case n < 1e14:
		return plausible(time.UnixMilli(n))
	case n < 1e17:
		return plausible(time.UnixMicro(n))
	}
	return plausible(time.Unix(0, n))
}

func epochFloat(f float64) time.Time {
	unit := 1.0
	switch {
	case math.IsNaN(f) || f < 0 || f >= 1e19:
		return time.Time{}
	case f >= 1e17:
		unit = 1e9
	case f >= 1e14:
		unit = 1e6
	case f >= 1e11:
		unit = 1e3
	}
	seconds, rest := math.Modf(f / unit)
	return plausible(time.Unix(int64(seconds), int64(math.Round(rest*1e6))*1e3))
}

func plausible(t time.Time) time.Time {
	if t.Before(earliest) || !t.Before(latest) {
		return time.Time{}
	}
	return t.UTC()
}
