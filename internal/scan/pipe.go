package scan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/redact"
)

// The bounds of what is in flight between reading and storing. Three batches
// exist at most: one that fills, one that waits, one that is stored.
const (
	batchBytes = 2 << 20
	batchTurns = 1000

	unavailableWait = 60 * time.Second // how long a scan waits for a runtime that is starting again
)

// pipe reads tasks and stores what they hold. Reading, with its parsing and
// redaction, goes on while the batch before is being stored.
type pipe struct {
	scanner *Scanner
	tally   *tally
	limit   int // turns after which reading ends; 0 means none
	turns   int
}

// batch is what is stored at once, with the marks that are true after it.
type batch struct {
	conversations []redact.Conversation
	marks         map[string]map[string]ambry.FileMark // by agent and path
	parts         []part
	size, turns   int
}

// part is what one item of a source adds to the tally.
type part struct {
	agent, session   string
	messages, turns  int
	redactions, skip int
	read             int64
	notes            []string
}

// run reads all tasks. It returns the error that made it give up, if any;
// sources that cannot be read are counted and passed over.
func (p *pipe) run(ctx context.Context, tasks []task) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan batch, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(batches)
		p.read(ctx, tasks, batches)
	})
	var err error
	for b := range batches {
		if err != nil {
			continue
		}
		if err = p.store(ctx, b); err != nil {
			cancel()
		}
	}
	wg.Wait()
	return err
}

func (p *pipe) read(ctx context.Context, tasks []task, out chan<- batch) {
	b := batch{}
	flush := func() bool {
		if len(b.parts) == 0 {
			return true
		}
		select {
		case out <- b:
			b = batch{}
			return true
		case <-ctx.Done():
			return false
		}
	}
	for _, t := range tasks {
		for item, err := range t.agent.History.Read(ctx, t.source, t.from) {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				p.tally.fail(t.agent.ID, t.source.Path, err)
				break
			}
			b.add(t, item)
			p.turns += len(item.Conversation.Turns)
			if (b.size >= batchBytes || b.turns >= batchTurns) && !flush() {
				return
			}
			if p.limit > 0 && p.turns >= p.limit {
				flush()
				return
			}
		}
	}
	flush()
}

func (b *batch) add(t task, item agent.Item) {
	pt := part{
		agent: t.agent.ID, session: item.Conversation.Session.ID,
		read: item.Read, skip: item.Skipped, notes: item.Notes, turns: len(item.Conversation.Turns),
	}
	if pt.turns > 0 {
		item.Conversation.Session.Agent = t.agent.Writer()
		clean := redact.Clean(item.Conversation)
		b.conversations = append(b.conversations, clean)
		pt.redactions = clean.Found()
		for _, turn := range item.Conversation.Turns {
			pt.messages += len(turn.Messages)
			b.size += size(turn)
		}
	}
	b.turns += pt.turns
	b.parts = append(b.parts, pt)
	data, err := json.Marshal(item.Next)
	if err != nil {
		panic(fmt.Sprintf("scan: a mark must be JSON: %v", err))
	}
	if b.marks == nil {
		b.marks = map[string]map[string]ambry.FileMark{}
	}
	if b.marks[t.agent.ID] == nil {
		b.marks[t.agent.ID] = map[string]ambry.FileMark{}
	}
	b.marks[t.agent.ID][t.source.Path] = ambry.FileMark{Mark: data, Messages: item.Next.Messages, Bytes: item.Next.Size}
}

func size(t ambry.Turn) int {
	n := 0
	for _, m := range t.Messages {
		n += len(m.Text) + 64
		for _, c := range m.Calls {
			n += len(c.Input) + len(c.Output) + 64
		}
	}
	return n
}

// store hands a batch to the memory and only then moves the marks.
func (p *pipe) store(ctx context.Context, b batch) error {
	var done ambry.Imported
	if len(b.conversations) > 0 {
		var err error
		if done, err = p.insist(ctx, b.conversations); err != nil {
			return err
		}
	}
	for agentID, marks := range b.marks {
		if err := p.scanner.Marks.SetMarks(ctx, agentID, marks); err != nil {
			return fmt.Errorf("remember how far %s was read: %w", agentID, err)
		}
	}
	p.tally.stored(b, done)
	return nil
}

// insist imports, and waits for a runtime that is starting again.
func (p *pipe) insist(ctx context.Context, cs []redact.Conversation) (ambry.Imported, error) {
	deadline := time.Now().Add(unavailableWait)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		done, err := p.scanner.Memory.Import(ctx, cs)
		switch kind := ambry.KindOf(err); {
		case err == nil, ctx.Err() != nil, time.Now().After(deadline):
			return done, err
		case kind != ambry.MemoryUnavailable && kind != ambry.UpstreamFailed && kind != ambry.MemoryTimeout:
			return done, fmt.Errorf("store: %w", err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return done, errors.Join(err, ctx.Err())
		}
	}
}
