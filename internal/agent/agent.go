// Package agent is the contract of the coding agents: what a plug-in says of
// an agent, the shared ways to read histories, from files ([Files]) and from
// databases, and what there is to write into an agent's files ([Lesson]). It
// knows no agent by name and writes nothing itself.
package agent

import (
	"context"
	"iter"
	"time"

	"ambry.dev/ambry"
)

// Agent says what we know of a coding agent. A nil field means that we cannot.
type Agent struct {
	ID      string // lower case with underscores, such as claude_code; never changes
	Name    string // as people write it
	History History
	Lesson  Lesson

	// Elsewhere returns the history of a copy of the agent's files in dir, which
	// may be all of its directory or only the part with the history. What the
	// environment says is not looked at. Nil means that copies cannot be read.
	Elsewhere func(dir string) History

	// Of is the agent that wrote the history, if this is not an agent but a copy of
	// the files of one.
	Of string
}

// Writer is whom conversations of the history are with.
func (a Agent) Writer() string {
	if a.Of != "" {
		return a.Of
	}
	return a.ID
}

// Home is where a person's programs keep their files. It is a value, so that
// a test, or a scan of another person's backup, can name its own.
type Home struct {
	Dir    string              // the home directory, absolute
	OS     string              // as runtime.GOOS
	Getenv func(string) string // nil means an empty environment
}

// Env returns the value of a variable, or "".
func (h Home) Env(name string) string {
	if h.Getenv == nil {
		return ""
	}
	return h.Getenv(name)
}

// History is how to find and read what an agent keeps. An implementation has
// no state: all that a later reading needs is in the mark.
type History interface {
	// Roots are the directories that hold the history, whether they exist or
	// not; the first one is shown to the person. They are watched for changes.
	Roots(h Home) []string

	// Sources yields the files (or databases) of the history below h, each once,
	// in an order that is the same every time. An error is about one source or
	// directory; the iteration goes on after it.
	Sources(ctx context.Context, h Home) iter.Seq2[Source, error]

	// Locate returns the source that a changed file belongs to, if any.
	Locate(h Home, path string) (Source, bool)

	// Read yields what is in src after from, a piece at a time, in order. Stopping
	// after any item and reading again from its mark yields the rest: nothing is
	// lost, and what comes twice has the same ids. An error ends the reading of
	// this source; what was yielded before it is good.
	Read(ctx context.Context, src Source, from Mark) iter.Seq2[Item, error]
}

// Watcher is a [History] whose roots have directories below them in which
// nothing of it changes. Watching them would cost the system memory and, on
// some systems, an open file for each file in them.
type Watcher interface {
	// Watch reports whether to look for changes in a directory at or below a root.
	Watch(h Home, dir string) bool
}

// Source is a file or a database that holds history.
type Source struct {
	Path    string
	FileID  string // device and inode, or what the system has instead
	Size    int64
	ModTime time.Time

	// Stamp changes when the content does, for sources whose size and time say
	// too little: a database with a write-ahead log.
	Stamp string
}

// Mark is how far a source was read. The zero mark is the beginning. It is
// stored as JSON.
type Mark struct {
	FileID  string    `json:"fileId,omitempty"`
	Size    int64     `json:"size,omitempty"`
	ModTime time.Time `json:"modTime,omitzero"`
	Stamp   string    `json:"stamp,omitempty"`

	// Offset is the first byte not read for good, Line the number of lines before
	// it. Reading goes on there if the bytes before it are the same ones.
	Offset int64  `json:"offset,omitempty"`
	Line   int    `json:"line,omitempty"`
	Head   uint64 `json:"head,omitempty"` // hash of the first bytes, at most 4 KiB before Offset
	Tail   uint64 `json:"tail,omitempty"` // hash of the last bytes before Offset, at most 4 KiB

	// Messages is the number of messages read so far, Before that of those before
	// Offset.
	Messages int64 `json:"messages,omitempty"`
	Before   int64 `json:"before,omitempty"`

	// Cursor and State belong to the reader: where it is in a database, and what
	// it has to remember of the part before.
	Cursor string `json:"cursor,omitempty"`
	State  []byte `json:"state,omitempty"`

	// Done is set on the last mark of a reading, when everything up to Size was
	// seen, apart from what Offset holds back.
	Done bool `json:"done,omitempty"`
}

// Covers reports whether a source is as it was when it was read to its end, so
// that it need not be opened.
func (m Mark) Covers(s Source) bool {
	return m.Done && m.FileID == s.FileID && m.Size == s.Size && m.Stamp == s.Stamp && m.ModTime.Equal(s.ModTime)
}

// Item is a piece of a history: some turns of one session.
type Item struct {
	Conversation ambry.Conversation // may be without turns, on the last item of a source
	Next         Mark               // where to go on once this item is stored
	Read         int64              // bytes of the source read since the item before
	Skipped      int                // records since the item before that could not be read
	Notes        []string           // about skipped records: what and on which line, a few of them
}
