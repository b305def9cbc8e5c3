// Command ambry is one memory for all the coding agents of a machine: the
// service, its memory runtime and the command line in one binary. What they do
// is in internal/app and below; here is only how a person asks for it.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker, see Makefile.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// The first signal asks to end in order, a second one ends at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, stdio{os.Stdin, os.Stdout, os.Stderr}))
}

// stdio is where a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// run does what args say and returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, std stdio) int {
	p := &program{stdio: std, getenv: getenv}
	if len(args) > 0 && args[0] == "hook" && p.hookNow(ctx, args[1:]) {
		return exitOK
	}
	root := p.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean those of the process
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	err := root.ExecuteContext(ctx)
	return p.finish(ctx, err)
}
