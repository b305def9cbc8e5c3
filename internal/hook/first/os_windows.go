package first

import (
	"net"
	"strconv"

	"ambry.dev/ambry/internal/hook/door"
)

// dial connects to a port of this machine.
func dial(port int) (door.Conn, error) { return net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port)) }

// outliveReader does nothing: writing to somebody who has gone is an error here.
func outliveReader() {}
