package ambry

import "time"

// Analysis is what became of the memories, and how fast they were there.
type Analysis struct {
	Metrics     AnalysisMetrics `json:"metrics"`
	Writes      []DayCount      `json:"dailyMemoryWrites" doc:"Memories by the day that they are of"`
	Skills      []DayCount      `json:"dailySkillEvolutions" doc:"Skills by the day that they are of"`
	Recalls     []DayCount      `json:"dailyRecalls" doc:"Searches"`
	ToolLatency ToolLatency     `json:"toolLatency" doc:"Of the last 30 days"`
	ServerTime  time.Time       `json:"serverTime"`
}

// AnalysisMetrics are single numbers of an [Analysis].
type AnalysisMetrics struct {
	AvgRecallScore     float64 `json:"avgRecallScore" doc:"Mean of the best scores of the searches that found something, of the last 371 days"`
	RecallEvents       int64   `json:"recallEvents" doc:"Searches of the last 371 days"`
	EmptyRecalls       int64   `json:"emptyRecalls" doc:"Those that found nothing"`
	ActiveSkills       int64   `json:"activeSkills"`
	RecentlyUsedSkills int64   `json:"recentlyUsedSkills" doc:"Skills that went into a context or were judged in the last 30 days"`
	AvgToolLatencyMs   float64 `json:"avgToolLatencyMs" doc:"Of the last 30 days"`
	P95ToolLatencyMs   float64 `json:"p95ToolLatencyMs" doc:"Within a tenth of it"`
}

// ToolLatency is how long calls of the memory took.
type ToolLatency struct {
	Tools  []ToolTimes  `json:"tools"`
	Series []ToolSeries `json:"series"`
}

// ToolTimes is how long the calls of one tool took.
type ToolTimes struct {
	Name  string  `json:"name"`
	Calls int64   `json:"calls"`
	AvgMs float64 `json:"avgMs"`
	P95Ms float64 `json:"p95Ms" doc:"Within a tenth of it"`
}

// ToolSeries is how long the calls of one tool took, day by day.
type ToolSeries struct {
	Name   string      `json:"name"`
	Points []ToolPoint `json:"points"`
}

// ToolPoint is a day of a [ToolSeries].
type ToolPoint struct {
	Date  string  `json:"date"`
	AvgMs float64 `json:"avgMs"`
}

// TasksQuery selects a page of tasks, newest first.
type TasksQuery struct {
	Text string // in a turn of it
	Page int
}

// Tasks is a page of tasks. A task is a session, as a list of what was asked.
type Tasks struct {
	Tasks []Task `json:"tasks"`
	Page
}

// Task is what a session was about.
type Task struct {
	ID        string     `json:"id"`
	Episode   Episode    `json:"episode"`
	MemoryIDs []string   `json:"memoryIds" doc:"Of turns"`
	Turns     []TaskTurn `json:"turns" doc:"The last 10, in order"`
	TurnCount int64      `json:"turnCount" doc:"All of them"`
	UpdatedAt time.Time  `json:"updatedAt"`
}

// Episode is the session of a [Task].
type Episode struct {
	ID        string        `json:"id"`
	SessionID string        `json:"sessionId"`
	Source    string        `json:"source" doc:"The agent"`
	Project   string        `json:"project,omitempty"`
	Status    SessionStatus `json:"status" enum:"open,closed"`
	Title     string        `json:"title"`
	StartedAt time.Time     `json:"startedAt,omitzero"`
}

// TaskTurn is a turn of a [Task], in short.
type TaskTurn struct {
	RawTurnID     string    `json:"rawTurnId"`
	EpisodeID     string    `json:"episodeId"`
	TurnID        string    `json:"turnId"`
	MemoryID      string    `json:"memoryId"`
	UserText      string    `json:"userText" doc:"The beginning of what was asked"`
	AssistantText string    `json:"assistantText" doc:"The beginning of the last answer"`
	CreatedAt     time.Time `json:"createdAt"`
}

// ProcessingState is how far a memory is made ready.
type ProcessingState string

// The states of processing. In all of them a memory can be found by its words.
const (
	TextReady        ProcessingState = "ready_text_only"   // nothing more is to come
	EmbeddingPending ProcessingState = "embedding_pending" // it waits to be found by its meaning
	Ready            ProcessingState = "ready"             // by its meaning too
)

// ProcessingRecord says how far a memory is made ready.
type ProcessingRecord struct {
	MemoryID     string          `json:"memoryId"`
	State        ProcessingState `json:"state" enum:"summary_pending,summarizing,embedding_pending,embedding,ready,ready_text_only,failed"`
	Stage        *string         `json:"stage" enum:"summary,embedding"`
	ActiveJobID  *string         `json:"activeJobId"`
	Attempts     int             `json:"attemptCount"`
	Retries      int             `json:"manualRetryCount"`
	RetryAction  string          `json:"retryAction" enum:"retry,open_settings,none"`
	ErrorCode    *string         `json:"errorCode"`
	ErrorMessage *string         `json:"errorMessage"`
	FailedAt     *time.Time      `json:"failedAt"`
	UpdatedAt    time.Time       `json:"updatedAt"`
}

// Processing says how far memories are made ready. Those that are not there are
// missing.
type Processing struct {
	Items      []ProcessingRecord `json:"items"`
	ServerTime time.Time          `json:"serverTime"`
}

// Relatedness says by what two memories are related.
type Relatedness string

// The relations of memories.
const (
	OfSession Relatedness = "session" // said right before or after
	OfWords   Relatedness = "words"   // they share rare words
)

// RelatedMemory is a memory that has to do with another one.
type RelatedMemory struct {
	Memory
	Relation Relatedness `json:"relation" enum:"session,words"`
	Score    float64     `json:"score,omitempty" doc:"Of words: higher is closer"`
}

// Related is what has to do with a memory: its neighbours in order, then what
// is closest by words.
type Related struct {
	ID         string          `json:"id"`
	Items      []RelatedMemory `json:"items"`
	ServerTime time.Time       `json:"serverTime"`
}
