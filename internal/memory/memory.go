// Package memory is the contract of the memory runtime: what the service, the
// command line and the agents may ask of it. It holds no storage and no search;
// those are behind it, in the packages below.
package memory

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

// Runtime is a memory. All methods may be called at the same time. What a
// method returned without an error is on the disk: it survives kill -9 and
// power loss. Errors have a kind of package ambry: a runtime that is down
// answers [ambry.MemoryUnavailable], a full disk [ambry.StorageFull].
//
// A key makes a write idempotent: the same key with the same request returns
// the first answer and changes nothing; with another request it is
// [ambry.Conflict]. An empty key asks for nothing.
type Runtime interface {
	// Import adds conversations, all or none. A turn that is known already, by
	// agent, id and part, is brought up to date or left alone; so importing again
	// changes nothing. Turns of sessions that hold copies of them are kept once.
	Import(ctx context.Context, cs []redact.Conversation) (ambry.Imported, error)

	// Add adds one note and returns it as a memory.
	Add(ctx context.Context, n redact.Note, key string) (ambry.Memory, error)

	// Search answers a query, best hit first. A session that is named is given no
	// memory twice in its context, unless the memory changed.
	Search(ctx context.Context, q ambry.Query) (ambry.Answer, error)

	// Get returns a memory with its whole text, or [ambry.NotFound].
	Get(ctx context.Context, id string) (ambry.Detail, error)

	// Patch changes a memory.
	Patch(ctx context.Context, id string, p ambry.Patch, key string) (ambry.Memory, error)

	// Forget deletes a memory, so that importing its turn again does not bring it
	// back.
	Forget(ctx context.Context, id, key string) (ambry.Forgotten, error)

	// Status says how the runtime is.
	Status(ctx context.Context) (ambry.MemoryHealth, error)
}

// Panel is what a person looks through. Every answer comes from counters and
// indexes, at the same speed for a thousand memories and a million.
type Panel interface {
	Source(ctx context.Context, id string) (ambry.Provenance, error)
	Overview(ctx context.Context) (ambry.Overview, error)
	Items(ctx context.Context, q ambry.ItemsQuery) (ambry.Items, error)
	Sessions(ctx context.Context, q ambry.SessionsQuery) (ambry.Sessions, error)
	Transcript(ctx context.Context, session string, page int) (ambry.Transcript, error)
}

// Journal is what was asked of a memory, and what came of it.
type Journal interface {
	// Feedback says what a memory was good for. Said again about the same search,
	// it replaces what was said before.
	Feedback(ctx context.Context, id string, f ambry.Feedback, key string) (ambry.FeedbackTaken, error)

	// Logs returns searches and added notes, newest first. What was answered
	// before is in it, unless it came too fast to be logged.
	Logs(ctx context.Context, q ambry.LogsQuery) (ambry.Logs, error)
}

// Audit is told what was done with single memories and sessions.
type Audit interface {
	// Record has an access logged, some time later. It never waits.
	Record(a ambry.Access)
}

// Turns takes what agents tell of their sessions while they happen. Every call
// may come twice, late, or without the one before it. A turn that the agent's
// log tells of too, before or after, is one turn.
type Turns interface {
	// OpenSession begins a session, or goes on with one, closed or not.
	OpenSession(ctx context.Context, o ambry.SessionOpen, key string) (ambry.SessionOpened, error)

	// CloseSession ends a session. A turn of it may still be completed.
	CloseSession(ctx context.Context, id string, c ambry.SessionClose, key string) (ambry.SessionClosed, error)

	// StartTurn says what the memory has on a request. In a closed session it is
	// [ambry.Conflict], in one that nobody opened [ambry.NotFound], unless the
	// source is named. A key makes only the turn the same, not the answer.
	StartTurn(ctx context.Context, b ambry.TurnStart, key string) (ambry.TurnStarted, error)

	// CompleteTurn remembers a turn as an agent tells of it. Of a turn that was
	// forgotten it is [ambry.Gone].
	CompleteTurn(ctx context.Context, turn string, c ambry.TurnComplete, key string) (ambry.TurnCompleted, error)
}

// Insight is what a person looks through beside [Panel], at the same speed.
type Insight interface {
	// Analysis says what became of the memories. What was answered before is in it.
	Analysis(ctx context.Context) (ambry.Analysis, error)

	Tasks(ctx context.Context, q ambry.TasksQuery) (ambry.Tasks, error)

	// Processing says how far memories are made ready, in the order of ids, of
	// which there are 10,000 at most. Those that are not there are left out.
	Processing(ctx context.Context, ids []string) (ambry.Processing, error)

	// RetryProcessing has a trace looked at again for what can be learned from it.
	// Nothing else about a memory can fail.
	RetryProcessing(ctx context.Context, id string) (ambry.Retried, error)

	// ForgetTask deletes all that is remembered of a session, by the id of its
	// episode, as [Runtime.Forget] deletes a memory.
	ForgetTask(ctx context.Context, id, key string) (ambry.ForgottenTask, error)

	// Related returns the neighbours of a memory in its session, and up to limit
	// memories of its project that share rare words with it; 0 means 10.
	Related(ctx context.Context, id string, limit int) (ambry.Related, error)
}
