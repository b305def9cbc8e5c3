package keep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// IntentName is the file of our directory that says that everything is to be deleted. It is
// there from the moment on that nothing can stop it: a service that is killed
// in the middle goes on at its next start.
const IntentName = "deleting.json"

type intent struct {
	Scope ambry.Scope `json:"scope"`
}

// Delete deletes everything. It stops a scan first. When it returns, the content
// is not on the disk any more, but for exports, which are the person's.
func (k *Keeper) Delete(ctx context.Context, in ambry.DeleteData) (ambry.DataDeleted, error) {
	if !in.Confirm {
		return ambry.DataDeleted{}, ambry.InvalidArgument.Errorf(`deleting everything needs "confirm": true`)
	}
	if in.Scope == "" {
		in.Scope = ambry.ScopeMemory
	}
	end, err := k.begin()
	if err != nil {
		return ambry.DataDeleted{}, err
	}
	defer end()
	if err := k.StopScan(ctx); err != nil {
		return ambry.DataDeleted{}, err
	}
	data, err := json.Marshal(intent{Scope: in.Scope})
	if err != nil {
		return ambry.DataDeleted{}, err
	}
	if err := home.WriteFile(k.intent(), data, 0o600); err != nil {
		return ambry.DataDeleted{}, writing(err)
	}
	return k.deleteNow(ctx, in.Scope)
}

func (k *Keeper) intent() string { return filepath.Join(k.Home.Dir(), IntentName) }

// Resume goes on with a deletion that was broken off. Call it at the start,
// before anything is read.
func (k *Keeper) Resume(ctx context.Context) error {
	data, err := os.ReadFile(k.intent())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("go on deleting: %w", err)
	}
	var i intent
	if err := json.Unmarshal(data, &i); err != nil || i.Scope != ambry.ScopeMemory && i.Scope != ambry.ScopeAll {
		return errors.Join(fmt.Errorf("go on deleting: %s makes no sense; nothing is deleted", IntentName), os.Remove(k.intent()))
	}
	end, err := k.begin()
	if err != nil {
		return err
	}
	defer end()
	k.Log.Info("going on with a deletion that was broken off")
	_, err = k.deleteNow(ctx, i.Scope)
	return err
}

// deleteNow does what an intent says. Each step can be done again.
func (k *Keeper) deleteNow(ctx context.Context, scope ambry.Scope) (ambry.DataDeleted, error) {
	out := ambry.DataDeleted{OK: true, Scope: scope, Removed: map[string]int64{}}
	// What hooks told of goes first: it must not be taken when all is empty.
	for _, dir := range []string{"turns", "spool"} {
		n, err := emptyDir(filepath.Join(k.Home.Hooks(), dir), anyName)
		if err != nil {
			return out, err
		}
		out.Removed["spool"] += n
	}
	wiped, err := k.Memory.Wipe(ctx, scope == ambry.ScopeAll)
	if err != nil {
		return out, err
	}
	out.Removed["memories"], out.Removed["sessions"], out.Removed["turns"], out.Removed["calls"] = wiped.Memories, wiped.Sessions, wiped.Turns, wiped.Calls
	databases := func(name string) bool {
		return strings.HasPrefix(name, "memory-") || scope == ambry.ScopeAll && strings.HasPrefix(name, "app-")
	}
	if out.Removed["backups"], err = emptyDir(k.Home.Backups(), databases); err != nil {
		return out, err
	}
	if out.Removed["damaged"], err = emptyDir(filepath.Join(k.Home.Dir(), "damaged"), anyName); err != nil {
		return out, err
	}
	if scope == ambry.ScopeAll {
		if err := k.State.Reset(ctx); err != nil {
			return out, err
		}
		if out.Removed["logs"], err = emptyLogs(k.Home.Logs()); err != nil {
			return out, err
		}
	}
	if err := os.Remove(k.intent()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("end the deletion: %w", err)
	}
	if err := home.SyncDir(k.Home.Dir()); err != nil {
		return out, fmt.Errorf("end the deletion: %w", err)
	}
	out.ClearedAt = k.Now().UTC()
	out.Kept = k.kept(scope)
	if !wiped.Scrubbed {
		out.Kept = append(out.Kept, "some bytes of the memory's file, which are being overwritten")
	}
	return out, nil
}

// kept says what a deletion leaves.
func (k *Keeper) kept(scope ambry.Scope) []string {
	kept := []string{"the histories of the agents themselves, in their own directories"}
	if n := countFiles(k.Home.Exports()); n > 0 {
		kept = append(kept, fmt.Sprintf("%d exports in exports/, which are yours", n))
	}
	if _, err := os.Stat(k.Home.Config()); err == nil {
		kept = append(kept, "config.yaml, which is yours")
	}
	if scope != ambry.ScopeMemory {
		kept = append(kept, `what connects your agents, in their own files; "ambry disconnect --all" takes it out`)
	} else {
		kept = append(kept, "your choices, and how far each history was read: only what is new is read from now on, and everything by a full scan",
			"digests of what was forgotten before, so that it stays so")
	}
	return kept
}

func countFiles(dir string) (n int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	return len(entries)
}

func anyName(string) bool { return true }

// emptyDir removes the files of a directory that have certain names.
func emptyDir(dir string, these func(name string) bool) (n int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("empty a directory: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || !these(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return n, fmt.Errorf("empty a directory: %w", err)
		}
		n++
	}
	return n, nil
}

// emptyLogs cuts logs to nothing; the programs that write them go on.
func emptyLogs(dir string) (n int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("empty the logs: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if err := os.Truncate(filepath.Join(dir, e.Name()), 0); err != nil {
			return n, fmt.Errorf("empty the logs: %w", err)
		}
		n++
	}
	return n, nil
}
