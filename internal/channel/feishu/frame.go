package feishu

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// frame is what goes over a connection: a message of Protocol Buffers with nine
// fields, of which those that are not written here are the same in an answer.
type frame struct {
	seq, log        uint64
	service, method int32
	headers         []header
	encoding, kind  string
	payload         []byte
	newLog          string
}

type header struct{ key, value string }

// The methods of frames.
const (
	control = 0
	data    = 1
)

const maxHeaders = 64

var errFrame = errors.New("it is not a frame of Feishu")

// get returns the first header with a key.
func (f *frame) get(key string) string {
	for _, h := range f.headers {
		if h.key == key {
			return h.value
		}
	}
	return ""
}

// number returns a header as a number, 0 if it is none.
func (f *frame) number(key string) int {
	n, err := strconv.Atoi(f.get(key))
	if err != nil {
		return 0
	}
	return n
}

// field is one of a message, with the value that its wire type has.
type field struct {
	number uint64
	length bool // the value is bytes
	varint uint64
	bytes  []byte
}

// fields calls each with the fields of a message. Those of a fixed size, which
// nothing here has, are left out.
func fields(message []byte, each func(field) error) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag>>3 == 0 {
			return errFrame
		}
		message = message[n:]
		f := field{number: tag >> 3}
		skip := 0
		switch tag & 7 {
		case 0:
			if f.varint, skip = binary.Uvarint(message); skip <= 0 {
				return errFrame
			}
		case 1:
			skip = 8
		case 2:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return errFrame
			}
			skip = n + int(length)
			f.length, f.bytes = true, message[n:skip]
		case 5:
			skip = 4
		default:
			return errFrame
		}
		if skip > len(message) {
			return errFrame
		}
		message = message[skip:]
		if tag&7 == 1 || tag&7 == 5 {
			continue
		}
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// parse reads a frame. It keeps no part of message.
func parse(message []byte) (frame, error) {
	var f frame
	err := fields(message, func(v field) error {
		if v.number <= 9 && v.length != (v.number >= 5) {
			return errFrame
		}
		switch v.number {
		case 1:
			f.seq = v.varint
		case 2:
			f.log = v.varint
		case 3:
			f.service = int32(v.varint) // as it is written: the low half
		case 4:
			f.method = int32(v.varint) // as it is written: the low half
		case 5:
			h, err := parseHeader(v.bytes)
			if err != nil || len(f.headers) == maxHeaders {
				return errFrame
			}
			f.headers = append(f.headers, h)
		case 6:
			f.encoding = string(v.bytes)
		case 7:
			f.kind = string(v.bytes)
		case 8:
			f.payload = append([]byte(nil), v.bytes...)
		case 9:
			f.newLog = string(v.bytes)
		}
		return nil
	})
	return f, err
}

func parseHeader(message []byte) (h header, err error) {
	err = fields(message, func(v field) error {
		switch {
		case v.number == 1 && v.length:
			h.key = string(v.bytes)
		case v.number == 2 && v.length:
			h.value = string(v.bytes)
		case v.number <= 2:
			return errFrame
		}
		return nil
	})
	return h, err
}

// append appends the frame to b, as Feishu reads it: the first four fields are
// there whatever they are.
func (f *frame) append(b []byte) []byte {
	for i, v := range []uint64{f.seq, f.log, uint64(f.service), uint64(f.method)} { // a negative number is written in ten bytes
		b = append(b, byte(i+1)<<3)
		b = binary.AppendUvarint(b, v)
	}
	for _, h := range f.headers {
		b = appendBytes(b, 5, appendBytes(appendBytes(nil, 1, []byte(h.key)), 2, []byte(h.value)))
	}
	b = appendBytes(b, 6, []byte(f.encoding))
	b = appendBytes(b, 7, []byte(f.kind))
	b = appendBytes(b, 8, f.payload)
	return appendBytes(b, 9, []byte(f.newLog))
}

func appendBytes(b []byte, number byte, value []byte) []byte {
	b = append(b, number<<3|2)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

const (
	maxParts   = 64      // of a payload
	maxPartial = 8       // payloads that are not whole
	maxPayload = 4 << 20 // bytes of one
)

// parts puts together payloads that come in several frames. One that never gets
// whole is forgotten when others begin.
type parts struct {
	order []string
	whole map[string][][]byte
}

// add adds the payload of a frame, and returns it whole when it is. It is false
// while parts of it are missing.
func (p *parts) add(f *frame) ([]byte, bool) {
	sum, seq, id := f.number("sum"), f.number("seq"), f.get("message_id")
	if sum <= 1 {
		return f.payload, true
	}
	if seq < 0 || seq >= sum || sum > maxParts || id == "" {
		return nil, false
	}
	if p.whole == nil {
		p.whole = map[string][][]byte{}
	}
	have, ok := p.whole[id]
	if !ok || len(have) != sum {
		p.forget(id)
		if len(p.order) == maxPartial {
			p.forget(p.order[0])
		}
		have = make([][]byte, sum)
		p.whole[id], p.order = have, append(p.order, id)
	}
	have[seq] = f.payload
	size := 0
	missing := false
	for _, part := range have {
		size += len(part)
		missing = missing || len(part) == 0
	}
	if size > maxPayload {
		p.forget(id)
		return nil, false
	}
	if missing {
		return nil, false
	}
	p.forget(id)
	whole := make([]byte, 0, size)
	for _, part := range have {
		whole = append(whole, part...)
	}
	return whole, true
}

func (p *parts) forget(id string) {
	delete(p.whole, id)
	for i, other := range p.order {
		if other == id {
			p.order = append(p.order[:i], p.order[i+1:]...)
			return
		}
	}
}
