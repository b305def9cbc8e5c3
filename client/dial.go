package client

import (
	"context"
	"net"
	"strings"

	"ambry.dev/ambry"
)

// DialContext connects to 127.0.0.1 and to nothing else, for those who speak
// another protocol with the service than this package does.
func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !strings.HasPrefix(address, "127.0.0.1:") {
		return nil, ambry.InvalidArgument.Errorf("the address of a service is 127.0.0.1:PORT")
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}
