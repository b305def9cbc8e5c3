// Package e2e runs the built program as people and agents do: each script gets
// a home directory of its own, with the histories that it writes, and the real
// binary, its two processes, files and sockets. What a package does by itself is
// tested there.
package e2e

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ambry.dev/ambry/client"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds the program and puts it in the PATH of the scripts.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ambry-e2e")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "ambry.dev/ambry/cmd/ambry")
	if out, err := build.CombinedOutput(); err != nil {
		log.Printf("build ambry: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		log.Print(err)
		return 1
	}
	return m.Run()
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 ".",
		Setup:               setup,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"say":      say,
			"services": countServices,
			"ready":    ready,
			"until":    until,
			"capture":  capture,
			"signal":   signal,
			"gone":     gone,
			"request":  request,
			"mcp":      mcpSession,
			"shape":    shape,
			"absent":   absent,
			"tty":      tty,
		},
	})
}

// patience is how long a script waits for something that is about to happen. It
// is long because machines that run tests are busy; nothing waits for it to pass.
const patience = time.Minute

// setup gives a script a person's home directory, and takes down at the end
// what it left running.
func setup(env *testscript.Env) error {
	person := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(person, 0o700); err != nil {
		return err
	}
	env.Setenv("HOME", person)
	env.Setenv("USERPROFILE", person)
	env.Setenv("AMBRY", filepath.Join(person, ".ambry"))
	env.Setenv("SECRET", "ghp_"+"0123456789abcdefghijABCDEFGHIJ"+"4aVbGh")
	env.Defer(func() {
		if err := takeDown(env.Getenv("AMBRY"), env.WorkDir); err != nil {
			env.T().Log(err)
			env.T().FailNow()
		}
	})
	return nil
}

// takeDown ends the service of home, if one answers, and then whatever else of
// the script is still running.
func takeDown(home, work string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if c, rt, err := client.Find(ctx, home); err == nil {
		c.Close()
		if err := endProcess(rt.PID); err != nil {
			return fmt.Errorf("end the service of the script: %w", err)
		}
		if err := waitGone(ctx, rt.PID); err != nil {
			return err
		}
	}
	for _, pid := range processesOf(work) {
		if err := killProcess(pid); err != nil {
			return fmt.Errorf("kill a process that the script left: %w", err)
		}
	}
	return nil
}

// poll calls f until it is done.
func poll(ctx context.Context, f func() bool) error {
	for pause := time.Millisecond; !f(); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}
