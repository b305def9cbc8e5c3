// Package document makes of a turn or note what is kept and what is found: packed
// bytes, their digest, titles and the terms of the text index. It does not know
// where any of it is stored (that is store).
package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fastjson"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// Body is what is kept of a turn as JSON; the rest of it is in columns.
type Body struct {
	At       time.Time    `json:"at,omitzero"`
	Cwd      string       `json:"cwd,omitempty"`
	Branch   string       `json:"branch,omitempty"`
	Model    string       `json:"model,omitempty"`
	Tokens   ambry.Tokens `json:"tokens,omitzero"`
	Messages []Message    `json:"messages"`
}

// Message is a message of a turn that several sessions may hold.
type Message struct {
	ambry.Message

	// From is the row of the session whose copy it was taken from, 0 for the
	// turn's owner. Line and offset count in the source of that copy.
	From int64 `json:"from,omitempty"`
}

// BodyOf returns what is kept of a turn.
func BodyOf(t ambry.Turn) Body {
	b := Body{At: t.At, Cwd: t.Cwd, Branch: t.Branch, Model: t.Model, Tokens: t.Tokens}
	b.Messages = make([]Message, len(t.Messages))
	for i, m := range t.Messages {
		b.Messages[i] = Message{Message: m}
	}
	return b
}

// Began is when the turn began: as the agent says, or else its first message.
func (b Body) Began() time.Time {
	if !b.At.IsZero() {
		return b.At
	}
	for _, m := range b.Messages {
		if !m.At.IsZero() {
			return m.At
		}
	}
	return time.Time{}
}

// counts counts what is shown of a turn.
func (b Body) counts() Counts {
	c := Counts{Turns: 1}
	var said ambry.Tokens
	for _, m := range b.Messages {
		said = said.Add(m.Tokens)
		if !m.Hidden {
			c.Messages++
			c.Calls += int64(len(m.Calls))
		}
	}
	c.Input = max(b.Tokens.Input, said.Input)
	c.Cached = max(b.Tokens.Cached, said.Cached)
	c.Output = max(b.Tokens.Output, said.Output)
	return c
}

// Digest is a content hash, the first half of a SHA-256.
type Digest [16]byte

// DigestOf hashes parts, each of which ends where it ends.
func DigestOf(parts ...string) Digest {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return Digest(h.Sum(nil)[:16])
}

// maxBody is the largest turn that is read back, unpacked.
const maxBody = 1 << 30

// packer turns bodies into bytes. It is for one goroutine.
type packer struct {
	buf  bytes.Buffer
	json *json.Encoder
	zstd *zstd.Encoder
}

func newPacker() *packer {
	p := &packer{}
	p.json = json.NewEncoder(&p.buf)
	p.json.SetEscapeHTML(false)
	var err error
	p.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(true))
	if err != nil {
		panic(err) // the options are ours
	}
	return p
}

// Encode returns the JSON of b, valid until the next call, and its hash.
func (p *packer) Encode(b Body) ([]byte, Digest, error) {
	p.buf.Reset()
	if err := p.json.Encode(b); err != nil {
		return nil, Digest{}, fmt.Errorf("encode a turn: %w", err)
	}
	sum := sha256.Sum256(p.buf.Bytes())
	return p.buf.Bytes(), Digest(sum[:16]), nil
}

// pack compresses what encode returned.
func (p *packer) pack(encoded []byte) []byte {
	return p.zstd.EncodeAll(encoded, make([]byte, 0, len(encoded)/3+64))
}

// Unpacker reads what a packer made. It is for any number of goroutines.
type Unpacker struct {
	zstd    *zstd.Decoder
	parsers *fastjson.ParserPool
	buffers *sync.Pool // of *[]byte
}

// maxBuffer bounds the room that is kept for the next turn.
const maxBuffer = 1 << 20

// NewUnpacker returns an unpacker.
func NewUnpacker() Unpacker {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(sqlite.MaxReaders), zstd.WithDecoderMaxMemory(maxBody), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // the options are ours
	}
	return Unpacker{zstd: d, parsers: &fastjson.ParserPool{}, buffers: &sync.Pool{New: func() any { return new([]byte) }}}
}

// Expand returns the JSON of a body, in buf if that is large enough.
func (u Unpacker) Expand(packed, buf []byte) ([]byte, error) { return u.zstd.DecodeAll(packed, buf) }

// Unpack returns a body as it was packed.
func (u Unpacker) Unpack(packed []byte) (Body, error) {
	encoded, err := u.zstd.DecodeAll(packed, nil)
	if err != nil {
		return Body{}, sqlite.Unreadable("unpack a turn", err)
	}
	var b Body
	if err := json.Unmarshal(encoded, &b); err != nil {
		return Body{}, sqlite.Unreadable("decode a turn", err)
	}
	return b, nil
}

// UnpackShown is unpack for a search, which looks at many turns and at few of
// their fields: it returns what as makes of the visible messages, which have their
// role, texts, calls and places.
func UnpackShown[T any](u Unpacker, packed []byte, as func(Message) T) ([]T, error) {
	buffer := u.buffers.Get().(*[]byte)
	encoded, err := u.zstd.DecodeAll(packed, (*buffer)[:0])
	if err != nil {
		return nil, sqlite.Unreadable("unpack a turn", err)
	}
	if cap(encoded) <= maxBuffer {
		*buffer = encoded
		defer u.buffers.Put(buffer)
	}
	p := u.parsers.Get()
	defer u.parsers.Put(p)
	root, err := p.ParseBytes(encoded)
	if err != nil {
		return nil, sqlite.Unreadable("decode a turn", err)
	}
	messages := root.GetArray("messages")
	out := make([]T, 0, len(messages))
	for _, v := range messages {
		if v.GetBool("hidden") {
			continue
		}
		m := Message{From: v.GetInt64("from")}
		m.Role, m.Text = ambry.Role(v.GetStringBytes("role")), string(v.GetStringBytes("text"))
		m.Line, m.Offset = v.GetInt("line"), v.GetInt64("offset")
		calls := v.GetArray("calls")
		if len(calls) > 0 {
			m.Calls = make([]ambry.ToolCall, 0, len(calls))
		}
		for _, c := range calls {
			call := ambry.ToolCall{
				Name:  string(c.GetStringBytes("name")),
				Input: string(c.GetStringBytes("input")), Output: string(c.GetStringBytes("output")),
				Done: c.GetBool("done"), Failed: c.GetBool("failed"),
			}
			if code := c.Get("exitCode"); code != nil {
				call.ExitCode = new(code.GetInt())
			}
			m.Calls = append(m.Calls, call)
		}
		out = append(out, as(m))
	}
	return out, nil
}

// Turn returns the turn as it came.
func (b Body) Turn(id string, part int, at ambry.Source) ambry.Turn {
	t := ambry.Turn{
		ID: id, Part: part, At: b.At, Cwd: b.Cwd, Branch: b.Branch, Model: b.Model, Tokens: b.Tokens, Source: at,
		Messages: make([]ambry.Message, len(b.Messages)),
	}
	for i, m := range b.Messages {
		t.Messages[i] = m.Message
		if m.From != 0 { // it stands in another file than the turn
			t.Messages[i].Line, t.Messages[i].Offset = 0, 0
		}
	}
	return t
}
