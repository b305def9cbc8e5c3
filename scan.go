package ambry

import "time"

// AllSources is the source id that stands for every agent.
const AllSources = "all"

// ScanMode says how much of the history a scan reads.
type ScanMode string

// The modes of a scan.
const (
	InitialSubset ScanMode = "initial_subset" // the newest turns across agents first, then stop
	Incremental   ScanMode = "incremental"    // what is new since the last scan
	Full          ScanMode = "full"           // everything again, from the start
)

// ScanRequest asks for a scan. The zero value reads what is new from every agent.
type ScanRequest struct {
	SourceID string   `json:"sourceId,omitempty" maxLength:"128" default:"all" doc:"An agent source, or all"`
	Mode     ScanMode `json:"mode,omitempty" enum:"initial_subset,incremental,full" default:"incremental"`
}

// Phase is what a scan is doing.
type Phase string

// The phases of a scan.
const (
	PhaseScan      Phase = "scan"
	PhaseAdd       Phase = "add"
	PhaseSummarize Phase = "summarize"
	PhaseDone      Phase = "done"
	PhaseStopped   Phase = "stopped"
)

// ScanProgress tells how far a scan has come with one source.
type ScanProgress struct {
	JobID    string `json:"jobId"`
	SourceID string `json:"sourceId" doc:"The source being read, not the one asked for"`
	Phase    Phase  `json:"phase" enum:"scan,add,summarize,done,stopped"`
	Current  int64  `json:"current"`
	Total    int64  `json:"total" doc:"0 while it is not known"`
	Unit     string `json:"unit" enum:"bytes,messages,files"`
	Message  string `json:"message,omitempty"`
}

// Topic names the event.
func (ScanProgress) Topic() string { return "agent_source.scan_progress" }

// ScanCompletion tells how a scan ended.
type ScanCompletion struct {
	JobID       string       `json:"jobId"`
	SourceID    string       `json:"sourceId" doc:"The source asked for, or all"`
	Mode        ScanMode     `json:"mode"`
	Succeeded   bool         `json:"succeeded" doc:"False if it was stopped or a source could not be read at all"`
	Stopped     bool         `json:"stopped,omitempty"`
	CompletedAt time.Time    `json:"completedAt"`
	Results     []ScanResult `json:"results"`
	Imported    Imported     `json:"imported" doc:"What the memory made of it"`
}

// Topic names the event.
func (ScanCompletion) Topic() string { return "agent_source.scan_completed" }

// MaxScanErrors is how many errors of a source a result repeats; ErrorCount has them all.
const MaxScanErrors = 50

// ScanResult is what a scan found in one source.
type ScanResult struct {
	SourceID      string   `json:"sourceId"`
	Conversations int64    `json:"discoveredConversations"`
	Messages      int64    `json:"emittedMessages"`
	Turns         int64    `json:"turns"`
	Skipped       int64    `json:"skipped" doc:"Records that could not be read"`
	Redactions    int64    `json:"redactions" doc:"Secrets taken out"`
	Bytes         int64    `json:"bytes" doc:"Bytes of history read"`
	Errors        []string `json:"errors"`
	ErrorCount    int64    `json:"errorCount"`
}

// FileMark is how far a file of an agent was read, as it is stored.
type FileMark struct {
	Mark     []byte // belongs to the reader
	Messages int64  // messages read from it
	Bytes    int64  // bytes read from it
}

// SourceTotals are the sums of an agent's marks.
type SourceTotals struct {
	Messages      int64
	Conversations int64 // files with messages
	Bytes         int64
}

// ScanStarted answers a request for a scan.
type ScanStarted struct {
	JobID string `json:"jobId"`
}

// ScanStatus tells what the scanner is doing now, and how the last scan ended.
type ScanStatus struct {
	Active     bool            `json:"active"`
	Progress   *ScanProgress   `json:"progress"`
	Completion *ScanCompletion `json:"completion"`
}
