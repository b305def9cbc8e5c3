// Package keep is what becomes of a person's data: it leaves in an export, comes
// back from one or from another program, is deleted for good, and is shown where
// it is. It stores nothing and searches nothing; the memory itself does each of
// these behind package memory.
package keep

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/memory"
)

// Intake takes what other programs remembered. It takes secrets out.
type Intake interface {
	AddNote(ctx context.Context, n ambry.Note, key string) (ambry.Memory, error)
	AddConversations(ctx context.Context, cs []ambry.Conversation) (ambry.Imported, error)
}

// State is what the service itself knows.
type State interface {
	// Reset deletes all of it: how far histories were read, and what the person
	// chose.
	Reset(ctx context.Context) error
}

// Bus is told what happens.
type Bus interface {
	Publish(p ambry.Payload) ambry.Event
}

// Keeper keeps the data of one home. Its fields are set before it is used.
type Keeper struct {
	Home     home.Home
	UserHome string // below which exports may go
	Version  string
	Memory   memory.Custody
	Intake   Intake
	State    State
	StopScan func(ctx context.Context) error
	Bus      Bus
	Log      *slog.Logger
	Now      func() time.Time

	busy sync.Mutex // one export, import or deletion at a time
}

// begin takes the keeper for something that must be alone.
func (k *Keeper) begin() (end func(), err error) {
	if !k.busy.TryLock() {
		return nil, ambry.Conflict.Errorf("an export, an import or a deletion is going on; wait for it")
	}
	return k.busy.Unlock, nil
}

// progressEvery is how often somebody who waits is told how far it is.
const progressEvery = 250 * time.Millisecond

// progress tells of one operation.
type progress struct {
	keeper *Keeper
	now    ambry.DataProgress
	told   time.Time
}

func (k *Keeper) progress(operation string) *progress {
	return &progress{keeper: k, now: ambry.DataProgress{Operation: operation, Phase: "read"}}
}

func (p *progress) add(records, bytes int64) {
	p.now.Records += records
	p.now.Bytes += bytes
	if at := p.keeper.Now(); at.Sub(p.told) >= progressEvery {
		p.told = at
		p.keeper.Bus.Publish(p.now)
	}
}

func (p *progress) end(err error) {
	p.now.Phase = "done"
	if err != nil {
		p.now.Phase = "failed"
	}
	p.keeper.Bus.Publish(p.now)
}
