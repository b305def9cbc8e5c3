// Package accounttest has a mail server for tests of who sends mails. It speaks
// enough of SMTP for them, and delivers nothing; a real one is tested against in
// package account.
package accounttest

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// MailServer speaks SMTP and keeps what it is given.
type MailServer struct {
	Port   int            // on 127.0.0.1
	Roots  *x509.CertPool // vouch for it
	Secure bool           // TLS from the first byte; else STARTTLS is offered
	Auth   string         // user, NUL, password

	config *tls.Config
	mails  chan Mail
	mu     sync.Mutex // guards what follows
	deny   string     // answer to RCPT, if not empty
	hangs  bool
}

// Mail is what the server was given.
type Mail struct {
	From, To, Text string
	TLS            bool   // it came through TLS
	User           string // who had logged in
}

// ServeMail serves until the test ends. change may prepare the server.
func ServeMail(t *testing.T, change func(*MailServer)) *MailServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &MailServer{Port: ln.Addr().(*net.TCPAddr).Port, mails: make(chan Mail, 100)}
	s.certify(t)
	if change != nil {
		change(s)
	}
	var talks sync.WaitGroup
	talks.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			talks.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(t.Context(), func() { conn.Close() })()
				s.talk(conn)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		talks.Wait()
	})
	return s
}

func (s *MailServer) certify(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s.Roots = x509.NewCertPool()
	s.Roots.AddCert(parsed)
	s.config = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// Refuse makes answer the one to every address; empty takes mails again.
func (s *MailServer) Refuse(answer string) { s.mu.Lock(); defer s.mu.Unlock(); s.deny = answer }

// Hang makes the server say nothing more to whoever names an address.
func (s *MailServer) Hang() { s.mu.Lock(); defer s.mu.Unlock(); s.hangs = true }

func (s *MailServer) hanging() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.hangs }

func (s *MailServer) denied() string { s.mu.Lock(); defer s.mu.Unlock(); return s.deny }

// talk is one conversation (RFC 5321), with STARTTLS and AUTH PLAIN.
func (s *MailServer) talk(conn net.Conn) {
	secure := s.Secure
	if secure {
		conn = tls.Server(conn, s.config)
	}
	r := bufio.NewReader(conn)
	say := func(text string) { fmt.Fprintf(conn, "%s\r\n", text) }
	say("220 test")
	var d Mail
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			say("250-test")
			if !secure {
				say("250-STARTTLS")
			}
			say("250-8BITMIME")
			say("250 AUTH PLAIN")
		case "STARTTLS":
			say("220 go on")
			conn, secure = tls.Server(conn, s.config), true
			r = bufio.NewReader(conn)
		case "AUTH":
			_, token, _ := strings.Cut(rest, " ")
			plain, _ := base64.StdEncoding.DecodeString(token)
			if string(plain) != "\x00"+s.Auth {
				say("535 no")
				continue
			}
			d.User = s.Auth
			say("235 ok")
		case "MAIL":
			d.From, d.To = rest, ""
			say("250 ok")
		case "RCPT":
			if s.hanging() {
				continue
			}
			if answer := s.denied(); answer != "" {
				say(answer)
				continue
			}
			d.To += rest
			say("250 ok")
		case "DATA":
			say("354 go on")
			if d.Text, err = dotted(r); err != nil {
				return
			}
			d.TLS = secure
			s.mails <- d
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func dotted(r *bufio.Reader) (string, error) {
	var text strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", io.ErrUnexpectedEOF
		}
		if line == ".\r\n" {
			return text.String(), nil
		}
		text.WriteString(strings.TrimPrefix(line, "."))
	}
}

// Next returns the next mail.
func (s *MailServer) Next(t *testing.T) Mail {
	t.Helper()
	select {
	case d := <-s.mails:
		return d
	case <-time.After(20 * time.Second):
		t.Fatal("no mail comes")
	}
	return Mail{}
}

// Code returns the code in the next mail, which must be for an address alone.
func (s *MailServer) Code(t *testing.T, address string) string {
	t.Helper()
	m := s.Next(t)
	if want := "TO:<" + address + ">"; m.To != want {
		t.Fatalf("the mail is for %q, want %q alone", m.To, want)
	}
	return Code(t, m.Text)
}

var sixDigits = regexp.MustCompile(`\b[0-9]{6}\b`)

// Code returns the code in a mail.
func Code(t *testing.T, raw string) string {
	t.Helper()
	_, text := Read(t, raw)
	codes := sixDigits.FindAllString(text, -1)
	if len(codes) != 1 {
		t.Fatalf("codes %q in the mail", codes)
	}
	return codes[0]
}

// Read returns subject and text of a mail.
func Read(t *testing.T, raw string) (subject, text string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	body := m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	return subject, string(data)
}
