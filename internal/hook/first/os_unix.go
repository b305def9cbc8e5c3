//go:build unix

package first

import (
	"os"
	"os/signal"
	"syscall"
)

// dial connects to a port of this machine.
func dial(port int) (conn, error) {
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

// outliveReader makes writing to somebody who has gone an error, not our end.
func outliveReader() { signal.Ignore(syscall.SIGPIPE) }
