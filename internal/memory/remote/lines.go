package remote

import (
	"bytes"
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"

	"ambry.dev/ambry/internal/redact"
)

// written is how conversations are written. Invalid UTF-8, which histories do
// have, becomes U+FFFD; what is empty is left out.
var written = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsonv1.OmitEmptyWithLegacySemantics(true))

// lines is a body of conversations, one a line. They are encoded while they are
// sent, so that none is ever held as a whole.
type lines struct {
	rest []redact.Conversation
	held bytes.Buffer // what Read has encoded and not returned
}

// encodingError tells a conversation that cannot be written from a connection
// that cannot.
type encodingError struct{ error }

func (e encodingError) Unwrap() error { return e.error }

// encode writes the next conversation, or returns io.EOF.
func (l *lines) encode(w io.Writer) error {
	if len(l.rest) == 0 {
		return io.EOF
	}
	next := l.rest[0].Conversation()
	l.rest = l.rest[1:]
	err := json.MarshalWrite(w, next, written)
	if _, ok := errors.AsType[*json.SemanticError](err); ok {
		return encodingError{fmt.Errorf("encode a conversation: %w", err)}
	}
	if err == nil {
		_, err = w.Write([]byte{'\n'})
	}
	return err
}

// Read encodes a conversation at a time. net/http prefers WriteTo.
func (l *lines) Read(p []byte) (int, error) {
	if l.held.Len() == 0 {
		l.held.Reset()
		if err := l.encode(&l.held); err != nil {
			return 0, err
		}
	}
	return l.held.Read(p)
}

// WriteTo writes all that was not read.
func (l *lines) WriteTo(w io.Writer) (int64, error) {
	counted := &counter{w: w}
	_, err := l.held.WriteTo(counted)
	for err == nil {
		err = l.encode(counted)
	}
	if err == io.EOF {
		err = nil
	}
	return counted.n, err
}

// Close does nothing: there is nothing to give back.
func (l *lines) Close() error { return nil }

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
