package ambry

import "time"

// Verdict is what somebody who asked makes of a memory.
type Verdict string

// The verdicts.
const (
	VerdictUsed    Verdict = "used"    // it went into the work
	VerdictIgnored Verdict = "ignored" // it did not
	VerdictHelpful Verdict = "helpful" // it went into the work, and that was good
	VerdictWrong   Verdict = "wrong"   // it is not, or no longer, true
)

// Feedback is what a memory was good for.
type Feedback struct {
	SearchID string  `json:"searchEventId,omitempty" pattern:"^[A-Za-z0-9_.:-]{1,64}$" patternDescription:"an id" doc:"The search that returned it"`
	Verdict  Verdict `json:"verdict" enum:"used,ignored,helpful,wrong"`
	Note     string  `json:"note,omitempty" maxLength:"2000"`
}

// Validate reports what makes f unusable.
func (f Feedback) Validate() error {
	switch f.Verdict {
	case VerdictUsed, VerdictIgnored, VerdictHelpful, VerdictWrong:
		return nil
	}
	return InvalidArgument.Errorf("there is no verdict %q; use used, ignored, helpful or wrong", f.Verdict)
}

// Uses counts what became of a memory. Each search counts once, with the last
// verdict about it.
type Uses struct {
	Shown   int64 `json:"shown" doc:"How often it was put into a context"`
	Used    int64 `json:"used"`
	Ignored int64 `json:"ignored"`
	Helpful int64 `json:"helpful"`
	Wrong   int64 `json:"wrong"`
}

// FeedbackTaken is the receipt of a [Feedback].
type FeedbackTaken struct {
	OK         bool      `json:"ok"`
	ID         string    `json:"id"`
	SearchID   string    `json:"searchEventId,omitempty"`
	Verdict    Verdict   `json:"verdict"`
	Uses       Uses      `json:"uses"`
	ServerTime time.Time `json:"serverTime"`
}

// The tools that calls are logged under.
const (
	ToolSearch       = "memory_search"
	ToolAdd          = "memory_add"
	ToolTurnStart    = "turn_start"
	ToolTurnComplete = "turn_complete"
)

// LogsQuery selects calls, newest first.
type LogsQuery struct {
	Tools   []string // any of these; all if empty
	Agent   string
	Exclude []string // agents
	Limit   int      // 50 if 0, 500 at most
	Offset  int
}

// LoggedCall is something that was asked of the memory.
type LoggedCall struct {
	ID         string      `json:"id" doc:"Of a search, its searchEventId"`
	Tool       string      `json:"toolName"`
	Agent      string      `json:"sourceAgent,omitempty" doc:"Who asked, if it said so"`
	SessionID  string      `json:"sessionId,omitempty"`
	TurnID     string      `json:"turnId,omitempty"`
	Input      string      `json:"inputJson" doc:"What was asked, without secrets; of a note, all but its text"`
	Output     string      `json:"outputJson" doc:"A LoggedAnswer"`
	DurationMs float64     `json:"durationMs"`
	Success    bool        `json:"success"`
	CalledAt   time.Time   `json:"calledAt"`
	Feedback   []LoggedUse `json:"feedback,omitempty" doc:"What became of the memories that it returned"`
}

// LoggedAnswer is what a call returned: ids, never text.
type LoggedAnswer struct {
	ID     string      `json:"id,omitempty" doc:"The memory that was added"`
	Hits   []LoggedHit `json:"hits,omitempty"`
	Total  int         `json:"total,omitempty"`
	Tokens int         `json:"tokenEstimate,omitempty" doc:"Of the context"`
	Error  Kind        `json:"error,omitempty"`
}

// LoggedHit is a memory that a search returned.
type LoggedHit struct {
	ID        string    `json:"id"`
	Score     float64   `json:"score"`
	Injected  bool      `json:"injected,omitempty" doc:"It was part of the context"`
	UpdatedAt time.Time `json:"updatedAt" doc:"Which state of it"`
}

// LoggedUse is a [Feedback] about a memory that a search returned.
type LoggedUse struct {
	ID      string    `json:"id"`
	Verdict Verdict   `json:"verdict"`
	Note    string    `json:"note,omitempty"`
	At      time.Time `json:"at"`
}

// Logs is a part of the log of calls, newest first. The log is bounded by age
// and bytes; calls are left out of it rather than that a search waits.
type Logs struct {
	Logs       []LoggedCall `json:"logs"`
	Total      int64        `json:"total"`
	Limit      int          `json:"limit"`
	Offset     int          `json:"offset"`
	NextOffset *int         `json:"nextOffset,omitempty" doc:"Absent at the end"`
	Dropped    int64        `json:"dropped" doc:"Calls since the start that were too many to be logged"`
	ServerTime time.Time    `json:"serverTime"`
}
