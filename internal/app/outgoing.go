package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"

	"ambry.dev/ambry/internal/model"
)

// outgoing makes the connections to what the process calls. Every part that
// calls somebody is given its DialContext; a test of the whole module sees to
// it that nothing else dials. The memory runtime calls nobody.
//
// In local-only mode it connects to this machine alone, asks no name server,
// and ends the connections to other machines that there were.
type outgoing struct {
	localOnly func() bool       // asked by refresh
	ownPort   func(uint16) bool // whether one of our own processes listens there; nil if none does

	mu      sync.Mutex // guards what follows
	local   bool
	outside map[*outsideConn]struct{} // open connections to other machines
}

// newOutgoing returns an outgoing in the mode that localOnly says now.
func newOutgoing(localOnly func() bool) *outgoing {
	o := &outgoing{localOnly: localOnly, outside: map[*outsideConn]struct{}{}}
	o.refresh()
	return o
}

// errLocalOnly is the error of a connection that local-only mode forbids.
var errLocalOnly = errors.New("local-only mode is on: no other machine is called")

// refresh asks for the mode anew. Once it has returned, the mode holds for
// connections old and new. It asks under the lock, so that of two calls the
// later answer stays.
func (o *outgoing) refresh() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.local = o.localOnly()
	if !o.local {
		return
	}
	for c := range o.outside {
		_ = c.Conn.Close() // whoever uses it sees the error
	}
	clear(o.outside)
}

// allows reports why a host may not be called now.
func (o *outgoing) allows(host string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.local && len(ownAddresses(host)) == 0 {
		return errLocalOnly
	}
	return nil
}

// ownAddresses returns the loopback addresses that a host stands for, without
// asking anybody. Names other than localhost could mean another machine.
func ownAddresses(host string) []string {
	if strings.EqualFold(host, "localhost") {
		return []string{"127.0.0.1", "::1"}
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		return []string{host}
	}
	return nil
}

// DialContext connects as [net.Dialer.DialContext] does, if that is allowed.
func (o *outgoing) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if err := o.allows(host); err != nil {
		return nil, err
	}
	if hosts := ownAddresses(host); len(hosts) > 0 {
		return dialFirst(ctx, network, hosts, port)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return o.keep(conn)
}

// allowIP reports why an address may not be called.
type allowIP func(netip.Addr) error

// dialModel connects to a model, wherever a person says that it is: so it looks
// at the address that is really called, after a name server has answered, and
// never calls ourselves.
func (o *outgoing) dialModel(ctx context.Context, network, address string, may allowIP) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if err := o.allows(host); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrLocalOnly, err)
	}
	d := net.Dialer{ControlContext: func(_ context.Context, _, dialled string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(dialled)
		if err != nil {
			return err
		}
		if err := may(to.Addr()); err != nil {
			return err
		}
		if o.ownPort != nil && o.ownPort(to.Port()) && ownAddress(to.Addr()) {
			return model.ErrForbidden
		}
		return nil
	}}
	hosts := ownAddresses(host)
	if len(hosts) == 0 {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return o.keep(conn)
	}
	var conn net.Conn
	for _, h := range hosts {
		if conn, err = d.DialContext(ctx, network, net.JoinHostPort(h, port)); err == nil || errors.Is(err, model.ErrForbidden) {
			return conn, err
		}
	}
	return nil, err
}

// ownAddress reports whether an address leads back to this machine.
func ownAddress(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(addresses, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == ip
	})
}

func dialFirst(ctx context.Context, network string, hosts []string, port string) (conn net.Conn, err error) {
	for _, host := range hosts {
		var d net.Dialer
		if conn, err = d.DialContext(ctx, network, net.JoinHostPort(host, port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// keep remembers a connection until it is closed. The mode may have changed
// since it was begun.
func (o *outgoing) keep(conn net.Conn) (net.Conn, error) {
	c := &outsideConn{Conn: conn, of: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.local {
		conn.Close()
		return nil, errLocalOnly
	}
	o.outside[c] = struct{}{}
	return c, nil
}

// outsideConn is a connection to another machine.
type outsideConn struct {
	net.Conn
	of *outgoing
}

// Close closes the connection.
func (c *outsideConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.outside, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
