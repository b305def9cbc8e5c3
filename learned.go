package ambry

import "time"

// Rule is the kind of rule by which a memory was learned.
type Rule string

// The rules.
const (
	Decision   Rule = "decision"   // what was chosen
	Preference Rule = "preference" // how a person wants things done, always
	Correction Rule = "correction" // what a person said was wrong, and what is right
	Command    Rule = "command"    // a command that worked, more than once
	Fix        Rule = "fix"        // an error, and what made it go away
	Fact       Rule = "fact"       // where something is, what it is called, what runs
	OpenTask   Rule = "task"       // something agreed on that is not done
)

// Rules are all kinds of rules.
var Rules = []Rule{Decision, Preference, Correction, Command, Fix, Fact, OpenTask}

// Learned tells how a memory was learned, and whether it still holds.
type Learned struct {
	Rule          Rule       `json:"rule" enum:"decision,preference,correction,command,fix,fact,task"`
	Confidence    float64    `json:"confidence" doc:"From 0 to 1; grows with the evidence"`
	ValidFrom     time.Time  `json:"validFrom,omitzero" doc:"When it was said first"`
	ValidTo       time.Time  `json:"validTo,omitzero" doc:"When something else took its place; absent while it holds"`
	SupersededBy  string     `json:"supersededBy,omitempty" doc:"Memory that took its place, if any did"`
	Evidence      []Evidence `json:"evidence" doc:"The first turns that say so, up to 20"`
	EvidenceCount int64      `json:"evidenceCount" doc:"All of them, up to 100"`
}

// Evidence is a turn that a memory was learned from.
type Evidence struct {
	MemoryID  string    `json:"memoryId,omitempty" doc:"Trace of the turn"`
	TurnID    string    `json:"turnId"`
	SessionID string    `json:"sessionId"`
	Agent     string    `json:"agent"`
	At        time.Time `json:"at,omitzero"`
	Digest    string    `json:"digest" doc:"Of the turn as it was read"`
	Current   bool      `json:"current" doc:"The turn still is as it was read"`
	Source    Source    `json:"source,omitzero"`
}

// Retried is the answer to the wish that a memory be made ready again.
type Retried struct {
	Accepted   bool             `json:"accepted"`
	Processing ProcessingRecord `json:"processing"`
	Job        *Job             `json:"job,omitempty"`
	ServerTime time.Time        `json:"serverTime"`
}

// RetriedAll is the same for many memories. Those that are not there are missing.
type RetriedAll struct {
	Items      []Retried `json:"items"`
	ServerTime time.Time `json:"serverTime"`
}

// ForgottenTask is the receipt of the deletion of a task.
type ForgottenTask struct {
	OK         bool      `json:"ok"`
	ID         string    `json:"id"`
	MemoryIDs  []string  `json:"deletedMemoryIds" doc:"Traces of its turns, and notes of its session"`
	ServerTime time.Time `json:"serverTime"`
}
