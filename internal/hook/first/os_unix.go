//go:build unix

package first

import (
	"os/signal"
	"syscall"

	"ambry.dev/ambry/internal/hook/door"
)

// dial connects to a port of this machine.
func dial(port int) (door.Conn, error) { return door.Dial(port) }

// outliveReader makes writing to somebody who has gone an error, not our end.
func outliveReader() { signal.Ignore(syscall.SIGPIPE) }
