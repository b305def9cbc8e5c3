package app

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/remote"
)

// The whole service, with a memory runtime that is not on loopback: in
// local-only mode not one connection gets there, and none stays.
func TestLocalOnlyMode(t *testing.T) {
	memory, dir := memoryAt(t, outsideAddress(t)), t.TempDir()
	s := serveIn(t, dir, memory.URL)
	search := func() error {
		_, err := s.Search(t.Context(), ambry.Query{Query: "x"})
		return err
	}
	if err := search(); err != nil {
		t.Fatal(err)
	}
	if b := s.bootstrap(); b.Health.Memory != ambry.HealthOK || memory.connections.Load() == 0 {
		t.Fatalf("the memory elsewhere is not used: %+v", b.Health)
	}

	forbidden := func() {
		t.Helper()
		s.eventually("no connection is left", func() bool { return memory.open.Load() == 0 })
		before := memory.connections.Load()
		for range 3 {
			if err := search(); ambry.KindOf(err) != ambry.MemoryUnavailable || !strings.Contains(err.Error(), "local-only mode") {
				t.Errorf("a search answers %v", err)
			}
			if h := s.bootstrap().Health; h.Memory != ambry.HealthUnavailable || !strings.Contains(h.MemoryReason, "local-only mode") {
				t.Errorf("health is %+v", h)
			}
		}
		say(t, dir, "is this sent?")
		if _, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{ScanPermission: ptr(ambry.PermissionScan)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Scan(t.Context(), ambry.ScanRequest{Mode: ambry.Full}); err != nil {
			t.Fatal(err)
		}
		s.eventually("a scan has something for the memory", func() bool {
			st, err := s.ScanStatus(t.Context())
			return err == nil && st.Progress != nil
		})
		if err := s.StopScan(t.Context()); err != nil {
			t.Error(err)
		}
		if n := memory.connections.Load() - before; n != 0 || memory.imports.Load() != 0 {
			t.Errorf("%d connections were made", n)
		}
	}
	if v, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{LocalOnlyMode: ptr(true)}); err != nil || !v.LocalOnlyMode {
		t.Fatalf("got %+v, %v", v, err)
	}
	forbidden()
	s.stop()
	s = serveIn(t, dir, memory.URL)
	forbidden()

	if _, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{LocalOnlyMode: ptr(false)}); err != nil {
		t.Fatal(err)
	}
	if err := search(); err != nil {
		t.Errorf("after the mode was left: %v", err)
	}
}

// The lock is in the dialer: whoever calls without asking first gets no further.
func TestTheDialerItselfRefuses(t *testing.T) {
	memory := memoryAt(t, outsideAddress(t))
	base, err := url.Parse(memory.URL)
	if err != nil {
		t.Fatal(err)
	}
	local := true
	o := newOutgoing(func() bool { return local })
	c := remote.New(func() (*url.URL, string, error) { return base, "t", nil }, o.DialContext)
	defer c.Close()
	if _, err := c.Status(t.Context()); ambry.KindOf(err) != ambry.MemoryUnavailable || memory.connections.Load() != 0 {
		t.Errorf("got %v, and %d connections", err, memory.connections.Load())
	}
	local = false
	o.refresh()
	if _, err := c.Status(t.Context()); err != nil || memory.connections.Load() != 1 {
		t.Errorf("got %v, and %d connections", err, memory.connections.Load())
	}
}

// A memory runtime on this machine is used all the same.
func TestLocalOnlyModeLeavesThisMachine(t *testing.T) {
	memory := memoryAt(t, "127.0.0.1")
	s := serveIn(t, t.TempDir(), strings.Replace(memory.URL, "127.0.0.1", "localhost", 1))
	if _, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{LocalOnlyMode: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Search(t.Context(), ambry.Query{Query: "x"}); err != nil {
		t.Error(err)
	}
	if h := s.bootstrap().Health; h.Memory != ambry.HealthOK {
		t.Errorf("health is %+v", h)
	}
}

func TestOnlyLoopbackIsThisMachine(t *testing.T) {
	local := newOutgoing(func() bool { return true })
	for _, host := range []string{"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "localhost", "LocalHost"} {
		if err := local.allows(host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{
		"", "example.org", "localhost.example.org", "a.localhost", "localhost.", "0.0.0.0", "::", "192.168.1.1", "10.0.0.1", "169.254.169.254",
		"fe80::1%eth0", "::ffff:10.0.0.1", "127.1", "2130706433", "0x7f000001", "127.0.0.1.nip.io", " 127.0.0.1", "128.0.0.1",
	} {
		if err := local.allows(host); err == nil {
			t.Errorf("%q passes for this machine", host)
		}
		if _, err := local.DialContext(t.Context(), "tcp", net.JoinHostPort(host, "9")); !errors.Is(err, errLocalOnly) {
			t.Errorf("%q is dialled: %v", host, err)
		}
	}
}

// The mode changes while a connection is being made.
func TestConnectionThatComesTooLate(t *testing.T) {
	mode := false
	o := newOutgoing(func() bool { return mode })
	here, there := net.Pipe()
	defer there.Close()
	mode = true
	o.refresh()
	if _, err := o.keep(here); !errors.Is(err, errLocalOnly) {
		t.Errorf("got %v", err)
	}
	if _, err := here.Write([]byte("x")); err == nil {
		t.Error("the connection is open")
	}
}

// What was closed is not remembered.
func TestConnectionsAreForgotten(t *testing.T) {
	o := newOutgoing(func() bool { return false })
	for range 3 {
		here, there := net.Pipe()
		c, err := o.keep(here)
		if err != nil || len(o.outside) != 1 {
			t.Fatalf("%d are remembered, %v", len(o.outside), err)
		}
		c.Close()
		there.Close()
	}
	if len(o.outside) != 0 {
		t.Errorf("%d are remembered", len(o.outside))
	}
}
