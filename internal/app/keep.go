package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/gateway"
	"ambry.dev/ambry/internal/keep"
	"ambry.dev/ambry/internal/redact"
)

func (s *service) newKeeper(scans consenting, channels *gateway.Gateway, memory *memoryRuntime, bus *event.Bus) *keep.Keeper {
	return &keep.Keeper{
		Home: s.home, UserHome: s.options.UserHome, Version: s.options.Version,
		Memory: memory, Intake: intake{memory}, State: resetting{s.db, scans, channels}, StopScan: scans.Stop, Bus: bus, Log: s.log, Now: now,
	}
}

// intake is the memory as an import sees it: secrets are taken out here, before
// anything goes on.
type intake struct{ memory *memoryRuntime }

// AddNote adds a note.
func (i intake) AddNote(ctx context.Context, n ambry.Note, key string) (ambry.Memory, error) {
	return i.memory.Add(ctx, redact.CleanNote(n), key)
}

// AddConversations adds conversations.
func (i intake) AddConversations(ctx context.Context, cs []ambry.Conversation) (ambry.Imported, error) {
	clean := make([]redact.Conversation, len(cs))
	for n, c := range cs {
		clean[n] = redact.Clean(c)
	}
	return i.memory.Import(ctx, clean)
}

// resumeWait is how often a deletion that was broken off asks for the memory.
const resumeWait = 200 * time.Millisecond

// resumeDeletion removes what was broken off before, and goes on with a deletion
// that was, once the memory is there.
func (s *service) resumeDeletion(ctx context.Context, k *keep.Keeper, memory *memoryRuntime) error {
	if err := k.Tidy(); err != nil {
		s.log.Warn("half an export stays", "err", err)
	}
	if _, err := os.Stat(filepath.Join(s.home.Dir(), keep.IntentName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for {
		if _, err := memory.Status(ctx); err == nil {
			return k.Resume(ctx)
		}
		select {
		case <-time.After(resumeWait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
