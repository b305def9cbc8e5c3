// Package first answers a hook that the running service did not answer (see package
// door), before the rest of the program is made ready: what all of Ambry sets up
// when a process of it begins takes longer than the hook itself. Go initialises a package as soon as those that it imports are, and of
// several the one whose path sorts first. This one imports little, so it has its
// turn before most of what is heavy has, and a process of a hook ends there. That
// it imports little is therefore its purpose: neither net nor net/http, and of
// ours only what is below it. See docs/adr/0025.
package first

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/hook"
	"ambry.dev/ambry/internal/hook/door"
)

// A process of a hook ends while this is set.
var _ = atOnce()

// atOnce answers and ends the process, if it is one of a hook.
func atOnce() struct{} {
	if len(os.Args) < 2 || os.Args[1] != "hook" {
		return struct{}{}
	}
	// It is done soon, and an agent that ends it need not know why.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	rest := door.Rest()
	if Answer(context.Background(), os.Args[2:], Process{Getenv: os.Getenv, In: rest.In, Out: os.Stdout, Err: os.Stderr, Slow: rest.Slow, At: rest.At}) {
		os.Exit(0)
	}
	return struct{}{}
}

// Process is what a hook sees of the process that it runs in.
type Process struct {
	Home   string // the directory of our files, if a flag before the command says so
	Getenv func(string) string
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Wait   time.Duration // how long an agent waits at most; 0 is what is good for it
	Slow   bool          // the service was waited for long enough; it is not asked again
	At     time.Time     // when the service was told of the hook, if it was
}

// Answer answers the hook that args name, after "hook", and reports whether it
// did. It does not when help is asked for.
func Answer(ctx context.Context, args []string, p Process) bool {
	args, explain, help := p.flags(args)
	if help {
		return false
	}
	p.answer(ctx, args, explain)
	return true
}

// flags takes the flags out of the arguments. Those it does not know do not
// matter.
func (p *Process) flags(args []string) (names []string, explain, help bool) {
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		switch {
		case name == "--home" && given:
			p.Home = value
		case name == "--home" && i+1 < len(args):
			i++
			p.Home = args[i]
		case name == "--explain":
			explain = true
		case name == "--help" || name == "-h":
			help = true
		case !strings.HasPrefix(name, "-"):
			names = append(names, name)
		}
	}
	return names, explain, help
}

func (p *Process) answer(ctx context.Context, args []string, explain bool) {
	outliveReader()
	say := func(format string, args ...any) {
		if explain {
			fmt.Fprintf(p.Err, "ambry hook: "+format+"\n", args...)
		}
	}
	dir, err := p.dir()
	if err != nil || len(args) != 2 {
		say("give an agent and an event: ambry hook AGENT EVENT")
		return
	}
	h := hook.Hook{
		Dir: filepath.Join(dir, home.HooksDir), Getenv: p.Getenv, Now: time.Now, Explain: say, Wait: p.Wait,
		Find: func() (hook.Memory, string, error) { return find(dir) },
	}
	if !p.At.IsZero() {
		h.Now = func() time.Time { return p.At } // what both keep is the same then
	}
	if p.Slow {
		h.Find = func() (hook.Memory, string, error) {
			_, instance, err := find(dir)
			return slow{}, instance, err
		}
	}
	if out := h.Answer(ctx, args[0], args[1], p.In); len(out) > 0 {
		_, _ = p.Out.Write(out) // an agent that does not listen needs no answer
	}
}

func (p *Process) dir() (string, error) {
	getenv := p.Getenv
	if p.Home != "" {
		getenv = func(string) string { return p.Home }
	}
	return home.Default(getenv, os.UserHomeDir)
}

// find returns the service whose files are in dir.
func find(dir string) (hook.Memory, string, error) {
	data, err := os.ReadFile(filepath.Join(dir, ambry.RuntimeFileName))
	if err != nil {
		return nil, "", errGone
	}
	rt, err := ambry.ParseRuntimeFile(data)
	if err != nil {
		return nil, "", errGone
	}
	// Its address may be somebody else's by now, who must not be told the prompt.
	if !home.Alive(rt.PID) {
		return nil, "", errGone
	}
	s, err := newService(rt.BaseURL, rt.LocalToken)
	return s, hook.Instance(rt.PID, rt.StartedAt), err
}

// slow is a service that did not answer in time.
type slow struct{}

func (slow) Search(context.Context, ambry.Query) (ambry.Answer, error) {
	return ambry.Answer{}, context.DeadlineExceeded
}

func (slow) Sessions(context.Context, ambry.SessionsQuery) (ambry.Sessions, error) {
	return ambry.Sessions{}, context.DeadlineExceeded
}
