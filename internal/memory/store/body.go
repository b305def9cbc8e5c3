package store

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

// body is what is kept of a turn as JSON; the rest of it is in columns.
type body struct {
	At       time.Time    `json:"at,omitzero"`
	Cwd      string       `json:"cwd,omitempty"`
	Branch   string       `json:"branch,omitempty"`
	Model    string       `json:"model,omitempty"`
	Tokens   ambry.Tokens `json:"tokens,omitzero"`
	Messages []message    `json:"messages"`
}

// message is a message of a turn that several sessions may hold.
type message struct {
	ambry.Message

	// From is the row of the session whose copy it was taken from, 0 for the
	// turn's owner. Line and offset count in the source of that copy.
	From int64 `json:"from,omitempty"`
}

func bodyOf(t ambry.Turn) body {
	b := body{At: t.At, Cwd: t.Cwd, Branch: t.Branch, Model: t.Model, Tokens: t.Tokens}
	b.Messages = make([]message, len(t.Messages))
	for i, m := range t.Messages {
		b.Messages[i] = message{Message: m}
	}
	return b
}

// at is when the turn began: as the agent says, or else its first message.
func (b body) at() time.Time {
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
func (b body) counts() counts {
	c := counts{turns: 1}
	var said ambry.Tokens
	for _, m := range b.Messages {
		said = said.Add(m.Tokens)
		if !m.Hidden {
			c.messages++
			c.calls += int64(len(m.Calls))
		}
	}
	c.input = max(b.Tokens.Input, said.Input)
	c.cached = max(b.Tokens.Cached, said.Cached)
	c.output = max(b.Tokens.Output, said.Output)
	return c
}

// digest is a content hash, the first half of a SHA-256.
type digest [16]byte

func digestOf(parts ...string) digest {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return digest(h.Sum(nil)[:16])
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

// encode returns the JSON of b, valid until the next call, and its hash.
func (p *packer) encode(b body) ([]byte, digest, error) {
	p.buf.Reset()
	if err := p.json.Encode(b); err != nil {
		return nil, digest{}, fmt.Errorf("encode a turn: %w", err)
	}
	sum := sha256.Sum256(p.buf.Bytes())
	return p.buf.Bytes(), digest(sum[:16]), nil
}

// pack compresses what encode returned.
func (p *packer) pack(encoded []byte) []byte {
	return p.zstd.EncodeAll(encoded, make([]byte, 0, len(encoded)/3+64))
}

// unpacker reads what a packer made. It is for any number of goroutines.
type unpacker struct {
	zstd    *zstd.Decoder
	parsers *fastjson.ParserPool
	buffers *sync.Pool // of *[]byte
}

// maxBuffer bounds the room that is kept for the next turn.
const maxBuffer = 1 << 20

func newUnpacker() unpacker {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(sqlite.MaxReaders), zstd.WithDecoderMaxMemory(maxBody), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // the options are ours
	}
	return unpacker{zstd: d, parsers: &fastjson.ParserPool{}, buffers: &sync.Pool{New: func() any { return new([]byte) }}}
}

func (u unpacker) unpack(packed []byte) (body, error) {
	encoded, err := u.zstd.DecodeAll(packed, nil)
	if err != nil {
		return body{}, sqlite.Unreadable("unpack a turn", err)
	}
	var b body
	if err := json.Unmarshal(encoded, &b); err != nil {
		return body{}, sqlite.Unreadable("decode a turn", err)
	}
	return b, nil
}

// unpackShown is unpack for a search, which looks at many turns and at few of
// their fields: the visible messages with their role, texts, calls and places.
func (u unpacker) unpackShown(packed []byte) ([]message, error) {
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
	var out []message
	for _, v := range root.GetArray("messages") {
		if v.GetBool("hidden") {
			continue
		}
		m := message{From: v.GetInt64("from")}
		m.Role, m.Text = ambry.Role(v.GetStringBytes("role")), string(v.GetStringBytes("text"))
		m.Line, m.Offset = v.GetInt("line"), v.GetInt64("offset")
		for _, c := range v.GetArray("calls") {
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
		out = append(out, m)
	}
	return out, nil
}
