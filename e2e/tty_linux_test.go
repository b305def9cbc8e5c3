package e2e

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// tty runs a command with its output and errors on a terminal, and says what
// came there, with escapes written as ␛.
func tty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tty command [args...]")
	}
	screen, terminal, err := openTerminal()
	ts.Check(err)
	defer screen.Close()
	cmd := command(ts, args[0], args[1:]...)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdout, cmd.Stderr = terminal, terminal
	err = cmd.Start()
	terminal.Close()
	ts.Check(err)
	shown, err := io.ReadAll(screen)
	if err != nil && !isHangup(err) {
		ts.Check(err)
	}
	for _, r := range string(shown) {
		switch r {
		case '\x1b':
			r = '␛'
		case '\r':
			continue
		}
		fmt.Fprintf(ts.Stdout(), "%c", r)
	}
	ts.Check(cmd.Wait())
}

// isHangup tells the end of what a terminal shows, which is an error of its own.
func isHangup(err error) bool {
	e, ok := err.(*os.PathError)
	return ok && e.Err == syscall.EIO
}

// openTerminal returns both ends of a pseudo terminal, as pty(7) says.
func openTerminal() (screen, terminal *os.File, err error) {
	screen, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100})
	}
	if err != nil {
		screen.Close()
		return nil, nil, err
	}
	return screen, terminal, nil
}
