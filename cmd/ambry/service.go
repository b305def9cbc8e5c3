package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/home"
)

// startWait is how long a service may take to answer after it was started. It
// is far below a second on a machine that is not busy.
const startWait = 10 * time.Second

// maxStartLog is the size above which the file of what services print is begun
// anew. They print next to nothing, their logs are files of their own.
const maxStartLog = 1 << 20

// connect returns a client of the running service. It starts one if none runs.
func (p *program) connect(ctx context.Context) (*client.Client, error) {
	dir, err := p.home()
	if err != nil {
		return nil, err
	}
	c, _, err := client.Find(ctx, dir)
	if errors.Is(err, client.ErrNotRunning) {
		return p.start(ctx, dir)
	}
	return c, err
}

// start starts a service that outlives us and returns a client of it. When two
// programs do this at once, the lock of the home decides which service stays,
// and both find that one.
func (p *program) start(ctx context.Context, dir string) (*client.Client, error) {
	h, err := home.Open(dir)
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	printed, begin, err := openStartLog(filepath.Join(h.Logs(), "serve.log"))
	if err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	defer printed.Close()
	launch := func() (<-chan error, error) {
		cmd := exec.Command(exe, "serve", "--home", h.Dir())
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = h.Dir(), printed, printed, detached()
		if err := cmd.Start(); err != nil {
			return nil, fmt.Errorf("start the service: %w", err)
		}
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }() // ends with the service, or with us
		return exited, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startWait, errSlowStart)
	defer cancel()
	return waitForStart(ctx, h.Dir(), launch, func() error { return refusal(printed, begin) })
}

var errSlowStart = fmt.Errorf("the service does not answer after %v", startWait)

// waitForStart launches a service and polls until one answers. One that exits
// without an error leaves the home to another, which is about to answer; or it is
// about to end, and then the next one that is launched has the home.
func waitForStart(ctx context.Context, dir string, launch func() (<-chan error, error), why func() error) (*client.Client, error) {
	exited, err := launch()
	for pause := 2 * time.Millisecond; err == nil; pause = min(2*pause, 100*time.Millisecond) {
		if c, _, err := client.Find(ctx, dir); err == nil {
			return c, nil
		}
		select {
		case failed := <-exited:
			if failed != nil {
				return nil, why()
			}
			exited, err = launch()
		case <-time.After(pause):
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, errSlowStart) {
				return nil, withHint(cause, `"ambry doctor" looks for the cause`)
			}
			return nil, ctx.Err()
		}
	}
	return nil, err
}

// openStartLog opens the file that takes what services print, and says where
// what is printed from now on begins.
func openStartLog(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, 0, err
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil && end > maxStartLog {
		end, err = 0, f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, end, nil
}

// maxRefusal is how many lines of a service that does not start are repeated. A
// crash has more, and they are in the file.
const maxRefusal = 12

// refusal repeats what a service said before it exited.
func refusal(printed *os.File, begin int64) error {
	said, _ := io.ReadAll(io.NewSectionReader(printed, begin, maxStartLog))
	var message, hints []string
	for line := range strings.Lines(string(said)) {
		text := strings.TrimRight(line, "\r\n")
		if hint, ok := strings.CutPrefix(text, "hint: "); ok {
			hints = append(hints, hint)
		} else if text != "" {
			message = append(message, strings.TrimPrefix(text, "ambry: "))
		}
	}
	if len(message) == 0 {
		return errors.New("the service ended as soon as it was started")
	}
	if len(message) > maxRefusal {
		message = message[:1]
		hints = append(hints, "all that it said is in "+tilde(printed.Name()))
	}
	return hinted{fmt.Errorf("the service does not start: %s", strings.Join(message, "\n")), hints}
}
