package redact_test

import (
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry/internal/redact"
)

// hostile makes texts of about n bytes that would take a careless search
// quadratic time.
func hostile(n int) map[string]string {
	of := func(s string) string { return strings.Repeat(s, n/len(s)+1) }
	return map[string]string{
		"one line":          of("x"),
		"backslashes":       of(`\`),
		"quotes":            of(`"`),
		"escaped quotes":    of(`password=\"`),
		"deep quotes":       of(`password=\"password=\\\"`),
		"mixed quotes":      of(`password="password='password=` + "`"),
		"escapes":           of(`\u002d`),
		"slashes":           of(`\/`),
		"sk":                of("sk-"),
		"sk and letters":    "sk-" + of("a-"),
		"gitlab":            of("glpat-"),
		"jwt":               of("eyJ"),
		"jwt and dots":      of("eyJ."),
		"jwt segments":      of("eyJhbGciOiJIUzI1NiJ9."),
		"begin":             of("-----BEGIN PRIVATE KEY-----"),
		"begin and lines":   of("-----BEGIN PRIVATE KEY-----\n\n\n\n"),
		"begin and base64":  "-----BEGIN PRIVATE KEY-----\n" + of("QUJD"),
		"end":               of("-----END PRIVATE KEY-----"),
		"base64 and end":    of("QUJD") + "\n" + of("-----END PRIVATE KEY-----\n"),
		"lines and end":     of(strings.Repeat("QUJD", 16)+"\n") + of("-----END PRIVATE KEY-----\n"),
		"passwords":         of("password="),
		"password colons":   of("password: "),
		"password names":    of("password-"),
		"password gaps":     of("password "),
		"open value":        of(`"password":"a`),
		"urls":              of("://"),
		"urls with colons":  of("://a:"),
		"urls with slashes": of("://a:b/"),
		"curl":              of("curl "),
		"curl flags":        of("curl -u "),
		"cookies":           of("cookie: "),
		"cookie pairs":      "Cookie: " + of("a=b; "),
		"cookie list":       of("cookie=a; "),
		"authorizations":    of("authorization="),
		"bearer and run":    of("authorization: bearer="),
		"azure":             of("0Q~"),
		"signatures":        of("sig="),
		"headers":           of("-----BEGIN PRIVATE KEY-----Version:"),
		"secrets said":      of("password is "),
		"netrc":             of("machine a login b password "),
		"flags":             of("--password --token "),
		"bearers":           of("bearer "),
		"basics":            of("basic QUJD"),
		"broken tokens":     of("ghp_abcd\n"),
		"telegram":          of("1:AA"),
		"hashes":            of("0123456789abcdef-us1"),
		"chinese":           of("密码"),
		"markers":           of("[REDACTED:password]"),
		"open markers":      of("[REDACTED:"),
		"aws":               of("AKIA"),
		"amazon pairs":      of("AKIA" + strings.Repeat("Q", 16) + "," + strings.Repeat("a", 41)),
		"types":             of("password: str = "),
		"yaml blocks":       of("password: |\n"),
		"colours":           of("\x1b[31msk-"),
		"numbers":           of(`{"password":1234567`),
	}
}

// Eight times the text takes about eight times as long. The time of a quadratic
// search would grow to sixty-four times.
func TestTextTakesLinearTime(t *testing.T) {
	const small, times = 64 << 10, 8
	short, long := hostile(small), hostile(times*small)
	for name := range short {
		t.Run(name, func(t *testing.T) {
			if ratio := slower(short[name], long[name], 3*times); ratio > 3*times {
				t.Errorf("%d times the text took %.0f times as long", times, ratio)
			}
		})
	}
}

// slower returns how many times longer than a b takes to redact. It takes the
// least times of several, and tries again while the ratio is above enough: a
// cold cache or the garbage collector makes either seem slow now and then.
func slower(a, b string, enough float64) (ratio float64) {
	leastA, leastB := time.Hour, time.Hour
	for range 12 {
		leastA, leastB = min(leastA, timed(a)), min(leastB, timed(b))
		if ratio = float64(leastB) / float64(leastA); ratio <= enough {
			break
		}
	}
	return ratio
}

// timed returns how long it takes to redact text, measured over a few
// milliseconds.
func timed(text string) time.Duration {
	begin := cpuTime()
	for n := 1; ; n++ {
		redact.Text(text)
		if took := cpuTime() - begin; took > 2*time.Millisecond {
			return took / time.Duration(n)
		}
	}
}
