//go:build !linux

package e2e

import "github.com/rogpeppe/go-internal/testscript"

func tty(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("there are no terminals for scripts here")
}
