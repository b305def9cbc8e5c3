package ambry

import (
	"strings"
	"time"
)

// What leaves a memory for good, and what comes back.

// Forget says what is to be forgotten: exactly one of its first five fields.
type Forget struct {
	IDs       []string `json:"ids,omitempty" maxItems:"1000" nullable:"false" doc:"These memories, with the turns they are of"`
	SessionID string   `json:"sessionId,omitempty" maxLength:"256" doc:"All of a session, also the turns that other sessions hold copies of"`
	Agent     string   `json:"agent,omitempty" maxLength:"128" doc:"All that came from an agent; with sessionId, the agent of the session"`
	Project   string   `json:"project,omitempty" maxLength:"4096" doc:"All of a project and of the directories below it"`
	Words     string   `json:"words,omitempty" maxLength:"1000" doc:"All in whose text these words stand, in this order; case does not matter"`
	DryRun    bool     `json:"dryRun,omitempty" doc:"Only say what would be forgotten"`
}

// minForgetWords is the least that words may be, in bytes: a letter is in
// everything.
const minForgetWords = 3

// Validate reports what makes f unusable.
func (f Forget) Validate() error {
	given := 0
	for _, is := range []bool{len(f.IDs) > 0, f.SessionID != "", f.Agent != "" && f.SessionID == "", f.Project != "", f.Words != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return InvalidArgument.Errorf("say one thing to forget: ids, a session, an agent, a project, or words")
	case f.Agent != "" && f.SessionID == "" && (len(f.IDs) > 0 || f.Project != "" || f.Words != ""):
		return InvalidArgument.Errorf("an agent goes with nothing but a session")
	case f.Words != "" && len(strings.TrimSpace(f.Words)) < minForgetWords:
		return InvalidArgument.Errorf("the words are too short; give at least %d letters", minForgetWords)
	}
	return nil
}

// ForgottenAll is the receipt of a [Forget].
type ForgottenAll struct {
	OK         bool      `json:"ok"`
	DryRun     bool      `json:"dryRun,omitempty"`
	Memories   int64     `json:"memories"`
	Turns      int64     `json:"turns"`
	Sessions   int64     `json:"sessions" doc:"Sessions of which nothing is left"`
	Shared     int64     `json:"shared" doc:"Of the turns, those that other sessions held too"`
	Titles     int64     `json:"titles" doc:"Titles of sessions that were emptied"`
	Calls      int64     `json:"calls" doc:"Entries of the log of calls"`
	Examples   []Memory  `json:"examples,omitempty" doc:"With dryRun: some of the memories"`
	Scrubbed   bool      `json:"scrubbed" doc:"Its bytes are gone from the files of the memory too; false while that is going on"`
	ServerTime time.Time `json:"serverTime"`
}

// Scrubbed says what is left on the disk of what was forgotten.
type Scrubbed struct {
	Done       bool      `json:"done" doc:"Nothing is left"`
	Free       int64     `json:"freeBytes" doc:"Room inside the file that is free, and empty"`
	Bytes      int64     `json:"bytes" doc:"Size of the memory's files"`
	ServerTime time.Time `json:"serverTime"`
}

// Scope is how much is deleted.
type Scope string

// The scopes.
const (
	ScopeMemory Scope = "memory" // what is remembered
	ScopeAll    Scope = "all"    // that, and all that the service knows and the person chose
)

// DeleteData deletes everything.
type DeleteData struct {
	Confirm bool  `json:"confirm" doc:"Must be true"`
	Scope   Scope `json:"scope,omitempty" enum:"memory,all" doc:"memory if absent"`
}

// DataDeleted is the receipt of [DeleteData].
type DataDeleted struct {
	OK        bool             `json:"ok"`
	ClearedAt time.Time        `json:"clearedAt"`
	Scope     Scope            `json:"scope"`
	Removed   map[string]int64 `json:"removed" doc:"How many of what"`
	Kept      []string         `json:"kept" doc:"What is still there, a sentence each"`
}

// DataCheck asks whether words stand anywhere in our files.
type DataCheck struct {
	Words         string `json:"words" minLength:"3" maxLength:"1000"`
	RemoveBackups bool   `json:"removeBackups,omitempty" doc:"Consent to remove the backups in which they stand"`
	RemoveExports bool   `json:"removeExports,omitempty" doc:"The same for exports in our directory"`
}

// DataChecked is what a [DataCheck] found. It repeats none of the text.
type DataChecked struct {
	Absent  bool       `json:"absent" doc:"The words stand nowhere"`
	Files   int        `json:"files" doc:"Files that were read, byte by byte"`
	Bytes   int64      `json:"bytes" doc:"What they hold, unpacked"`
	Found   []DataFind `json:"found"`
	Removed []string   `json:"removed,omitempty" doc:"Backups and exports that were removed"`
	Masked  int        `json:"masked,omitempty" doc:"Places in logs that were overwritten"`
}

// DataFind is a file in which the words stand.
type DataFind struct {
	File   string `json:"file" doc:"Below our directory"`
	Places int    `json:"places"`
	Hint   string `json:"hint" doc:"Why it is there, and what to do"`
}

// Wiped counts what a memory held before it was emptied.
type Wiped struct {
	Memories   int64     `json:"memories"`
	Sessions   int64     `json:"sessions"`
	Turns      int64     `json:"turns"`
	Calls      int64     `json:"calls" doc:"Entries of the log of calls"`
	Scrubbed   bool      `json:"scrubbed"`
	ServerTime time.Time `json:"serverTime"`
}

// RestorePolicy says what becomes of what is there already and differs.
type RestorePolicy string

// The policies.
const (
	KeepOurs   RestorePolicy = "skip"    // it stays as it is
	TakeTheirs RestorePolicy = "replace" // it becomes as it comes
	TakeNewer  RestorePolicy = "newer"   // the later change wins
)

// Restored counts what a restore did.
type Restored struct {
	Lines     int `json:"lines"`
	Added     int `json:"added"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Skipped   int `json:"skipped" doc:"There already and different; kept as it was"`
	Forgotten int `json:"forgotten" doc:"Was forgotten here, and stays so"`
	Redacted  int `json:"redactions" doc:"Secrets taken out on the way in"`
}

// BackupMade is a copy of the memory.
type BackupMade struct {
	Name   string    `json:"name" doc:"File in the backups of the home"`
	Bytes  int64     `json:"bytes"`
	MadeAt time.Time `json:"madeAt"`
}

// ExportFormat is how an export is written.
type ExportFormat string

// The formats.
const (
	ExportArchive  ExportFormat = "archive"  // a zip that import reads back
	ExportMarkdown ExportFormat = "markdown" // a folder of texts for people
)

// ExportData writes everything that is remembered to a new file or folder.
type ExportData struct {
	TargetPath string       `json:"targetPath,omitempty" minLength:"1" maxLength:"4096" doc:"A directory, or the name of the new file or folder; absolute and below the home directory of the person. In our own exports if absent"`
	Format     ExportFormat `json:"format,omitempty" enum:"archive,markdown" doc:"archive if absent"`
}

// ExportedFile is a file of an export.
type ExportedFile struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Records int64  `json:"records"`
}

// ExportManifest says what an export holds.
type ExportManifest struct {
	Format    string           `json:"format"`
	Version   int              `json:"version"`
	CreatedAt time.Time        `json:"createdAt"`
	Program   string           `json:"program"`
	Counts    map[string]int64 `json:"counts"`
	Files     []ExportedFile   `json:"files"`
}

// DataExported is the receipt of [ExportData].
type DataExported struct {
	ExportPath string         `json:"exportPath"`
	Bytes      int64          `json:"bytes"`
	Manifest   ExportManifest `json:"manifest"`
}

// ImportData reads memories that another program, or an export of ours, holds.
type ImportData struct {
	Path   string        `json:"path" minLength:"1" maxLength:"4096" doc:"File or folder, absolute"`
	From   string        `json:"from,omitempty" maxLength:"64" doc:"Which program wrote it; found out if absent"`
	Policy RestorePolicy `json:"policy,omitempty" enum:"skip,replace,newer" doc:"For our own exports: what becomes of what is there already and differs; skip if absent"`
	DryRun bool          `json:"dryRun,omitempty" doc:"Only say what is in it"`
}

// DataImported is the receipt of [ImportData].
type DataImported struct {
	From          string   `json:"from"`
	DryRun        bool     `json:"dryRun,omitempty"`
	Notes         int      `json:"notes" doc:"Memories found in it"`
	Conversations int      `json:"conversations"`
	Added         int      `json:"added"`
	Updated       int      `json:"updated"`
	Unchanged     int      `json:"unchanged" doc:"Was there already"`
	Skipped       int      `json:"skipped" doc:"Could not be read, or was kept as it is"`
	Forgotten     int      `json:"forgotten" doc:"Was forgotten here, and stays so"`
	Redactions    int      `json:"redactions"`
	Problems      []string `json:"problems,omitempty" doc:"The first ones"`
}

// DataRevealed is the answer to a request to show our directory.
type DataRevealed struct {
	OK       bool   `json:"ok"`
	DataPath string `json:"dataPath"`
	Opened   bool   `json:"opened" doc:"False where there is no file manager"`
}

// DataPart is what a part of our directory takes.
type DataPart struct {
	Name  string `json:"name"`
	Path  string `json:"path" doc:"Below our directory"`
	Bytes int64  `json:"bytes"`
	Files int    `json:"files"`
	Free  string `json:"free,omitempty" doc:"How to have less of it"`
}

// DataSizes is what our directory takes.
type DataSizes struct {
	DataPath  string       `json:"dataPath"`
	Bytes     int64        `json:"bytes"`
	Parts     []DataPart   `json:"parts"`
	Backups   []BackupMade `json:"backups"`
	PerDay    int64        `json:"bytesPerDay" doc:"How the memory has grown since the oldest backup; 0 if that is not known"`
	Freeable  int64        `json:"freeableBytes" doc:"Backups, exports and logs together"`
	MeasureAt time.Time    `json:"measuredAt"`
}

// DataProgress tells how far an export or an import has come, a few times a
// second.
type DataProgress struct {
	Operation string `json:"operation" enum:"export,import"`
	Phase     string `json:"phase" enum:"read,done,failed"`
	Records   int64  `json:"records"`
	Bytes     int64  `json:"bytes"`
}

// Topic names the event.
func (DataProgress) Topic() string { return "data.progress" }
