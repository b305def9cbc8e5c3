package account_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// mailServer speaks SMTP and keeps what it is given.
type mailServer struct {
	port   int
	roots  *x509.CertPool
	config *tls.Config
	secure bool // TLS from the first byte
	auth   string

	mails chan delivered
	mu    sync.Mutex // guards what follows
	deny  string     // answer to RCPT, if not empty
}

type delivered struct {
	from, to, text string
	tls            bool
	user           string
}

// serveMail serves until the test ends. change may prepare the server.
func serveMail(t *testing.T, change func(*mailServer)) *mailServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{port: ln.Addr().(*net.TCPAddr).Port, mails: make(chan delivered, 100)}
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
				stop := t.Context().Done()
				gone := make(chan struct{})
				defer close(gone)
				go func() {
					select {
					case <-stop:
						conn.Close()
					case <-gone:
					}
				}()
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

func (s *mailServer) certify(t *testing.T) {
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
	s.roots = x509.NewCertPool()
	s.roots.AddCert(parsed)
	s.config = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func (s *mailServer) refuse(answer string) { s.mu.Lock(); defer s.mu.Unlock(); s.deny = answer }

func (s *mailServer) denied() string { s.mu.Lock(); defer s.mu.Unlock(); return s.deny }

// talk is one conversation (RFC 5321), with STARTTLS and AUTH PLAIN.
func (s *mailServer) talk(conn net.Conn) {
	secure := s.secure
	if secure {
		conn = tls.Server(conn, s.config)
	}
	r := bufio.NewReader(conn)
	say := func(text string) { fmt.Fprintf(conn, "%s\r\n", text) }
	say("220 test")
	var d delivered
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
			if string(plain) != "\x00"+s.auth {
				say("535 no")
				continue
			}
			d.user = s.auth
			say("235 ok")
		case "MAIL":
			d.from, d.to = rest, ""
			say("250 ok")
		case "RCPT":
			if answer := s.denied(); answer != "" {
				say(answer)
				continue
			}
			d.to += rest
			say("250 ok")
		case "DATA":
			say("354 go on")
			if d.text, err = dotted(r); err != nil {
				return
			}
			d.tls = secure
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

// next returns the next mail.
func (s *mailServer) next(t *testing.T) delivered {
	t.Helper()
	select {
	case d := <-s.mails:
		return d
	case <-time.After(20 * time.Second):
		t.Fatal("no mail comes")
	}
	return delivered{}
}

// code returns the code of the next mail, which is for an address.
func (s *mailServer) code(t *testing.T, address string) string {
	t.Helper()
	d := s.next(t)
	if want := "TO:<" + address + ">"; d.to != want {
		t.Fatalf("the mail is for %q, want %q alone", d.to, want)
	}
	_, text := body(t, d.text)
	codes := sixDigits.FindAllString(text, -1)
	if len(codes) != 1 {
		t.Fatalf("codes %q in the mail", codes)
	}
	return codes[0]
}
