package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
)

// scribe writes the lines of one file. Ids, sizes and pauses come from the name
// of the session and a counter, so that they are the same every time.
type scribe struct {
	seed string
	n    uint32
	now  time.Time
	buf  bytes.Buffer
}

func (s *scribe) hash() [32]byte {
	s.n++
	return sha256.Sum256(binary.BigEndian.AppendUint32([]byte(s.seed), s.n))
}

func (s *scribe) number(from, to int) int {
	h := s.hash()
	return from + int(binary.BigEndian.Uint32(h[:])%uint32(to-from))
}

// uuid returns a UUID of version 4, or 7 if ordered.
func (s *scribe) uuid(ordered bool) string {
	h := s.hash()
	version := byte(4)
	if ordered {
		version = 7
		var ms [8]byte
		binary.BigEndian.PutUint64(ms[:], uint64(s.now.UnixMilli()))
		copy(h[:6], ms[2:])
	}
	h[6] = h[6]&0x0f | version<<4
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

func (s *scribe) id(prefix string) string {
	return fmt.Sprintf("%s%x", prefix, s.hash())[:len(prefix)+22]
}

// pause lets some time pass and returns the new time as agents write it.
func (s *scribe) pause(from, to int) string {
	s.now = s.now.Add(time.Duration(s.number(from*1000, to*1000)) * time.Millisecond)
	return stamp(s.now)
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }

func (s *scribe) row(v any) error {
	e := json.NewEncoder(&s.buf)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

type object = map[string]any
