package email

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/charset"

	"ambry.dev/ambry"
)

const (
	maxText       = 16_000 // characters of a question
	maxHeader     = 128 << 10
	maxDepth      = 8  // parts in parts
	maxParts      = 50 // in each
	maxReferences = 20
)

// letter is a mail that somebody has written to us.
type letter struct {
	id         string   // with its brackets, "" if it has none that can be used
	references []string // the mails before it in the thread
	sender     string   // their address, in lower case
	name       string
	replyTo    string // our own address as they have written it, if it is not the usual one
	subject    string
	text       string
}

func untrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// read reads a mail, or says why it is not for us.
func (l *link) read(raw []byte) (m letter, reason string) {
	e, err := message.ReadWithOptions(bytes.NewReader(raw), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return m, "it is no mail"
	}
	from := values(e.Header, "From")
	if len(from) != 1 {
		return m, "it has not one sender"
	}
	addresses, err := parser().ParseList(from[0])
	if err != nil || len(addresses) != 1 || !plain(addresses[0].Address) {
		return m, "it has not one sender"
	}
	m.sender, m.name = strings.ToLower(addresses[0].Address), line(addresses[0].Name)
	if m.name == "" {
		m.name = m.sender
	}
	if reason := l.automatic(e.Header, m.sender); reason != "" {
		return m, reason
	}
	m.subject = line(decoded(e.Header.Get("Subject")))
	_, domain, _ := strings.Cut(m.sender, "@")
	if l.trust != "" && !dmarcPassed(values(e.Header, "Authentication-Results"), l.trust, domain) {
		return m, "its sender is not proved"
	}
	if l.word != "" {
		ok := false
		if m.replyTo, ok = l.worded(e.Header, m.subject); !ok {
			return m, "it does not have the word"
		}
	}
	if ids := identifiers(e.Header.Get("Message-Id")); len(ids) == 1 {
		m.id = ids[0]
	}
	m.references = identifiers(e.Header.Get("References"))
	if len(m.references) == 0 {
		m.references = identifiers(e.Header.Get("In-Reply-To"))
	}
	m.references = m.references[max(0, len(m.references)-maxReferences):]
	plainText, html := texts(e, 0)
	if strings.TrimSpace(plainText) == "" {
		plainText = htmlText(html)
	}
	if m.text = question(plainText); m.text == "" {
		m.text = l.topic(m.subject)
	}
	if m.text == "" {
		return m, "it has no text"
	}
	return m, ""
}

// parser reads addresses in any charset.
func parser() *mail.AddressParser {
	return &mail.AddressParser{WordDecoder: &mime.WordDecoder{CharsetReader: charset.Reader}}
}

func decoded(text string) string {
	if out, err := (&mime.WordDecoder{CharsetReader: charset.Reader}).DecodeHeader(text); err == nil {
		return out
	}
	return text
}

// values are those of a header, from the top.
func values(h message.Header, key string) (all []string) {
	for f := h.FieldsByKey(key); f.Next(); {
		all = append(all, f.Value())
	}
	return all
}

// line is a text on one line that is not long.
func line(text string) string {
	text = strings.Join(strings.Fields(ambry.Plain(text)), " ")
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200])
	}
	return text
}

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[!-;=?-~]{1,250}>`) })

// identifiers are the ids of mails in a header.
func identifiers(text string) []string {
	if len(text) > 32<<10 {
		return nil
	}
	return identifier().FindAllString(text, -1)
}

// nobody are the names of programs that send mail.
var nobody = []string{"mailer-daemon", "postmaster", "no-reply", "noreply", "no_reply", "do-not-reply", "donotreply", "bounce", "bounces", "listserv", "majordomo"}

// automatic says why a mail is none that a person has written to us.
func (l *link) automatic(h message.Header, sender string) string {
	local, domain, _ := strings.Cut(sender, "@")
	bare, _, _ := strings.Cut(local, "+")
	ownLocal, ownDomain, _ := strings.Cut(l.own, "@")
	if domain == ownDomain && (local == ownLocal || bare == ownLocal) {
		return "it is our own"
	}
	if slices.Contains(nobody, bare) {
		return "it is of a program"
	}
	if v := strings.ToLower(strings.TrimSpace(h.Get("Auto-Submitted"))); h.Has("Auto-Submitted") && v != "no" {
		return "it is of a program"
	}
	switch strings.ToLower(strings.TrimSpace(h.Get("Precedence"))) {
	case "bulk", "junk", "auto_reply":
		return "it is of a program"
	case "list":
		return "it is of a list"
	}
	for _, key := range []string{"List-Id", "List-Post", "List-Unsubscribe", "List-Help", "Mailing-List"} {
		if h.Has(key) {
			return "it is of a list"
		}
	}
	for _, key := range []string{"X-Loop", "X-Autoreply", "X-Autorespond", "X-Failed-Recipients", "Feedback-Id"} {
		if h.Has(key) {
			return "it is of a program"
		}
	}
	for _, path := range values(h, "Return-Path") {
		if strings.TrimSpace(path) == "<>" {
			return "it is of a program"
		}
	}
	switch kind, _, _ := h.ContentType(); {
	case kind == "multipart/report", kind == "message/delivery-status", kind == "multipart/encrypted", kind == "text/calendar":
		return "it is no letter"
	}
	return ""
}

// texts are the first text of a mail as it is and the first one in HTML.
func texts(e *message.Entity, depth int) (plain, html string) {
	kind, _, err := e.Header.ContentType()
	if err != nil {
		kind = "text/plain"
	}
	parts := e.MultipartReader()
	switch disposition, _, _ := e.Header.ContentDisposition(); {
	case disposition == "attachment", depth > maxDepth:
		return "", ""
	case parts == nil && kind == "text/html":
		return "", body(e)
	case parts == nil && kind == "text/plain":
		return body(e), ""
	case parts == nil:
		return "", ""
	}
	for range maxParts {
		part, err := parts.NextPart()
		if part == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			break // the end, or that of what was read
		}
		p, h := texts(part, depth+1)
		if plain == "" {
			plain = p
		}
		if html == "" {
			html = h
		}
		if plain != "" {
			break
		}
	}
	return plain, html
}

// body is the text of a part. What could be read of it counts.
func body(e *message.Entity) string {
	data, _ := io.ReadAll(io.LimitReader(e.Body, maxMail))
	return strings.ReplaceAll(strings.ToValidUTF8(string(data), "\uFFFD"), "\r\n", "\n")
}
