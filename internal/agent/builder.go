package agent

import (
	"fmt"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// The sizes that a reader keeps to. What is longer is cut in the middle.
const (
	MaxText   = 64 << 10 // bytes of a message
	MaxInput  = 4 << 10  // bytes of a tool call's arguments
	MaxOutput = 8 << 10  // bytes of a tool call's result
	MaxTitle  = 200      // bytes of a session's title

	partBytes   = 64 << 10  // a part of a turn ends when it is larger and no call is open
	partLimit   = 256 << 10 // and ends here with the message
	partMost    = 1 << 20   // and here in any case
	itemBytes   = 512 << 10 // an item ends when its turns are larger
	maxNotes    = 5
	maxAttached = 100 // files of a message that are told
)

// Builder gathers the messages of one file into turns, and the turns into
// items. A parser feeds it; the order of the calls is the order of the file.
type Builder struct {
	// Session is what is known of the session so far; the parser fills it in.
	Session ambry.Session

	ready   []ambry.Turn // closed, to be yielded
	size    int          // bytes of text in ready
	turn    *ambry.Turn  // open
	partLen int
	calls   map[string]place // calls of the open part by id
	openN   int              // calls without a result
	ids     map[string]int   // messages of the open part by id
	ordinal int              // turns begun in this file
	closed  int64            // messages of closed parts

	at      place // where the record being parsed stands
	skipped int
	notes   []string
	took    int64 // bytes of rows

	// A record may end a part and open the next one. Reading on at it must do
	// the second half only: steps counts what the record did, and done is how
	// many of its steps belong to the part before.
	steps, done int
	opened      bool       // in this record, a part was opened
	before      int        // steps of the record before that
	head        ambry.Turn // head of that part, if it goes on with a turn
	goesOn      ambry.Turn // head of the part that reading goes on in

	withheld bool // the open part is not told yet
}

// place is where a record stands in its file, or a call in its part.
type place struct {
	path         string
	row          string
	line         int
	offset, end  int64
	message, pos int
}

// NewBuilder returns a builder for a history that is not made of files; row
// names the row that the first turn is read from.
func NewBuilder(path, row string) *Builder {
	return &Builder{at: place{path: path, row: row}}
}

// Row says which row of a database the next messages are read from.
func (b *Builder) Row(row string) { b.at.row = row }

// Took counts bytes that were read from a database.
func (b *Builder) Took(bytes int64) { b.took += bytes }

// Finish ends the open turn and returns all that was gathered.
func (b *Builder) Finish() ambry.Conversation {
	b.close()
	return b.take()
}

// Item is [Builder.Finish] with what was counted since the item before. It has
// no mark yet.
func (b *Builder) Item() Item {
	item := Item{Conversation: b.Finish(), Read: b.took, Skipped: b.skipped, Notes: b.notes}
	b.took, b.skipped, b.notes = 0, 0, nil
	return item
}

// Begin starts a turn; the one before it ends. An empty id is replaced by one
// made from the session's id and the number of the turn, which is stable as
// long as the file only grows.
func (b *Builder) Begin(t ambry.Turn) *ambry.Turn {
	if b.past() {
		return &ambry.Turn{}
	}
	return b.begin(t)
}

func (b *Builder) begin(t ambry.Turn) *ambry.Turn {
	b.close()
	b.withheld = false
	b.ordinal++
	if t.ID == "" {
		t.ID = fmt.Sprintf("%s#%d", b.Session.ID, b.ordinal)
	}
	b.open(t, ambry.Turn{})
	return b.turn
}

// Turn returns the open turn. If none is, one begins whose id is fallback.
func (b *Builder) Turn(fallback string) *ambry.Turn {
	if b.past() {
		return &ambry.Turn{}
	}
	return b.current(fallback)
}

func (b *Builder) current(fallback string) *ambry.Turn {
	switch {
	case b.turn != nil:
	case b.goesOn.ID != "":
		b.open(b.goesOn, b.goesOn)
	default:
		b.begin(ambry.Turn{ID: fallback})
	}
	return b.turn
}

// Open reports whether a turn is open, so that a message would belong to it.
func (b *Builder) Open() bool {
	return b.turn != nil || b.goesOn.ID != "" || b.steps < b.done
}

// past counts a step and reports whether it was done before the part that the
// reading goes on in.
func (b *Builder) past() bool {
	b.steps++
	return b.steps <= b.done
}

func (b *Builder) open(t, head ambry.Turn) {
	t.Source = ambry.Source{Path: b.at.path, Row: b.at.row, Line: b.at.line, Offset: b.at.offset, End: b.at.end}
	b.turn, b.partLen, b.openN = &t, 0, 0
	b.calls, b.ids = map[string]place{}, map[string]int{}
	b.opened, b.before, b.head, b.goesOn = true, b.steps-1, head, ambry.Turn{}
}

// Add adds a message to the open turn. A message whose id is there already is
// the same one told on: its texts, calls and files are joined and its tokens
// are counted once, the highest count being the right one.
func (b *Builder) Add(m ambry.Message) {
	if !b.past() {
		b.add(m)
	}
}

func (b *Builder) add(m ambry.Message) {
	t := b.current(m.ID)
	if i, ok := b.ids[m.ID]; ok && m.ID != "" && b.partLen <= partMost {
		b.join(i, m)
		return
	}
	if b.partLen > partLimit || b.partLen > partBytes && b.openN == 0 {
		b.nextPart()
		t = b.turn
	}
	m.Text = Cap(m.Text, MaxText)
	m.Files = m.Files[:min(len(m.Files), maxAttached)]
	m.Line, m.Offset = b.at.line, b.at.offset
	calls := m.Calls
	m.Calls = nil
	t.Messages = append(t.Messages, m)
	if m.ID != "" {
		b.ids[m.ID] = len(t.Messages) - 1
	}
	b.partLen += len(m.Text) + 64
	b.addCalls(len(t.Messages)-1, calls)
	b.saw(m)
}

func (b *Builder) join(i int, m ambry.Message) {
	old := &b.turn.Messages[i]
	before := len(old.Text)
	switch {
	case strings.Contains(old.Text, m.Text): // told again
	case strings.HasPrefix(m.Text, old.Text): // told from the beginning, and further
		old.Text = Cap(m.Text, MaxText)
	default:
		old.Text = Cap(old.Text+"\n\n"+m.Text, MaxText)
	}
	b.partLen += len(old.Text) - before
	old.Tokens = ambry.Tokens{
		Input:  max(old.Tokens.Input, m.Tokens.Input),
		Cached: max(old.Tokens.Cached, m.Tokens.Cached),
		Output: max(old.Tokens.Output, m.Tokens.Output),
	}
	if old.Model == "" {
		old.Model = m.Model
	}
	if old.At.IsZero() {
		old.At = m.At
	}
	old.Files = append(old.Files, m.Files[:min(len(m.Files), maxAttached-len(old.Files))]...)
	b.addCalls(i, m.Calls)
	b.saw(m)
}

func (b *Builder) addCalls(message int, calls []ambry.ToolCall) {
	for _, c := range calls {
		if _, known := b.calls[c.ID]; known && c.ID != "" {
			continue
		}
		c.Input, c.Output = Cap(c.Input, MaxInput), Cap(c.Output, MaxOutput)
		to := &b.turn.Messages[message]
		to.Calls = append(to.Calls, c)
		b.partLen += len(c.Input) + len(c.Output) + 64
		if c.ID != "" {
			b.calls[c.ID] = place{message: message, pos: len(to.Calls) - 1}
		}
		if !c.Done {
			b.openN++
		}
	}
}

// Result completes the call with r's id: its output, status and exit code. An
// empty output leaves the one that is there. A result whose call is not in the
// open part is kept as a call of its own.
func (b *Builder) Result(r ambry.ToolCall) {
	if b.past() {
		return
	}
	r.Done = true
	r.Output = Cap(r.Output, MaxOutput)
	if call := b.Call(r.ID); call != nil {
		if !call.Done {
			b.openN--
		}
		if r.Output != "" {
			b.partLen += len(r.Output) - len(call.Output)
			call.Output = r.Output
		}
		call.Done, call.Failed = true, call.Failed || r.Failed
		if r.ExitCode != nil {
			call.ExitCode = r.ExitCode
		}
		if r.Session != "" {
			call.Session = r.Session
		}
		return
	}
	messages := b.current(r.ID).Messages
	if last := len(messages) - 1; last >= 0 && messages[last].Role == ambry.Assistant && b.partLen <= partLimit {
		b.addCalls(last, []ambry.ToolCall{r})
		return
	}
	b.add(ambry.Message{Role: ambry.Assistant, At: r.At, Calls: []ambry.ToolCall{r}})
}

// Withhold keeps the open turn from being told, until Vouch is called or for
// good. It is for the copy of a turn that may be copied in part only: told
// later than the turn itself, it would take the place of it. A part that ends
// because it is long is whole, and told.
func (b *Builder) Withhold() {
	if !b.past() {
		b.withheld = true
	}
}

// Vouch says that the open turn is whole.
func (b *Builder) Vouch() {
	if !b.past() {
		b.withheld = false
	}
}

// Spend adds what an agent counts by itself, apart from its messages, to the
// last message of the open turn. Without a turn it is nobody's.
func (b *Builder) Spend(tokens ambry.Tokens) {
	if b.past() || !b.Open() {
		return
	}
	t := b.current("")
	if len(t.Messages) == 0 {
		b.add(ambry.Message{Role: ambry.Assistant})
	}
	last := &b.turn.Messages[len(b.turn.Messages)-1]
	last.Tokens = last.Tokens.Add(tokens)
}

// Change has f change the message of the open part with the given id, if it is
// there.
func (b *Builder) Change(id string, f func(m *ambry.Message)) {
	if b.past() {
		return
	}
	if i, ok := b.ids[id]; ok && b.turn != nil {
		m := &b.turn.Messages[i]
		b.partLen -= len(m.Text)
		f(m)
		m.Text = Cap(m.Text, MaxText)
		b.partLen += len(m.Text)
	}
}

// Hide hides what is in the open part: the agent gave it up.
func (b *Builder) Hide() {
	if b.past() || b.turn == nil {
		return
	}
	for i := range b.turn.Messages {
		b.turn.Messages[i].Hidden = true
	}
}

// Call returns the call of the open part with the given id, or nil.
func (b *Builder) Call(id string) *ambry.ToolCall {
	p, ok := b.calls[id]
	if !ok || b.turn == nil {
		return nil
	}
	return &b.turn.Messages[p.message].Calls[p.pos]
}

// Skip counts a record that could not be read.
func (b *Builder) Skip(why string) {
	b.skipped++
	if len(b.notes) >= maxNotes {
		return
	}
	where := fmt.Sprintf("line %d", b.at.line)
	if b.at.row != "" {
		where = "row " + b.at.row
	}
	b.notes = append(b.notes, where+": "+why)
}

// Path is the file being read.
func (b *Builder) Path() string { return b.at.path }

// Ordinal is the number of turns begun so far in this file.
func (b *Builder) Ordinal() int { return b.ordinal }

// saw keeps the times and the model of the session and the turn up to date.
func (b *Builder) saw(m ambry.Message) {
	if m.Model != "" {
		b.Session.Model, b.turn.Model = m.Model, m.Model
	}
	b.Seen(m.At)
	if b.turn.At.IsZero() {
		b.turn.At = m.At
	}
}

// Seen widens the time span of the session to hold t.
func (b *Builder) Seen(t time.Time) {
	if t.IsZero() {
		return
	}
	if b.Session.StartedAt.IsZero() || t.Before(b.Session.StartedAt) {
		b.Session.StartedAt = t
	}
	if t.After(b.Session.EndedAt) {
		b.Session.EndedAt = t
	}
}

// nextPart goes on with the open turn in a new part.
func (b *Builder) nextPart() {
	head := ambry.Turn{ID: b.turn.ID, Part: b.turn.Part + 1, Cwd: b.turn.Cwd, Branch: b.turn.Branch, Model: b.turn.Model}
	withheld := b.withheld
	b.withheld = false
	b.close()
	b.withheld = withheld
	b.open(head, head)
}

// close ends the open turn.
func (b *Builder) close() {
	if b.turn == nil {
		return
	}
	if t, ok := b.finished(); ok {
		b.ready = append(b.ready, t)
		b.size += b.partLen
		b.closed += int64(len(t.Messages))
	}
	b.turn = nil
}

// finished returns the open turn with its sums, unless nothing is in it or it
// is withheld.
func (b *Builder) finished() (ambry.Turn, bool) {
	if b.turn == nil || len(b.turn.Messages) == 0 || b.withheld {
		return ambry.Turn{}, false
	}
	t := *b.turn
	for _, m := range t.Messages {
		t.Tokens = t.Tokens.Add(m.Tokens)
	}
	return t, true
}

// take returns the conversation of the closed turns, and starts over.
func (b *Builder) take() ambry.Conversation {
	c := ambry.Conversation{Session: b.Session, Turns: b.ready}
	c.Session.Title = Cap(c.Session.Title, MaxTitle)
	b.ready, b.size = nil, 0
	return c
}
