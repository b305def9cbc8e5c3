//go:build unix

package door

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A process of a hook ends while this is set, if the service answers.
var left = atOnce()

// Rest returns what the door has left to do. Its input can be read once.
func Rest() Left { return left }

// atOnce has the service answer and ends the process, if it is one of a hook.
func atOnce() Left {
	h, ok := of(os.Args, os.Getenv)
	if !ok {
		return Left{In: os.Stdin}
	}
	// It is done soon, and an agent that ends it need not know why.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	out, answered, left := h.knock(os.Stdin)
	if !answered {
		return left
	}
	_, _ = os.Stdout.WriteString(out) // an agent that does not listen needs no answer
	os.Exit(0)
	return Left{}
}

// knock has the service answer, if there is one.
func (h hook) knock(from io.Reader) (out string, answered bool, left Left) {
	s, ok := h.find()
	// Its address may be somebody else's by now, who must not be told the prompt.
	if !ok || !alive(s.pid) {
		return "", false, Left{In: from}
	}
	in, at := listen(from), time.Now()
	left.In, left.At = in, at
	said, ok := in.said(at.Add(h.patience))
	if !ok {
		return "", false, left
	}
	c, err := Dial(s.port)
	if err != nil {
		return "", false, left
	}
	defer c.Close()
	out, answered, left.Slow = h.ask(c, s, said, at)
	return out, answered, left
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Dial connects to a port of this machine.
func Dial(port int) (*os.File, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	syscall.CloseOnExec(fd)
	err = syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = syscall.SetNonblock(fd, true) // so that it can have a deadline
	}
	if err != nil {
		_ = syscall.Close(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	return os.NewFile(uintptr(fd), "service"), nil
}
