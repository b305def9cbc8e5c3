package opencode

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// cursor is how far a database was read. OpenCode writes into sessions old and
// new, in place; so what was read is kept as a print for each session, and a
// session whose print is not there has to be read. Time plays no part in it.
type cursor struct {
	Known prints `json:"known,omitzero"`

	// Open is where to go on in the session that was being read, Turns where the
	// last turn of others begins. As long as what is before it did not change,
	// only that turn is read again.
	Open  place   `json:"open,omitzero"`
	Turns []place `json:"turns,omitempty"`

	// Full is when all sessions were compared, by the clock of the database. In
	// between only some are; Tops are the highest rows of then, by table.
	Full time.Time        `json:"full,omitzero"`
	Tops map[string]int64 `json:"tops,omitempty"`
}

// maxTurns is how many sessions are read on from their last turn: those that
// people work in.
const maxTurns = 16

// parseCursor reads a cursor; one that cannot be read is the beginning.
func parseCursor(text string) cursor {
	var c cursor
	if text == "" || json.Unmarshal([]byte(text), &c) != nil {
		return cursor{}
	}
	return c
}

func (c cursor) String() string {
	data, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("opencode: a cursor must be JSON: %v", err))
	}
	return string(data)
}

// prints is a set of prints. It is stored in eight bytes for each.
type prints struct {
	set   map[uint64]bool
	bytes []byte
}

func (p *prints) has(print uint64) bool { return p.set[print] }

func (p *prints) add(print uint64) {
	if p.set[print] {
		return
	}
	if p.set == nil {
		p.set = map[uint64]bool{}
	}
	p.set[print] = true
	p.bytes = binary.LittleEndian.AppendUint64(p.bytes, print)
}

func (p prints) IsZero() bool { return len(p.bytes) == 0 }

func (p prints) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, p.bytes), nil
}

func (p *prints) UnmarshalText(text []byte) error {
	bytes, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return err
	}
	*p = prints{}
	for len(bytes) >= 8 {
		p.add(binary.LittleEndian.Uint64(bytes))
		bytes = bytes[8:]
	}
	return nil
}

// printOf returns the print of values, of which each has a form of its own.
func printOf(values ...any) uint64 {
	h := fnv.New64a()
	for _, v := range values {
		fmt.Fprintf(h, "%v\x00", v)
	}
	return h.Sum64()
}

// mass is what some rows are together. It tells whether one of them is another
// one, whatever the clock says, but for a change in the same millisecond as the
// one before, to as many bytes.
type mass struct {
	Rows    int64 `json:"rows"`
	Updated int64 `json:"updated"` // sum of the times of their last changes
	Bytes   int64 `json:"bytes"`
}

func (m mass) add(o mass) mass {
	return mass{m.Rows + o.Rows, m.Updated + o.Updated, m.Bytes + o.Bytes}
}

// position is where a message stands in its session.
type position struct {
	At int64  `json:"at"`
	ID string `json:"id"`
}

func (p position) before(o position) bool {
	return p.At < o.At || p.At == o.At && p.ID < o.ID
}

// place is where reading goes on in a session.
type place struct {
	Layout   string   `json:"layout"`
	Session  string   `json:"session"`
	Position position `json:"position"`
	Before   mass     `json:"before"` // what was read before it
	Fixed    uint64   `json:"fixed"`  // print of what holds for all of its turns
	Used     int64    `json:"used"`   // when the session was
	Model    string   `json:"model,omitempty"`
}

func (p place) of(s session) bool { return p.Session == s.id && p.Layout == s.layout.name }

// place returns the place to go on at in a session, if one is known.
func (c cursor) place(s session) (place, bool) {
	for _, p := range append([]place{c.Open}, c.Turns...) {
		if p.of(s) && p.Fixed == s.fixed() {
			return p, true
		}
	}
	return place{}, false
}

// close puts the place of a session that was read to its end among those of
// the last turns, of which the sessions that were used last are kept.
func (c *cursor) close(p place, s session) {
	c.Open = place{}
	c.Turns = slices.DeleteFunc(c.Turns, func(o place) bool { return o.of(s) })
	if p.Session == "" {
		return
	}
	c.Turns = append(c.Turns, p)
	slices.SortStableFunc(c.Turns, func(a, b place) int { return cmp.Compare(b.Used, a.Used) })
	c.Turns = c.Turns[:min(len(c.Turns), maxTurns)]
}
