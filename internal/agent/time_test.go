package agent

import (
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	want := time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)
	milli := want.Add(123 * time.Millisecond)
	for _, tt := range []struct {
		name, json string
		want       time.Time
	}{
		{"RFC 3339", `"2026-08-01T10:00:00Z"`, want},
		{"milliseconds", `"2026-08-01T10:00:00.123Z"`, milli},
		{"nanoseconds", `"2026-08-01T10:00:00.123456789Z"`, milli.Add(456789)},
		{"another zone", `"2026-08-01T15:30:00.123+05:30"`, milli},
		{"a zone without colon", `"2026-08-01T15:30:00+0530"`, want},
		{"a space for the T", `"2026-08-01 10:00:00.123Z"`, milli},
		{"a space before the zone", `"2026-08-01 12:00:00 +0200"`, want},
		{"no zone", `"2026-08-01T10:00:00.123"`, milli},
		{"no zone and no T", `"2026-08-01 10:00:00"`, want},
		{"no seconds", `"2026-08-01T10:00"`, want},
		{"no seconds but a zone", `"2026-08-01T10:00Z"`, want},
		{"a day", `"2026-08-01"`, want.Add(-10 * time.Hour)},
		{"white space around", `" 2026-08-01T10:00:00Z\n"`, want},
		{"seconds", `1785578400`, want},
		{"milliseconds since 1970", `1785578400123`, milli},
		{"microseconds since 1970", `1785578400123000`, milli},
		{"nanoseconds since 1970", `1785578400123000000`, milli},
		{"fractional seconds", `1785578400.123`, milli},
		{"fractional milliseconds", `1785578400123.0`, milli},
		{"a text of seconds", `"1785578400"`, want},
		{"a text of milliseconds", `"1785578400123"`, milli},
		{"a text of fractional seconds", `"1785578400.123"`, milli},
		{"an exponent", `1.785578400e9`, want},
		{"the end of time", `"9999-12-31T23:59:59Z"`, time.Time{}},
		{"before there were agents", `"2001-01-01T00:00:00Z"`, time.Time{}},
		{"the beginning of time", `0`, time.Time{}},
		{"negative", `-5`, time.Time{}},
		{"negative float", `-5.5`, time.Time{}},
		{"too large", `1e300`, time.Time{}},
		{"not a time", `"not a time"`, time.Time{}},
		{"NaN as text", `"NaN"`, time.Time{}},
		{"infinite", `"Inf"`, time.Time{}},
		{"empty", `""`, time.Time{}},
		{"null", `null`, time.Time{}},
		{"an object", `{}`, time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got time.Time
			var d Decoder
			d.Decode([]byte(`{"t":`+tt.json+`}`), func(v Value) { got = Time(v.Get("t")) })
			if !got.Equal(tt.want) || got.Location() != time.UTC {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if !Time(Value{}).IsZero() {
		t.Error("an absent value tells a time")
	}
}
