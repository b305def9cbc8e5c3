package store

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"ambry.dev/ambry"
)

// RecordVersion is the version of the lines that [Store.Dump] writes. It grows
// when an older program could not read them rightly.
const RecordVersion = 1

// Record is a line of an export: exactly one of its fields is set. See
// docs/reference/export.md.
type Record struct {
	Header       *RecordHeader       `json:"header,omitempty"`
	Session      *RecordSession      `json:"session,omitempty"`
	Continuation *RecordContinuation `json:"continuation,omitempty"`
	Turn         *RecordTurn         `json:"turn,omitempty"`
	Memory       *RecordMemory       `json:"memory,omitempty"`
	Claim        *RecordClaim        `json:"claim,omitempty"`
	LiveSession  *RecordLiveSession  `json:"liveSession,omitempty"`
	LiveTurn     *RecordLiveTurn     `json:"liveTurn,omitempty"`
	Tombstone    *RecordTombstone    `json:"tombstone,omitempty"`
	Gone         *RecordGone         `json:"gone,omitempty"`
	Feedback     *RecordFeedback     `json:"feedback,omitempty"`
	Uses         *RecordUses         `json:"uses,omitempty"`
	Call         *RecordCall         `json:"call,omitempty"`
}

// RecordHeader is the first line.
type RecordHeader struct {
	Format  string `json:"format"` // RecordFormat
	Version int    `json:"version"`
	Schema  int    `json:"schema"`
}

// RecordFormat is what a header calls the lines.
const RecordFormat = "ambry-memory"

// RecordSession is a session.
type RecordSession struct {
	ambry.Session
	ToldAt time.Time `json:"toldAt,omitzero"` // how recent title, model and version are
}

// RecordContinuation says that turns of one session are owned by another.
type RecordContinuation struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Of      string `json:"of"`
}

// RecordPlace is a session that holds a turn, and where it has it.
type RecordPlace struct {
	Session string       `json:"session"`
	Source  ambry.Source `json:"source,omitzero"`
	Hash    Hex          `json:"hash"`
}

// RecordTurn is a turn. Its copies are the sessions that hold it, if more than
// its owner do.
type RecordTurn struct {
	Agent   string        `json:"agent"`
	Session string        `json:"session"`
	ID      string        `json:"id"`
	Part    int           `json:"part,omitempty"`
	At      time.Time     `json:"at,omitzero"`
	Source  ambry.Source  `json:"source,omitzero"`
	Hash    Hex           `json:"hash"`
	Copies  []RecordPlace `json:"copies,omitempty"`
	From    []string      `json:"from,omitempty"` // of each message, the session whose copy it is from; "" for the owner
	Body    *RecordBody   `json:"body"`
}

// RecordBody is what was said in a turn.
type RecordBody struct {
	At       time.Time       `json:"at,omitzero"`
	Cwd      string          `json:"cwd,omitempty"`
	Branch   string          `json:"branch,omitempty"`
	Model    string          `json:"model,omitempty"`
	Tokens   ambry.Tokens    `json:"tokens,omitzero"`
	Messages []ambry.Message `json:"messages"`
}

// RecordMemory is a memory. The text of one that is the trace of a turn is there.
type RecordMemory struct {
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

// RecordClaim is something that turns say, by the rules of package learn. The
// memory that it is has an id made of its layer and key.
type RecordClaim struct {
	Key      Hex              `json:"key"`
	Topic    Hex              `json:"topic"`
	Rule     string           `json:"rule"`
	Layer    string           `json:"layer"`
	Project  string           `json:"project,omitempty"`
	Need     int64            `json:"need"`
	Most     bool             `json:"most,omitempty"`
	Instead  Hex              `json:"instead,omitempty"`
	Title    string           `json:"title,omitempty"`
	Body     string           `json:"body,omitempty"`
	Evidence []RecordEvidence `json:"evidence"`
}

// RecordEvidence is a turn that says so.
type RecordEvidence struct {
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

// RecordLiveSession is a session that an agent opened.
type RecordLiveSession struct {
	Session  Named     `json:"session"`
	Key      string    `json:"key,omitempty"`
	OpenedAt time.Time `json:"openedAt,omitzero"`
	ClosedAt time.Time `json:"closedAt,omitzero"`
}

// RecordLiveTurn is a turn that an agent told of.
type RecordLiveTurn struct {
	Session   Named     `json:"session"`
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Turn      *Named    `json:"turn,omitempty"`
	Query     string    `json:"query,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Asked     Hex       `json:"asked,omitempty"`
	Said      Hex       `json:"said,omitempty"`
}

// RecordTombstone is what is known of a memory that was forgotten.
type RecordTombstone struct {
	ID          string    `json:"id"`
	Turn        Hex       `json:"turn,omitempty"`
	Print       Hex       `json:"print,omitempty"`
	ForgottenAt time.Time `json:"forgottenAt,omitzero"`
}

// RecordGone is the digest of something else that was forgotten.
type RecordGone struct {
	Print       Hex       `json:"print"`
	ForgottenAt time.Time `json:"forgottenAt,omitzero"`
}

// RecordFeedback is what somebody said of a memory.
type RecordFeedback struct {
	Memory  string    `json:"memory"`
	Search  string    `json:"search,omitempty"`
	Verdict string    `json:"verdict"`
	Note    string    `json:"note,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// RecordUses counts what became of a memory.
type RecordUses struct {
	Memory string `json:"memory"`
	ambry.Uses
	LastAt time.Time `json:"lastAt,omitzero"`
}

// RecordCall is something that was asked.
type RecordCall struct {
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
