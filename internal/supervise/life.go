package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"ambry.dev/ambry"
)

// outputDelay is how long to wait, after a child has ended, for a process that
// it left behind to let go of its output.
const outputDelay = time.Second

// live runs one child from its start to its end. The child is gone when it
// returns, with the reason.
func (s *Supervisor[A]) live(ctx context.Context) error {
	alive, died := context.WithCancel(ctx)
	defer died()
	began := time.Now()
	c, err := s.start(died)
	if err != nil {
		return &fault{why: "cannot be started", cause: err}
	}
	answer, err := s.greet(ctx, c)
	if err == nil {
		s.cfg.Log.Info("child process is ready", "child", s.cfg.Name, "pid", c.cmd.Process.Pid, "took", time.Since(began).Round(time.Millisecond))
		err = s.watch(alive, c, answer)
	}
	if ctx.Err() != nil {
		c.stop(s.cfg.Timing.Grace)
		return ctx.Err()
	}
	c.kill()
	return err
}

// child is a process and the two goroutines that serve it.
type child struct {
	cmd    *exec.Cmd
	group  group
	stdin  io.Closer
	says   *sayings
	exited chan struct{} // closed when the process is gone and err is set
	err    error
	served sync.WaitGroup
}

// start starts a child and tells it what it has to know. died is called when it
// is gone.
func (s *Supervisor[A]) start(died func()) (*child, error) {
	c := &child{
		cmd:    exec.Command(s.cfg.Command, s.cfg.Args...),
		says:   newSayings(),
		exited: make(chan struct{}),
	}
	c.cmd.Env = s.cfg.Env
	c.cmd.Stderr = s.cfg.Stderr
	c.cmd.Stdout = c.says
	c.cmd.WaitDelay = outputDelay
	c.group.prepare(c.cmd)
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.group.adopt(c.cmd)
	c.served.Go(func() {
		c.err = c.cmd.Wait()
		close(c.exited)
		died()
	})
	hello := s.told()
	c.served.Go(func() {
		// A child that does not take this gives no answer either.
		_, _ = stdin.Write(hello)
	})
	return c, nil
}

// greet waits for the answer of a child, for as long as it goes on to say what it
// is at.
func (s *Supervisor[A]) greet(ctx context.Context, c *child) (answer A, err error) {
	late := time.NewTimer(s.cfg.Timing.Handshake)
	defer late.Stop()
	for waiting := true; waiting; {
		select {
		case line := <-c.says.answer:
			return decode[A](line)
		case line := <-c.says.working:
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				return answer, &fault{why: "does not answer as agreed"}
			}
			late.Reset(s.cfg.Timing.Handshake)
			s.set(ambry.HealthStarting, s.reason(m.Working))
		case <-c.exited:
			waiting = false
		case <-late.C:
			return answer, &fault{why: fmt.Sprintf("was not ready after %v", s.cfg.Timing.Handshake)}
		case <-ctx.Done():
			return answer, ctx.Err()
		}
	}
	select {
	case line := <-c.says.answer: // it answered and ended at once
		return decode[A](line)
	default:
		return answer, &fault{why: "ended before it was ready (" + c.ending() + ")"}
	}
}

// decode reads the line by which a child answers.
func decode[A any](line []byte) (answer A, err error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil || (m.Answer == nil) == (m.Refusal == "") {
		return answer, &fault{why: "does not answer as agreed"}
	}
	if m.Refusal != "" {
		return answer, &fault{why: m.Refusal, refusal: true}
	}
	if err := json.Unmarshal(m.Answer, &answer); err != nil {
		return answer, &fault{why: "does not answer as agreed"}
	}
	return answer, nil
}

// watch probes a child that has answered until it ends, hangs or is no longer
// wanted.
func (s *Supervisor[A]) watch(alive context.Context, c *child, answer A) error {
	failures := 0
	for {
		err := s.probe(alive, answer)
		if alive.Err() != nil {
			break
		}
		if err == nil {
			failures = 0
			s.setOK(answer)
		} else {
			failures++
			s.cfg.Log.Warn("child process fails its probe", "child", s.cfg.Name, "err", err, "times", failures)
		}
		if failures >= probesToKill {
			return &fault{why: "stopped responding", cause: err}
		}
		if failures >= probesToUnavailable {
			s.set(ambry.HealthUnavailable, s.reason("does not respond; it is replaced if that goes on"))
		}
		wait := s.cfg.Timing.ProbeEvery
		if failures > 0 {
			wait = s.cfg.Timing.ProbeAgain
		}
		if !pause(alive, wait) {
			break
		}
	}
	select {
	case <-c.exited:
		return &fault{why: "ended (" + c.ending() + ")"}
	default:
		return alive.Err()
	}
}

func (s *Supervisor[A]) probe(alive context.Context, answer A) error {
	ctx, cancel := context.WithTimeout(alive, s.cfg.Timing.ProbeTimeout)
	defer cancel()
	return s.cfg.Probe(ctx, answer)
}

// ending says how a child ended. Call it when it has.
func (c *child) ending() string {
	if e, ok := errors.AsType[*exec.ExitError](c.err); ok {
		return e.Error()
	}
	return "exit status 0"
}

// stop ends the input of the child, by which it is asked to end, and kills it
// if it has not done so within grace.
func (c *child) stop(grace time.Duration) {
	_ = c.stdin.Close()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-c.exited:
	case <-late.C:
	}
	c.kill()
}

// kill returns when the child is gone.
func (c *child) kill() {
	select {
	case <-c.exited:
	default:
		c.group.kill(c.cmd)
	}
	c.served.Wait()
	c.group.close()
}
