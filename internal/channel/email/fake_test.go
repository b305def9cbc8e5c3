package email

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// near is a connection that says it leads to this machine.
type near struct{ net.Conn }

func (near) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 143} }

// fake is an IMAP server of ours, for what Dovecot does not do.
type fake struct {
	can  string // beside the usual
	mute string // a command after which it says nothing more

	mu    sync.Mutex
	mails []string
	asked []string
}

func (f *fake) serve(conn net.Conn) {
	out := make(chan string, 1000) // as a network does, it holds what nobody reads yet
	var writing sync.WaitGroup
	writing.Go(func() {
		for text := range out {
			_, _ = io.WriteString(conn, text) // who reads may have gone
		}
		conn.Close()
	})
	defer writing.Wait()
	defer close(out)
	out <- "* OK [CAPABILITY " + strings.TrimSpace("IMAP4rev1 "+f.can) + "] ready\r\n"
	idle := ""
	for r := bufio.NewScanner(conn); r.Scan(); {
		tag, command, _ := strings.Cut(r.Text(), " ")
		if tag == "DONE" {
			tag, command = idle, "DONE"
		}
		f.mu.Lock()
		f.asked = append(f.asked, strings.Join(strings.Fields(command)[:1], ""))
		mails := f.mails
		f.mu.Unlock()
		if f.mute != "" && strings.HasPrefix(command, f.mute) {
			for r.Scan() {
			}
			return
		}
		switch {
		case strings.HasPrefix(command, "IDLE"):
			idle = tag
			out <- "+ idling\r\n"
			continue
		case strings.HasPrefix(command, "CAPABILITY"):
			out <- "* CAPABILITY " + strings.TrimSpace("IMAP4rev1 "+f.can) + "\r\n"
		case strings.HasPrefix(command, "EXAMINE"):
			out <- fmt.Sprintf("* %d EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n", len(mails))
		case strings.HasPrefix(command, "UID SEARCH"):
			// As servers do, it always finds the last one.
			hits := ""
			for i := range mails {
				if strings.Contains(command, fmt.Sprintf("UID %d:*", i+1)) || i == len(mails)-1 {
					hits += fmt.Sprintf(" %d", i+1)
				}
			}
			out <- "* SEARCH" + hits + "\r\n"
		case strings.HasPrefix(command, "UID FETCH"):
			var n int
			_, _ = fmt.Sscanf(command, "UID FETCH %d", &n) // 0 if it is none
			if n > 0 && n <= len(mails) {
				out <- fmt.Sprintf("* %d FETCH (UID %d INTERNALDATE \"28-Nov-2026 10:00:00 +0000\" BODY[]<0> {%d}\r\n%s)\r\n", n, n, len(mails[n-1]), mails[n-1])
			}
		case strings.HasPrefix(command, "LOGOUT"):
			out <- "* BYE\r\n"
		}
		out <- tag + " OK done\r\n"
	}
}

func (f *fake) add(raw string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mails = append(f.mails, raw)
}

func (f *fake) link(t *testing.T) (l channel.Link, over func()) {
	t.Helper()
	values := good()
	values["imapSecurity"] = "none"
	a := access(t, values)
	var servers sync.WaitGroup
	a.Dial = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		servers.Go(func() { f.serve(theirs) })
		return near{ours}, nil
	}
	l, err := newLink(a)
	if err != nil {
		t.Fatal(err)
	}
	return l, servers.Wait
}

func TestAServerWithoutIDLEIsAskedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.add(string(mailOf(proved+"From: ann@example.net\n", "old\n")))
		l, over := f.link(t)
		h, stop := run(t, l, "")
		<-h.connected
		synctest.Wait()
		start := time.Now()
		f.add(string(mailOf(proved+"From: ann@example.net\n", "new\n")))
		if m := <-h.received; m.Text != "new" || m.ID != "ann@example.net 7:2" || time.Since(start) > 2*askEvery {
			t.Errorf("after %v received %+v", time.Since(start), m.Message)
		}
		time.Sleep(time.Hour)
		f.mu.Lock()
		if n := len(f.asked); n > 150 {
			t.Errorf("in an hour it was asked %d times: %q", n, f.asked[:20])
		}
		f.mu.Unlock()
		if err := stop(); err != nil {
			t.Error(err)
		}
		over()
	})
}

func TestIDLEIsBegunAnewAndEndsWithoutAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{can: "IDLE"}
		l, over := f.link(t)
		h, stop := run(t, l, "")
		<-h.connected
		time.Sleep(time.Hour + time.Minute)
		f.mu.Lock()
		idles := strings.Count(strings.Join(f.asked, " "), "IDLE")
		f.mu.Unlock()
		if idles < 3 || idles > 20 {
			t.Errorf("in an hour it idles %d times", idles)
		}
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > 0 {
			t.Errorf("it ends after %v: %v", time.Since(start), err)
		}
		over()
		if last := f.asked[len(f.asked)-1]; last != "LOGOUT" {
			t.Errorf("at the end it says %s", last)
		}
	})
}

func TestAServerThatSaysNothingMoreIsGivenUp(t *testing.T) {
	for _, mute := range []string{"LOGIN", "EXAMINE", "UID SEARCH", "IDLE", "DONE"} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{can: "IDLE", mute: mute}
			l, over := f.link(t)
			start := time.Now()
			h := &host{connected: make(chan channel.Identity, 10), received: make(chan received, 10)}
			err := l.Run(t.Context(), h)
			if took := time.Since(start); ambry.KindOf(err) != ambry.UpstreamFailed || took > idleFor+2*stepWait {
				t.Errorf("%s: after %v: %v", mute, took, err)
			}
			over()
		})
	}
}

func TestAServerThatSaysTooMuchIsGivenUp(t *testing.T) {
	f := &fake{can: "IDLE"}
	f.add(strings.Repeat("x", maxAnswer+2*maxMail))
	l, over := f.link(t)
	h := &host{connected: make(chan channel.Identity, 10), received: make(chan received, 10), kept: "7:0:0"}
	if err := l.Run(t.Context(), h); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Error(err)
	}
	over()
}

func TestAPasswordIsGivenInAWayThatTheServerHas(t *testing.T) {
	p := &password{user: "me", password: "x"}
	if way, first, err := p.Start(&smtp.ServerInfo{Auth: []string{"LOGIN", "PLAIN"}}); way != "PLAIN" || string(first) != "\x00me\x00x" || err != nil {
		t.Errorf("%s, %q, %v", way, first, err)
	}
	if _, err := p.Next(nil, true); err == nil {
		t.Error("it tells more than the password")
	}
	p = &password{user: "me", password: "x"}
	if way, _, err := p.Start(&smtp.ServerInfo{Auth: []string{"XOAUTH2", "LOGIN"}}); way != "LOGIN" || err != nil {
		t.Errorf("%s, %v", way, err)
	}
	for _, want := range []string{"me", "x"} {
		if got, err := p.Next(nil, true); string(got) != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := p.Next(nil, true); err == nil {
		t.Error("it tells more than the password")
	}
	if _, _, err := p.Start(&smtp.ServerInfo{Auth: []string{"XOAUTH2"}}); err == nil {
		t.Error("it begins what it cannot do")
	}
}
