package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

// hookLife is longer than any hook runs: older files that it was writing are
// left over.
const hookLife = time.Minute

// Settle prepares for something that is about to be forgotten. What hooks have
// told of is given to the memory, which forgets it then and knows it when it
// comes again, from here or from the log of the agent; so is a selected turn
// that has not ended. Unless it is only tried, these turns are taken out of our
// files, so that nothing that is said of them later is kept. Told is whether the
// memory was given the turn before.
func (s *Spool) Settle(ctx context.Context, selected func(c ambry.Conversation, told bool) bool, dry bool) error {
	err := s.eachFile(turnsDir(s.Dir), func(path string, data []byte) error {
		var p pending
		if json.Unmarshal(data, &p) != nil || !complete(p.Conversation) || !selected(p.Conversation.Conversation(), p.Told != "") {
			return nil
		}
		if p.Told == "" {
			if err := keep(s.Dir, p.Conversation, time.Now()); err != nil {
				return err
			}
		}
		if dry {
			return nil
		}
		return os.Remove(path)
	})
	if err != nil {
		return fmt.Errorf("look for what hooks told of: %w", err)
	}
	err = s.Take(ctx)
	if dry || err != nil && ambry.KindOf(err) != ambry.Internal {
		return err // there is nobody who could forget anything
	}
	tidy(turnsDir(s.Dir), "", ".turn-", hookLife) // of a version before
	tidy(turnsDir(s.Dir), tempSuffix, "", hookLife)
	tidy(spoolDir(s.Dir), tempSuffix, "", hookLife)
	// What the memory does not take now must not come later.
	return s.eachFile(spoolDir(s.Dir), func(path string, data []byte) error {
		var kept redact.Conversation
		if json.Unmarshal(data, &kept) != nil || !selected(kept.Conversation(), false) {
			return nil
		}
		return os.Remove(path)
	})
}

// eachFile calls do for each file of turns in a directory.
func (s *Spool) eachFile(dir string, do func(path string, data []byte) error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(path)
		if err == nil {
			err = do(path, data)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a hook has gone on
			return err
		}
	}
	return nil
}
