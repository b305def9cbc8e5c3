package account_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/account"
	"ambry.dev/ambry/internal/account/accounttest"
)

// A real mail server takes the mail and puts it into a real mailbox. It runs with
// a queue of its own, in a mount namespace, so that it meets no other one. TLS and
// passwords are tested in TestWaysToTheMailServer: the TLS of the OpenSMTPD that
// Debian 12 has fails with its OpenSSL.
func TestOpenSMTPD(t *testing.T) {
	box := startOpenSMTPD(t)
	w := newWorld(t)
	w.smtp = account.SMTP{Host: "127.0.0.1", Port: box.port, Security: account.NoTLS, From: "ambry@example.org"}
	for _, locale := range []string{"en", "zh-CN"} {
		if _, err := w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: me, Locale: locale}); err != nil {
			t.Fatal(err)
		}
		raw := box.next(t)
		if !strings.Contains(raw, "To: <"+me+">") || !strings.Contains(raw, "Message-ID:") || !strings.Contains(raw, "Auto-Submitted: auto-generated") {
			t.Errorf("the mailbox has %q", raw)
		}
		if s, err := w.try(me, accounttest.Code(t, raw)); err != nil || s.Profile.Email != me {
			t.Errorf("%+v, %v", s, err)
		}
		w.pass(account.ResendAfter)
	}
	// It says no to whom it does not know; the answer is the same.
	s, err := w.SendCode(t.Context(), ambry.CodeRequest{Channel: "email", Email: "you@elsewhere.example"})
	if err != nil || s.ResendAfterSec != 60 {
		t.Errorf("%+v, %v", s, err)
	}
	w.issuer.Close()
	if last := w.told[len(w.told)-1]; last != "account.delivery_failed" {
		t.Errorf("told %q", w.told)
	}
}

// mailbox is the mailbox of a server.
type mailbox struct {
	port int
	dir  string
	seen map[string]bool
}

func startOpenSMTPD(t *testing.T) *mailbox {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("OpenSMTPD needs root")
	}
	for _, program := range []string{"smtpd", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (scripts/smtpd.sh)", program)
		}
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace can be made here: %s", out)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &mailbox{port: ln.Addr().(*net.TCPAddr).Port, seen: map[string]bool{}}
	ln.Close()
	// The server delivers as somebody else, who has to get there.
	top, err := os.MkdirTemp("", "ambry-smtpd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	b.dir = filepath.Join(top, "box")
	config := filepath.Join(top, "smtpd.conf")
	text := fmt.Sprintf(`listen on 127.0.0.1 port %d hostname test.example.org
table boxes { %q = nobody }
action "keep" maildir %q virtual <boxes>
match from local for domain "example.org" action "keep"
`, b.port, me, b.dir)
	for _, err := range []error{
		os.Mkdir(b.dir, 0o700), os.WriteFile(config, []byte(text), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	const script = `mount -t tmpfs -o mode=755 tmpfs /var/spool && mount -t tmpfs -o mode=755 tmpfs /run && exec smtpd -d -f "$0"`
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "sh", "-c", script, config)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait(); cancel() }()
	t.Cleanup(func() {
		_ = cmd.Cancel() // it may have ended
		<-ended
	})
	b.await(ctx, t, "the server answers", func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.port)))
		if err != nil {
			return false
		}
		defer conn.Close()
		greeting := make([]byte, 3)
		n, _ := conn.Read(greeting)
		return string(greeting[:n]) == "220"
	})
	return b
}

// await waits for something that another process does.
func (b *mailbox) await(ctx context.Context, t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// next returns the next mail in the mailbox.
func (b *mailbox) next(t *testing.T) (raw string) {
	t.Helper()
	b.await(t.Context(), t, "a mail is delivered", func() bool {
		files, err := os.ReadDir(filepath.Join(b.dir, "new"))
		if err != nil {
			return false // nothing was delivered yet
		}
		for _, f := range files {
			if b.seen[f.Name()] {
				continue
			}
			data, err := os.ReadFile(filepath.Join(b.dir, "new", f.Name()))
			b.seen[f.Name()], raw = true, string(data)
			return err == nil
		}
		return false
	})
	return raw
}
