package supervise

import (
	"errors"
	"io"
	"os/exec"
	"sync"
	"time"
)

// Pipe is a process that is spoken to over its standard input and output, by
// whoever opened it. It ends with us, like every child, and is not started
// again: what it says is not understood here.
type Pipe struct {
	In  io.WriteCloser
	Out io.ReadCloser

	cmd    *exec.Cmd
	group  group
	exited chan struct{}
	err    error // of Wait, once exited is closed
	once   sync.Once
}

// Open starts a command with the environment given. What it writes to its error
// output goes to nobody: it may hold anything. Close it.
func Open(command string, args, env []string, dir string) (*Pipe, error) {
	p := &Pipe{cmd: exec.Command(command, args...), exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir, p.cmd.WaitDelay = env, dir, outputDelay
	p.group.prepare(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of our own: that of exec is closed by Wait, also before it is read.
	out, w := io.Pipe()
	p.cmd.Stdout = w
	p.In, p.Out = in, out
	started := make(chan error, 1)
	go func() {
		release := holdThread()
		defer release()
		if err := p.cmd.Start(); err != nil {
			started <- err
			return
		}
		p.group.adopt(p.cmd)
		started <- nil
		p.err = p.cmd.Wait()
		_ = w.CloseWithError(io.EOF) // never fails
		close(p.exited)
	}()
	if err := <-started; err != nil {
		_ = in.Close() // nothing was started that could miss it
		return nil, err
	}
	return p, nil
}

// Exited is closed when the process has ended.
func (p *Pipe) Exited() <-chan struct{} { return p.exited }

// Ending says how the process ended, "" while it runs.
func (p *Pipe) Ending() string {
	select {
	case <-p.exited:
	default:
		return ""
	}
	if e, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return e.Error()
	}
	return "exit status 0"
}

// Close ends the input of the process, by which it is asked to end, and kills it
// with all that it started if it has not done so within grace. It returns when
// the process is gone.
func (p *Pipe) Close(grace time.Duration) {
	p.once.Do(func() {
		_ = p.In.Close()
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-p.exited:
		case <-late.C:
			p.group.kill(p.cmd)
		}
		_ = p.Out.Close() // a writer that nobody reads would hold up the end
		<-p.exited
		p.group.close()
	})
	<-p.exited
}
