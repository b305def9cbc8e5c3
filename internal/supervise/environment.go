package supervise

import (
	"runtime"
	"strings"
)

// passed are the variables that a child may need: where things are, which
// language and time zone, and how the Go runtime behaves. Tokens and keys, which
// people keep in their environment too, stay with us.
var passed = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "TMPDIR": true, "LANG": true, "TZ": true, "ZONEINFO": true,
	"SSL_CERT_FILE": true, "SSL_CERT_DIR": true,
	"GODEBUG": true, "GOGC": true, "GOMEMLIMIT": true, "GOMAXPROCS": true, "GOTRACEBACK": true, "GORACE": true, "GOCOVERDIR": true,
	// Windows
	"SYSTEMROOT": true, "WINDIR": true, "USERPROFILE": true, "APPDATA": true, "LOCALAPPDATA": true, "TEMP": true, "TMP": true,
}

// Environment returns those of the given variables that a child may have.
func Environment(environ []string) []string {
	kept := []string{}
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if passed[name] || strings.HasPrefix(name, "LC_") {
			kept = append(kept, v)
		}
	}
	return kept
}
