// Package dump is the memory as text: its records, one a line, and how they are
// read from the file of a memory. Taking them in again is for package store.
package dump

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"ambry.dev/ambry"
)

// Version is the version of the lines that [Write] writes. It grows
// when an older program could not read them rightly.
const Version = 1

// Record is a line of an export: exactly one of its fields is set. See
// docs/reference/export.md.
type Record struct {
	Header       *Header       `json:"header,omitempty"`
	Session      *Session      `json:"session,omitempty"`
	Continuation *Continuation `json:"continuation,omitempty"`
	Turn         *Turn         `json:"turn,omitempty"`
	Memory       *Memory       `json:"memory,omitempty"`
	Claim        *Claim        `json:"claim,omitempty"`
	LiveSession  *LiveSession  `json:"liveSession,omitempty"`
	LiveTurn     *LiveTurn     `json:"liveTurn,omitempty"`
	Tombstone    *Tombstone    `json:"tombstone,omitempty"`
	Gone         *Gone         `json:"gone,omitempty"`
	Feedback     *Feedback     `json:"feedback,omitempty"`
	Uses         *Uses         `json:"uses,omitempty"`
	Call         *Call         `json:"call,omitempty"`
}

// Header is the first line.
type Header struct {
	Format  string `json:"format"` // Format
	Version int    `json:"version"`
	Schema  int    `json:"schema"`
}

// Format is what a header calls the lines.
const Format = "ambry-memory"

// Session is a session.
type Session struct {
	ambry.Session
	ToldAt time.Time `json:"toldAt,omitzero"` // how recent title, model and version are
}

// Continuation says that turns of one session are owned by another.
type Continuation struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Of      string `json:"of"`
}

// Place is a session that holds a turn, and where it has it.
type Place struct {
	Session string       `json:"session"`
	Source  ambry.Source `json:"source,omitzero"`
	Hash    Hex          `json:"hash"`
}

// Turn is a turn. Its copies are the sessions that hold it, if more than
// its owner do.
type Turn struct {
	Agent   string       `json:"agent"`
	Session string       `json:"session"`
	ID      string       `json:"id"`
	Part    int          `json:"part,omitempty"`
	At      time.Time    `json:"at,omitzero"`
	Source  ambry.Source `json:"source,omitzero"`
	Hash    Hex          `json:"hash"`
	Copies  []Place      `json:"copies,omitempty"`
	From    []string     `json:"from,omitempty"` // of each message, the session whose copy it is from; "" for the owner
	Body    *Body        `json:"body"`
}

// Body is what was said in a turn.
type Body struct {
	At       time.Time       `json:"at,omitzero"`
	Cwd      string          `json:"cwd,omitempty"`
	Branch   string          `json:"branch,omitempty"`
	Model    string          `json:"model,omitempty"`
	Tokens   ambry.Tokens    `json:"tokens,omitzero"`
	Messages []ambry.Message `json:"messages"`
}

// Memory is a memory. The text of one that is the trace of a turn is there.
type Memory struct {
	ID        string    `json:"id"`
	Layer     string    `json:"layer"`
	Status    string    `json:"status"`
	Agent     string    `json:"agent,omitempty"`
	Project   string    `json:"project,omitempty"`
	Session   *Named    `json:"session,omitempty"`
	Turn      *Named    `json:"turn,omitempty"`    // its trace
	TurnRef   string    `json:"turnRef,omitempty"` // the turn that a note names
	CreatedAt time.Time `json:"createdAt,omitzero"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	Version   int64     `json:"version"`
	Edited    int64     `json:"edited,omitempty"` // 1: the title, 2: the summary was set by hand
	Title     string    `json:"title"`
	Summary   string    `json:"summary,omitempty"`
	Tags      []string  `json:"tags,omitempty"`
	Body      *string   `json:"body,omitempty"`
	Rule      string    `json:"rule,omitempty"`   // by which it was learned
	Origin    *Named    `json:"origin,omitempty"` // the turn it was learned from
}

// Claim is something that turns say, by the rules of package learn. The
// memory that it is has an id made of its layer and key.
type Claim struct {
	Key      Hex        `json:"key"`
	Topic    Hex        `json:"topic"`
	Rule     string     `json:"rule"`
	Layer    string     `json:"layer"`
	Project  string     `json:"project,omitempty"`
	Need     int64      `json:"need"`
	Most     bool       `json:"most,omitempty"`
	Instead  Hex        `json:"instead,omitempty"`
	Title    string     `json:"title,omitempty"`
	Body     string     `json:"body,omitempty"`
	Evidence []Evidence `json:"evidence"`
}

// Evidence is a turn that says so.
type Evidence struct {
	Named
	At   time.Time `json:"at,omitzero"`
	Nth  int64     `json:"nth,omitempty"`
	Sure float64   `json:"sure"`
	Hash Hex       `json:"hash"`
}

// Named names a session, or a turn, by the agent and the agent's own id.
type Named struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
	Part  int    `json:"part,omitempty"`
}

// LiveSession is a session that an agent opened.
type LiveSession struct {
	Session  Named     `json:"session"`
	Key      string    `json:"key,omitempty"`
	OpenedAt time.Time `json:"openedAt,omitzero"`
	ClosedAt time.Time `json:"closedAt,omitzero"`
}

// LiveTurn is a turn that an agent told of.
type LiveTurn struct {
	Session   Named     `json:"session"`
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Turn      *Named    `json:"turn,omitempty"`
	Query     string    `json:"query,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Asked     Hex       `json:"asked,omitempty"`
	Said      Hex       `json:"said,omitempty"`
}

// Tombstone is what is known of a memory that was forgotten.
type Tombstone struct {
	ID          string    `json:"id"`
	Turn        Hex       `json:"turn,omitempty"`
	Print       Hex       `json:"print,omitempty"`
	ForgottenAt time.Time `json:"forgottenAt,omitzero"`
}

// Gone is the digest of something else that was forgotten.
type Gone struct {
	Print       Hex       `json:"print"`
	ForgottenAt time.Time `json:"forgottenAt,omitzero"`
}

// Feedback is what somebody said of a memory.
type Feedback struct {
	Memory  string    `json:"memory"`
	Search  string    `json:"search,omitempty"`
	Verdict string    `json:"verdict"`
	Note    string    `json:"note,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// Uses counts what became of a memory.
type Uses struct {
	Memory string `json:"memory"`
	ambry.Uses
	LastAt time.Time `json:"lastAt,omitzero"`
}

// Call is something that was asked.
type Call struct {
	ID      string          `json:"id"`
	Tool    string          `json:"tool"`
	Agent   string          `json:"agent,omitempty"`
	Session string          `json:"session,omitempty"`
	Turn    string          `json:"turn,omitempty"`
	At      time.Time       `json:"at,omitzero"`
	Took    int64           `json:"tookMicros"`
	Failed  bool            `json:"failed,omitempty"`
	Input   json.RawMessage `json:"input"`
	Output  json.RawMessage `json:"output"`
}

// Hex is bytes, in JSON as hexadecimal digits.
type Hex []byte

// MarshalText writes the digits.
func (h Hex) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// UnmarshalText reads them.
func (h *Hex) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil {
		return fmt.Errorf("a digest: %w", err)
	}
	*h = b
	return nil
}
