package ambry

import (
	"strings"
	"time"
)

// Layer is how far a memory is from what was said.
type Layer string

// The layers.
const (
	L1    Layer = "L1"    // trace: a turn as it happened, or a note
	L2    Layer = "L2"    // policy: how to do things, what to avoid, preferences
	L3    Layer = "L3"    // world model: facts about a project, an environment, a person
	Skill Layer = "Skill" // a checked procedure
)

// Layers are all layers in order.
var Layers = []Layer{L1, L2, L3, Skill}

// MemoryKind returns the name that ids and lists use for the layer's memories.
func (l Layer) MemoryKind() string {
	switch l {
	case L2:
		return "policy"
	case L3:
		return "world_model"
	case Skill:
		return "skill"
	}
	return "trace"
}

// Status is where a memory stands in its life.
type Status string

// The states of a memory. A deleted one is not shown and not found.
const (
	Activated Status = "activated"
	Resolving Status = "resolving"
	Archived  Status = "archived"
	Deleted   Status = "deleted"
)

// Memory is one thing remembered.
type Memory struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind" enum:"trace,policy,world_model,skill"`
	Layer     Layer     `json:"memoryLayer" enum:"L1,L2,L3,Skill"`
	Status    Status    `json:"status" enum:"activated,resolving,archived,deleted"`
	Title     string    `json:"title"`
	Summary   string    `json:"summary"`
	Tags      []string  `json:"tags"`
	Rule      Rule      `json:"rule,omitempty" doc:"By which it was learned; absent for traces and notes"`
	Agent     string    `json:"agent,omitempty" doc:"Agent it came from; empty for a note added over the API"`
	Project   string    `json:"project,omitempty"`
	SessionID string    `json:"sessionId,omitempty" doc:"The agent's id of the session"`
	TurnID    string    `json:"turnId,omitempty"`
	Source    Source    `json:"source,omitzero" doc:"File and line it was read from"`
	CreatedAt time.Time `json:"createdAt" doc:"When it happened, if known, else when it was added"`
	UpdatedAt time.Time `json:"updatedAt"`
	Version   int64     `json:"version" doc:"Grows with each change"`
}

// Detail is a memory with its whole text.
type Detail struct {
	Memory
	Body    string   `json:"body"`
	Session *Session `json:"session,omitempty"`
	Turn    *Turn    `json:"turn,omitempty" doc:"The turn it is the trace of, whole"`
	Learned *Learned `json:"learned,omitempty" doc:"How it was learned, if it was"`
}

// Note is a memory that somebody states outright, over the API or a tool.
type Note struct {
	Content   string    `json:"content" minLength:"1" maxLength:"1000000" doc:"What to remember"`
	Layer     Layer     `json:"layer,omitempty" enum:"L1,L2,L3,Skill" doc:"L1 if absent"`
	Title     string    `json:"title,omitempty" maxLength:"500" doc:"Made from the content if absent"`
	Tags      []string  `json:"tags,omitempty" maxItems:"64" nullable:"false"`
	Source    string    `json:"source,omitempty" maxLength:"128" doc:"Agent that adds it"`
	Project   string    `json:"project,omitempty" maxLength:"4096"`
	SessionID string    `json:"sessionId,omitempty" maxLength:"256"`
	TurnID    string    `json:"turnId,omitempty" maxLength:"256"`
	CreatedAt time.Time `json:"createdAt,omitzero" doc:"When it happened, if not now"`
}

// Validate reports the first thing that makes n unusable.
func (n Note) Validate() error {
	if strings.TrimSpace(n.Content) == "" {
		return InvalidArgument.Errorf("content is empty; say what to remember")
	}
	return nil
}

// Patch changes a memory. A nil field stays as it is.
type Patch struct {
	Title   *string   `json:"title,omitempty" maxLength:"500"`
	Summary *string   `json:"summary,omitempty" maxLength:"2000"`
	Tags    *[]string `json:"tags,omitempty" maxItems:"64"`
	Status  *Status   `json:"status,omitempty" enum:"activated,resolving,archived"`
	Version int64     `json:"version,omitempty" doc:"If given and no longer current, the change is refused with conflict"`
}

// Query asks the memory for what it knows.
type Query struct {
	Query         string    `json:"query" minLength:"1" maxLength:"32768" doc:"Words, a question, an identifier, part of an error message"`
	Limit         int       `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"Hits at most; 10 if absent"`
	Layers        []Layer   `json:"layers,omitempty" enum:"L1,L2,L3,Skill" nullable:"false"`
	Tags          []string  `json:"tags,omitempty" maxItems:"64" nullable:"false" doc:"A hit must have all of them"`
	Agents        []string  `json:"agents,omitempty" maxItems:"64" nullable:"false" doc:"Only what came from one of these agents"`
	Project       string    `json:"project,omitempty" maxLength:"4096" doc:"Only this project"`
	Source        string    `json:"source,omitempty" maxLength:"128" doc:"Agent that asks"`
	SessionID     string    `json:"sessionId,omitempty" maxLength:"256" doc:"Session of the caller; what it was given before, or was said in it, is left out of injectedContext"`
	InSession     string    `json:"inSession,omitempty" maxLength:"256" doc:"Only what was said in this session"`
	After         time.Time `json:"after,omitzero" doc:"Only what happened at this time or later"`
	Before        time.Time `json:"before,omitzero" doc:"Only what happened before this time"`
	ContextBudget int       `json:"contextBudget,omitempty" minimum:"0" maximum:"200000" doc:"Tokens that injectedContext may take; 2000 if absent"`
	Plain         bool      `json:"plain,omitempty" doc:"query is what somebody said: quotes, dashes and names with a colon in it mean nothing special"`
	Mode          Mode      `json:"mode,omitempty" enum:"words,substring,regex" doc:"What query is: words or a question; text that must stand there as it is, but for the case of ASCII letters; or a regular expression (RE2). The last two are looked for in the texts themselves, the latest first, as far as there is time"`
	Verbose       bool      `json:"verbose,omitempty" doc:"Also return debug"`
}

// Mode says what a query is.
type Mode string

// The modes; "" is ModeWords.
const (
	ModeWords     Mode = "words"
	ModeSubstring Mode = "substring"
	ModeRegex     Mode = "regex"
)

// Validate reports what makes q unusable.
func (q Query) Validate() error {
	if strings.TrimSpace(q.Query) == "" {
		return InvalidArgument.Errorf("query is empty; give at least one word")
	}
	switch q.Mode {
	case "", ModeWords, ModeSubstring, ModeRegex:
	default:
		return InvalidArgument.Errorf("mode %q; there are words, substring and regex", q.Mode)
	}
	return nil
}

// Hit is a memory that answers a query.
type Hit struct {
	ID         string             `json:"id"`
	Kind       string             `json:"kind"`
	Layer      Layer              `json:"memoryLayer"`
	Status     Status             `json:"status"`
	Title      string             `json:"title"`
	Snippet    string             `json:"snippet" doc:"The passage that fits best"`
	Highlights [][2]int           `json:"highlights" doc:"Byte ranges of the snippet that match"`
	Score      float64            `json:"score" doc:"Higher is better; comparable within one answer"`
	Why        map[string]float64 `json:"why,omitempty" doc:"What the score is made of"`
	Tags       []string           `json:"tags"`
	Agent      string             `json:"agent,omitempty"`
	Project    string             `json:"project,omitempty"`
	SessionID  string             `json:"sessionId,omitempty"`
	Source     Source             `json:"source,omitzero" doc:"The very line the snippet is from"`
	CreatedAt  time.Time          `json:"createdAt"`
	UpdatedAt  time.Time          `json:"updatedAt"`
	Tokens     int                `json:"tokenEstimate"`
}

// Answer is what a search returns. No hits means that nothing matches, never
// that something is broken: that is an error.
type Answer struct {
	SearchID        string       `json:"searchEventId"`
	InjectedContext string       `json:"injectedContext" doc:"The best hits as text for a prompt, fenced as untrusted history"`
	Hits            []Hit        `json:"hits"`
	Total           int          `json:"total" doc:"Hits before the limit"`
	TotalAtLeast    bool         `json:"totalAtLeast,omitempty" doc:"There may be more than total: in a large memory what cannot be among the best is not counted"`
	TokenEstimate   int          `json:"tokenEstimate" doc:"Tokens of injectedContext"`
	Incomplete      bool         `json:"incomplete,omitempty" doc:"Time ran out before all texts were read: there may be more"`
	TookMs          float64      `json:"tookMs"`
	ServerTime      time.Time    `json:"serverTime"`
	Debug           *AnswerDebug `json:"debug,omitempty"`
}

// AnswerDebug repeats the answer in the shape that older clients read.
type AnswerDebug struct {
	SearchID        string    `json:"searchEventId"`
	Hits            []Hit     `json:"hits"`
	SourceMemoryIDs []string  `json:"sourceMemoryIds"`
	Status          []string  `json:"status"`
	Sections        []Section `json:"sections" doc:"What injectedContext is made of"`
	TokenEstimate   int       `json:"tokenEstimate"`
	ServerTime      time.Time `json:"serverTime"`
}

// Section is a part of a context: what it tells of one memory.
type Section struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Kind      string   `json:"kind"`
	Layer     Layer    `json:"memoryLayer"`
	MemoryIDs []string `json:"memoryIds"`
	Content   string   `json:"content"`
	Tokens    int      `json:"tokenEstimate"`
}

// Imported counts what an import did.
type Imported struct {
	Conversations int   `json:"conversations"`
	Turns         int   `json:"turns" doc:"Turns received"`
	Added         int   `json:"added"`
	Updated       int   `json:"updated"`
	Unchanged     int   `json:"unchanged"`
	Messages      int   `json:"messages" doc:"Messages received"`
	Redactions    int   `json:"redactions" doc:"Secrets taken out on the way in"`
	Bytes         int64 `json:"bytes" doc:"Bytes of text received"`
}

// Add sums two counts.
func (i Imported) Add(o Imported) Imported {
	return Imported{
		Conversations: i.Conversations + o.Conversations,
		Turns:         i.Turns + o.Turns,
		Added:         i.Added + o.Added,
		Updated:       i.Updated + o.Updated,
		Unchanged:     i.Unchanged + o.Unchanged,
		Messages:      i.Messages + o.Messages,
		Redactions:    i.Redactions + o.Redactions,
		Bytes:         i.Bytes + o.Bytes,
	}
}

// Forgotten is the receipt of a deletion.
type Forgotten struct {
	OK         bool      `json:"ok"`
	ID         string    `json:"id"`
	Kind       string    `json:"kind"`
	Status     Status    `json:"status"`
	ChangeSeq  int64     `json:"changeSeq"`
	ServerTime time.Time `json:"serverTime"`
}

// Provenance is where a memory came from: the turn, and what its file says now.
type Provenance struct {
	MemoryID string  `json:"memoryId"`
	Source   Source  `json:"source"`
	Session  Session `json:"session"`
	Turn     *Turn   `json:"turn,omitempty" doc:"For what was learned, the first turn that says so"`

	Evidence []Evidence `json:"evidence,omitempty" doc:"Of what was learned: the first turns that say so, up to 20"`
}

// MemoryHealth is what the runtime says of itself.
type MemoryHealth struct {
	OK            bool             `json:"ok"`
	Version       string           `json:"version"`
	UptimeMs      int64            `json:"uptimeMs"`
	Mode          string           `json:"mode" enum:"local" doc:"The memory is on this machine"`
	SchemaVersion int              `json:"schemaVersion"`
	Memories      int64            `json:"memories"`
	Sessions      int64            `json:"sessions"`
	Writable      bool             `json:"writable" doc:"False when the disk is full or read-only; reads go on"`
	Reason        string           `json:"reason,omitempty" doc:"Why it is not writable"`
	Storage       StorageHealth    `json:"storage"`
	Learning      LearnHealth      `json:"learning"`
	Capabilities  RuntimeAbilities `json:"capabilities"`
	ServerTime    time.Time        `json:"serverTime"`

	Embedding *EmbeddingState `json:"embedding,omitempty" doc:"Absent when memories are found by their words only"`
}

// StorageHealth is what the runtime says of its file, in the names of older clients.
type StorageHealth struct {
	Backend       string `json:"backend" enum:"sqlite"`
	SchemaVersion string `json:"schemaVersion"`
	FullText      string `json:"fullText" enum:"inverted-index" doc:"What words are found with: an index of our own beside the file"`
	ChangeLog     bool   `json:"changeLog"`
	Idempotency   bool   `json:"idempotency"`
	Ready         bool   `json:"ready" doc:"It can be written"`
	Bytes         int64  `json:"bytes" doc:"On the disk"`
}

// LearnHealth says how far the runtime is with learning.
type LearnHealth struct {
	Rules   int   `json:"rules" doc:"Version of the rules"`
	Waiting int64 `json:"waiting" doc:"Turns that were not looked at yet, up to 10000"`
}

// RuntimeAbilities is what a runtime can do.
type RuntimeAbilities struct {
	Tools  []string `json:"tools"`
	Layers []Layer  `json:"memoryLayers"`
}

// EmbeddingState is how far memories can be found by what they mean.
type EmbeddingState struct {
	Model   string     `json:"model" doc:"The embedding model, with its version"`
	Ready   int64      `json:"ready" doc:"Memories that can be found by meaning"`
	Pending int64      `json:"pending" doc:"Memories that wait; by their words they can be found"`
	Reason  string     `json:"reason,omitempty" doc:"Why nothing goes on"`
	RetryAt *time.Time `json:"retryAt,omitempty" doc:"When it is tried again"`
}

// Overview is the first page of the panel.
type Overview struct {
	Counts       OverviewCounts `json:"counts"`
	Daily        []DayCount     `json:"dailyActivity" doc:"The last 371 days that had any"`
	Sources      []SourceCount  `json:"sourceDistribution"`
	Tokens       Tokens         `json:"tokens"`
	StorageBytes int64          `json:"storageBytes"`
	ServerTime   time.Time      `json:"serverTime"`

	Embedding *EmbeddingState `json:"embedding,omitempty" doc:"Absent when memories are found by their words only"`
}

// OverviewCounts counts memories by layer, and what they were made from.
type OverviewCounts struct {
	Memories    int64 `json:"memories"`
	Skills      int64 `json:"skills"`
	Experiences int64 `json:"experiences"`
	WorldModels int64 `json:"worldModels"`
	Sessions    int64 `json:"sessions"`
	Turns       int64 `json:"turns"`
	Messages    int64 `json:"messages"`
	ToolCalls   int64 `json:"toolCalls"`
	Projects    int64 `json:"projects"`
}

// DayCount is the number of memories of a day, in UTC.
type DayCount struct {
	Date  string `json:"date"`
	Count int64  `json:"count"`
}

// SourceCount is an agent's share of the memories.
type SourceCount struct {
	Source     string  `json:"source"`
	Count      int64   `json:"count"`
	Percentage float64 `json:"percentage"`
}

// ItemsQuery selects a page of memories, newest first.
type ItemsQuery struct {
	Layer   Layer
	Rule    Rule
	Status  Status
	Text    string
	Agent   string
	Exclude []string
	Project string
	Page    int
}

// SessionsQuery selects a page of sessions, newest first.
type SessionsQuery struct {
	Agent   string
	Project string
	Page    int
}

// Page says which part of a list this is.
type Page struct {
	Page       int       `json:"page"`
	PageSize   int       `json:"pageSize"`
	Total      int64     `json:"total"`
	TotalPages int64     `json:"totalPages"`
	HasNext    bool      `json:"hasNext"`
	HasPrev    bool      `json:"hasPrev"`
	ServerTime time.Time `json:"serverTime"`
}

// Items is a page of memories.
type Items struct {
	Items []Memory `json:"items"`
	Page
}

// SessionSummary is a session with its counts.
type SessionSummary struct {
	Session
	Turns    int64  `json:"turns"`
	Messages int64  `json:"messages"`
	Calls    int64  `json:"toolCalls"`
	Tokens   Tokens `json:"tokens"`
}

// Sessions is a page of sessions, newest first.
type Sessions struct {
	Sessions []SessionSummary `json:"sessions"`
	Page
}

// Transcript is a session with a page of its turns in order.
type Transcript struct {
	Session SessionSummary `json:"session"`
	Turns   []Turn         `json:"turns"`
	Page
}
