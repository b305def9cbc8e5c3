package ambry

import (
	"encoding/json"
	"time"
)

// Sessions and turns as agents tell of them while they happen, rather than as
// their logs tell afterwards. Both end up as one.

// Caller is what may come with every request about a session or a turn.
type Caller struct {
	AdapterID string `json:"adapterId,omitempty" maxLength:"96" doc:"Together with requestId, it does what Idempotency-Key does"`
	RequestID string `json:"requestId,omitempty" maxLength:"96"`
}

// Key returns the idempotency key of an operation, "" if the caller gave none.
func (c Caller) Key(operation string) string {
	if c.AdapterID == "" || c.RequestID == "" {
		return ""
	}
	return operation + ":" + c.AdapterID + ":" + c.RequestID
}

// Namespace says the same as other fields of a request, for older clients.
type Namespace struct {
	Source        string `json:"source,omitempty" maxLength:"128"`
	ProfileID     string `json:"profileId,omitempty" maxLength:"128" doc:"Keeps equal session keys apart"`
	SessionKey    string `json:"sessionKey,omitempty" maxLength:"256"`
	WorkspacePath string `json:"workspacePath,omitempty" maxLength:"4096"`
}

// SessionOpen begins a session, or goes on with one.
type SessionOpen struct {
	Caller
	Source        string    `json:"source,omitempty" maxLength:"128" doc:"Id of the agent, such as claude_code; api if absent"`
	SessionID     string    `json:"sessionId,omitempty" pattern:"^[A-Za-z0-9_.:-]{1,128}$" patternDescription:"an id" doc:"The agent's own id of the session, by which its log is recognised; made up if absent"`
	SessionKey    string    `json:"sessionKey,omitempty" maxLength:"256" doc:"Without sessionId: an open session with the same key is resumed"`
	WorkspacePath string    `json:"workspacePath,omitempty" maxLength:"4096" doc:"Working directory"`
	Branch        string    `json:"branch,omitempty" maxLength:"256"`
	Title         string    `json:"title,omitempty" maxLength:"500"`
	Model         string    `json:"model,omitempty" maxLength:"128"`
	Namespace     Namespace `json:"namespace,omitzero"`
}

// SessionStatus says whether a session that was told of goes on.
type SessionStatus string

// The states of a session.
const (
	SessionIsOpen   SessionStatus = "open"
	SessionIsClosed SessionStatus = "closed"
)

// SessionOpened is the answer to [SessionOpen].
type SessionOpened struct {
	SessionID  string        `json:"sessionId"`
	EpisodeID  string        `json:"episodeId"`
	Source     string        `json:"source"`
	Status     SessionStatus `json:"status"`
	Resumed    bool          `json:"resumed" doc:"It was opened before"`
	ServerTime time.Time     `json:"serverTime"`
}

// SessionClose ends a session.
type SessionClose struct {
	Caller
	Source string `json:"source,omitempty" maxLength:"128" doc:"Agent; needed only if two of them have a session of that id"`
}

// SessionClosed is the answer to [SessionClose].
type SessionClosed struct {
	OK         bool          `json:"ok"`
	SessionID  string        `json:"sessionId"`
	Status     SessionStatus `json:"status"`
	Episodes   []string      `json:"closedEpisodeIds"`
	ServerTime time.Time     `json:"serverTime"`
}

// TurnStart says that a person asks something, and wants to know what the memory
// has on it.
type TurnStart struct {
	Caller
	SessionID     string                     `json:"sessionId" pattern:"^[A-Za-z0-9_.:-]{1,128}$" patternDescription:"an id"`
	TurnID        string                     `json:"turnId,omitempty" pattern:"^[A-Za-z0-9_.:-]{1,128}$" patternDescription:"an id" doc:"The agent's own id of the turn, by which its log is recognised; made up if absent"`
	Source        string                     `json:"source,omitempty" maxLength:"128" doc:"Agent; a session that is not known is opened for it"`
	Query         string                     `json:"query" minLength:"1" maxLength:"1000000" doc:"What the person asks"`
	Limit         int                        `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"Hits at most; 10 if absent"`
	Layers        []Layer                    `json:"layers,omitempty" enum:"L1,L2,L3,Skill" nullable:"false"`
	Project       string                     `json:"project,omitempty" maxLength:"4096" doc:"Only what is of this project"`
	ContextBudget int                        `json:"contextBudget,omitempty" minimum:"0" maximum:"200000" doc:"Tokens that injectedContext may take; 2000 if absent"`
	ContextHints  map[string]json.RawMessage `json:"contextHints,omitempty" doc:"Accepted from older clients; not used"`
}

// InjectedContext is what the memory has to say, as text for a prompt, and the
// parts it is made of.
type InjectedContext struct {
	Markdown string    `json:"markdown" doc:"Fenced as untrusted history; empty if there is nothing to say"`
	Sections []Section `json:"sections"`
	Tokens   int       `json:"tokenEstimate"`
}

// TurnStarted is the answer to [TurnStart].
type TurnStarted struct {
	TurnID          string          `json:"turnId"`
	SessionID       string          `json:"sessionId"`
	EpisodeID       string          `json:"episodeId"`
	ContextPacketID string          `json:"contextPacketId"`
	SearchID        string          `json:"searchEventId"`
	Context         InjectedContext `json:"injectedContext"`
	SourceMemoryIDs []string        `json:"sourceMemoryIds" doc:"Memories in the context"`
	Hits            []Hit           `json:"hits"`
	Total           int             `json:"total" doc:"Memories that match"`
	TotalAtLeast    bool            `json:"totalAtLeast,omitempty" doc:"There may be more than total"`
	Status          []string        `json:"status"`
	ServerTime      time.Time       `json:"serverTime"`
}

// ToldCall is one use of a tool as callers tell of it, in any of the names that
// are in use.
type ToldCall struct {
	ID        string          `json:"id,omitempty" maxLength:"256"`
	Name      string          `json:"name,omitempty" maxLength:"256"`
	Input     json.RawMessage `json:"input,omitempty" doc:"Text, or any JSON"`
	Args      json.RawMessage `json:"args,omitempty" doc:"The same as input"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"The same as input"`
	Output    json.RawMessage `json:"output,omitempty" doc:"Text, or any JSON"`
	Result    json.RawMessage `json:"result,omitempty" doc:"The same as output"`
	Error     json.RawMessage `json:"error,omitempty" doc:"Text, or any JSON; the call failed"`
	Success   *bool           `json:"success,omitempty"`
	StartedAt time.Time       `json:"startedAt,omitzero"`
	EndedAt   time.Time       `json:"endedAt,omitzero"`
}

// ToldResult is the result of a call that is told apart from it.
type ToldResult struct {
	ID         string          `json:"id,omitempty" maxLength:"256"`
	ToolCallID string          `json:"toolCallId,omitempty" maxLength:"256" doc:"The same as id"`
	Name       string          `json:"name,omitempty" maxLength:"256"`
	Output     json.RawMessage `json:"output,omitempty"`
	Result     json.RawMessage `json:"result,omitempty" doc:"The same as output"`
	Error      json.RawMessage `json:"error,omitempty"`
	Success    *bool           `json:"success,omitempty"`
}

// Artifact is something that a turn made or used.
type Artifact struct {
	Kind  string `json:"kind,omitempty" maxLength:"64"`
	URI   string `json:"uri,omitempty" maxLength:"4096"`
	Mime  string `json:"mime,omitempty" maxLength:"128"`
	Title string `json:"title,omitempty" maxLength:"500"`
	Bytes int64  `json:"bytes,omitempty" minimum:"0"`
}

// Outcome is how a turn ended.
type Outcome string

// The outcomes of a turn.
const (
	TurnSucceeded Outcome = "succeeded"
	TurnFailed    Outcome = "failed"
	TurnCancelled Outcome = "cancelled"
)

// TurnComplete tells of a turn that has ended.
type TurnComplete struct {
	Caller
	SessionID        string                     `json:"sessionId" pattern:"^[A-Za-z0-9_.:-]{1,128}$" patternDescription:"an id"`
	Source           string                     `json:"source,omitempty" maxLength:"128" doc:"Agent; a session that is not known is opened for it"`
	Query            string                     `json:"query,omitempty" maxLength:"1000000" doc:"What the person asked; as the turn started, if absent"`
	Answer           string                     `json:"answer,omitempty" maxLength:"2000000"`
	EpisodeID        string                     `json:"episodeId,omitempty" maxLength:"128" doc:"Accepted from older clients; a session is one episode"`
	ReasoningSummary string                     `json:"reasoningSummary,omitempty" maxLength:"100000"`
	Tags             []string                   `json:"tags,omitempty" maxItems:"64" nullable:"false"`
	ToolCalls        []ToldCall                 `json:"toolCalls,omitempty" maxItems:"2000" nullable:"false"`
	ToolResults      []ToldResult               `json:"toolResults,omitempty" maxItems:"2000" nullable:"false"`
	Artifacts        []Artifact                 `json:"artifacts,omitempty" maxItems:"200" nullable:"false"`
	SourceMemoryIDs  []string                   `json:"sourceMemoryIds,omitempty" maxItems:"200" nullable:"false" doc:"Memories that were in the context"`
	Usage            map[string]json.RawMessage `json:"usage,omitempty" doc:"Tokens, in the names of any provider"`
	Outcome          Outcome                    `json:"status,omitempty" enum:"succeeded,failed,cancelled"`
	Model            string                     `json:"model,omitempty" maxLength:"128"`
	StartedAt        time.Time                  `json:"startedAt,omitzero" doc:"When it began; as the turn started, if absent"`
	EndedAt          time.Time                  `json:"endedAt,omitzero"`
}

// TurnCompleted is the answer to [TurnComplete].
type TurnCompleted struct {
	TurnID     string    `json:"turnId"`
	SessionID  string    `json:"sessionId"`
	EpisodeID  string    `json:"episodeId"`
	RawTurnID  string    `json:"rawTurnId"`
	MemoryID   string    `json:"l1MemoryId" doc:"The trace that the turn became; empty if it says nothing that can be found"`
	Known      bool      `json:"alreadyRead" doc:"The agent's own log had told of the turn, and more of it; nothing was added"`
	Scheduled  bool      `json:"scheduledEvolution"`
	Jobs       []Job     `json:"jobs"`
	ChangeSeq  int64     `json:"changeSeq"`
	ServerTime time.Time `json:"serverTime"`
}

// Job is work that goes on after an answer.
type Job struct {
	ID       string `json:"jobId"`
	Type     string `json:"jobType"`
	Status   string `json:"status" enum:"queued,leased,succeeded,failed,dead_letter"`
	MemoryID string `json:"targetMemoryId,omitempty"`
}
