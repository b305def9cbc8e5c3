package codex

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// state is what is remembered of a file from one record to the next. It is
// stored, so it holds no words that anybody wrote.
type state struct {
	Met      bool   `json:"met,omitempty"`   // the file said which session it is
	Born     int64  `json:"born,omitempty"`  // when the session was made, in milliseconds
	Identity string `json:"identity"`        // session of the records that follow: of a copy, the one copied
	Count    int    `json:"count,omitempty"` // turns of that session without an id that is unique
	Titled   rank   `json:"titled,omitempty"`

	Cwd   string       `json:"cwd,omitempty"`
	Model string       `json:"model,omitempty"`
	Spent ambry.Tokens `json:"spent,omitzero"` // by the session, as it was told last

	Turn turn `json:"turn,omitzero"`
}

// turn is what is remembered of the open turn.
type turn struct {
	ID     string `json:"id,omitempty"`     // as we call it
	Native string `json:"native,omitempty"` // as Codex does, if it does
	Before string `json:"before,omitempty"` // Codex's id of the one before
	Given  bool   `json:"given,omitempty"`  // it began with Codex's id
	Ended  bool   `json:"ended,omitempty"`
	Copied bool   `json:"copied,omitempty"` // from an older session: its times are those of the copy

	Users   int `json:"users,omitempty"`   // messages so far: of the person,
	Said    int `json:"said,omitempty"`    // of the model,
	Notes   int `json:"notes,omitempty"`   // of Codex,
	Context int `json:"context,omitempty"` // and hidden ones

	Clean    bool    `json:"clean,omitempty"`    // an event told what the person wrote
	Speaking bool    `json:"speaking,omitempty"` // the model is not done with its last message
	Twins    [8]twin `json:"twins,omitzero"`
	NextTwin int     `json:"nextTwin,omitempty"`
}

// twin is an utterance that was told in one of the two streams of a file and
// may be told in the other one, too.
type twin struct {
	Kind  kind   `json:"kind,omitempty"`
	Event bool   `json:"event,omitempty"` // which stream
	Hash  uint32 `json:"hash,omitempty"`
	N     int    `json:"n,omitempty"` // of the message
}

type kind byte

const (
	byUser kind = iota + 1
	byModel
	bySearch
)

// rank orders the places that a title comes from.
type rank int

const (
	untitled rank = iota
	byCopy
	byItem
	byEvent
	byName
)

// title keeps a title unless a better one is known. Of prompts the first one
// counts, of names the last.
func (r record) title(from rank, text string) {
	t := r.s.Turn
	if from != byName && (t.Copied || t.Native == "" && r.s.Identity != r.b.Session.ID) {
		from = byCopy
	}
	if from < r.s.Titled || from == r.s.Titled && from != byName {
		return
	}
	if text = agent.Title(text); text != "" {
		r.s.Titled, r.b.Session.Title = from, text
	}
}

// begin starts a turn with Codex's id. If there is none, or one that other
// sessions may have, too, it is made from what is the same in a copy of the
// turn: the session, the number of the turn, and the id or the first words.
func (r record) begin(native, words string) {
	s := r.s
	t := turn{ID: native, Native: native, Given: native != "", Before: s.Turn.Native}
	if !isUUID(native) {
		s.Count++
		if native == "" {
			native = fmt.Sprintf("%08x", hash(words))
		}
		t.ID = fmt.Sprintf("%s#%d-%s", s.Identity, s.Count, native)
	}
	began := ambry.Turn{ID: t.ID, Cwd: s.Cwd, Model: s.Model}
	if born := bornAt(native); born > 0 && born < s.Born {
		t.Copied, began.At = true, time.UnixMilli(born).UTC()
	}
	if t.Copied && s.Turn.Copied { // a copy ends in the midst of its last turn only
		r.b.Vouch()
	}
	s.Turn = t
	r.b.Begin(began)
	if t.Copied {
		r.b.Withhold()
	}
}

// starts begins the turn that a record names, unless it is open or over.
func (r record) starts(native string) {
	t := &r.s.Turn
	switch {
	case native == "" || native == t.Native || native == t.Before:
	case t.ID != "" && !t.Given && t.Native == "" && !t.Ended && t.Said == 0 && t.Notes == 0:
		t.Native = native // Codex names it only now, when the prompt is there already
	default:
		r.begin(native, "")
	}
}

// in makes sure that the turn which a record names is open. What comes late
// does not go back to an older one.
func (r record) in(native string) {
	if born, open := bornAt(native), bornAt(r.s.Turn.Native); born == 0 || born >= open {
		r.starts(native)
	}
}

// asks makes sure that a turn is open for what a person writes.
func (r record) asks(words string) {
	t := &r.s.Turn
	steers := t.Given && !t.Ended // into a turn that goes on
	joins := t.ID != "" && !t.Given && !t.Ended && t.Said == 0 && t.Notes == 0 && !t.Clean
	if !steers && !joins { // joins: one prompt is told in several records
		r.begin("", words)
	}
}

// needs makes sure that a turn is open for what is not of a person.
func (r record) needs() {
	if r.s.Turn.ID == "" {
		r.begin("", "")
	}
}

// at is when the record was written, unless that is when it was copied.
func (r record) at() time.Time {
	if r.s.Turn.Copied {
		return time.Time{}
	}
	return r.time
}

// told returns the number of the message that tells an utterance, if the other
// stream told it.
func (t *turn) told(k kind, event bool, words string) (n int, ok bool) {
	h := hash(words)
	for i, w := range t.Twins {
		if w.Kind == k && w.Event != event && w.Hash == h {
			t.Twins[i] = twin{}
			return w.N, true
		}
	}
	return 0, false
}

// tells notes that message n tells an utterance.
func (t *turn) tells(k kind, event bool, words string, n int) {
	t.Twins[t.NextTwin] = twin{k, event, hash(words), n}
	t.NextTwin = (t.NextTwin + 1) % len(t.Twins)
}

func hash(words string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(strings.TrimSpace(words)))
	return h.Sum32()
}

const uuidLen = 36

func isUUID(s string) bool {
	if len(s) != uuidLen {
		return false
	}
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		digit := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if dash != (c == '-') || !dash && !digit {
			return false
		}
	}
	return true
}

// bornAt returns the time in a UUID of version 7 (RFC 9562), in milliseconds
// since 1970, or 0 if id is none.
func bornAt(id string) int64 {
	if !isUUID(id) || id[14] != '7' {
		return 0
	}
	var b [6]byte
	if _, err := hex.Decode(b[:], []byte(id[:8]+id[9:13])); err != nil {
		return 0
	}
	n := int64(0)
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return n
}
