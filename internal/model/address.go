package model

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Address is where a model is: scheme, host and port, in one spelling. A key
// belongs to an address.
type Address struct{ Scheme, Host, Port string }

// ParseAddress returns the address of a base URL, or says for people why it is
// none that may be called. What a name means is found out only when it is
// called; see [MayCall].
func ParseAddress(base string) (Address, error) {
	if strings.ContainsFunc(base, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return Address{}, errors.New("an address has no spaces or control characters")
	}
	u, err := url.Parse(base)
	if err != nil {
		return Address{}, errors.New("must be an address such as https://api.example.com/v1")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "":
		return Address{}, errors.New("must begin with https:// or http://")
	case u.Hostname() == "":
		return Address{}, errors.New("must name a host")
	case u.User != nil:
		return Address{}, errors.New("must not have a user or password; the key has a field of its own")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(base, "#"):
		return Address{}, errors.New("must not have a query or fragment")
	}
	a := Address{u.Scheme, strings.ToLower(u.Hostname()), u.Port()}
	if a.Port == "" {
		a.Port = map[string]string{"http": "80", "https": "443"}[a.Scheme]
	}
	if n, err := strconv.Atoi(a.Port); err != nil || n < 1 || n > 65535 {
		return Address{}, errors.New("must have a port of 1 to 65535")
	}
	return a, a.checkHost()
}

// metadata are names under which the computers of clouds give away keys.
var metadata = []string{"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}

func (a Address) checkHost() error {
	host := strings.TrimRight(a.Host, ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		if MayCall(ip) != nil {
			return errors.New(string(Forbidden))
		}
		return nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case host == "":
		return errors.New("must name a host")
	case slices.Contains(metadata, host):
		return errors.New(string(Forbidden))
	case strings.ContainsRune(host, '%'), numeric(last):
		// 2852039166, 0xA9FEA9FE and 169.254.43518 are IPs to some programs.
		return errors.New("must write an IP address as four numbers, or as IPv6 in brackets")
	}
	return nil
}

// numeric reports whether the last part of a host makes it an IP address to
// browsers.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label = hex
		return strings.Trim(label, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// never are addresses that no model has: those of this network link and of
// groups, those that mean nobody, and where clouds give away keys.
var never = prefixes("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.0/24",
	"::/128", "fe80::/10", "fec0::/10", "ff00::/8", "fd00:ec2::/32", "fd20:ce::/32")

// within are ranges of IPv6 that hold an address of IPv4, at a byte.
var within = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("::/96"), 12},
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, t := range texts {
		all = append(all, netip.MustParsePrefix(t))
	}
	return all
}

// MayCall reports why an IP address may never be called, nil if it may.
func MayCall(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	for _, p := range never {
		if p.Contains(ip) {
			return ErrForbidden
		}
	}
	if !ip.Is6() || ip.IsLoopback() {
		return nil
	}
	for _, w := range within {
		if b := ip.As16(); w.prefix.Contains(ip) {
			return MayCall(netip.AddrFrom4([4]byte(b[w.at : w.at+4])))
		}
	}
	return nil
}

// own are networks of this machine and those around it: loopback, private, and
// what carriers and virtual private networks give out.
var own = prefixes("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7")

// MayCallPlain reports why an IP address may not be called without encryption,
// nil if it may: texts and keys do not cross the internet in the open.
func MayCallPlain(ip netip.Addr) error {
	if err := MayCall(ip); err != nil {
		return err
	}
	ip = ip.Unmap().WithZone("")
	if slices.ContainsFunc(own, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return nil
	}
	return ErrForbidden
}
