package store

import "ambry.dev/ambry/internal/memory/sqlite"

// A holding is a table, and what forgetting has to do with it. Each table is in
// the list, so that nobody adds one whose text outlives what was forgotten.
type holding struct {
	table string

	// by is the column that names a memory: the rows go with it. Empty if the
	// table holds nothing of single memories, or package store deletes from it in
	// its own way.
	by string

	// texts are the columns that hold what people said or wrote: a memory is found
	// by the words in them, when by is set.
	texts []string

	// wipe says whether the rows go when the memory is emptied.
	wipe wiping
}

type wiping int

const (
	wiped    wiping = iota
	wipedAll        // only if what was forgotten may come back too
	stays           // the table is about the file itself
)

// holdings are all tables but those of the text index, which hold terms of what
// is in the others.
var holdings = []holding{
	{table: "agent"},
	{table: "project"},
	{table: "source"},
	{table: "session"},
	{table: "turn"},
	{table: "copy"},
	{table: "memory"},
	{table: "tombstone", wipe: wipedAll},
	{table: "gone", wipe: wipedAll},
	{table: "idempotency"},
	{table: "change"},
	{table: "tally"},
	{table: "day"},
	{table: "total", wipe: stays}, // wipe sets it to zero
	{table: "meta", wipe: stays},
	{table: "recall_log"},
	{table: "recall_tally"},
	{table: "recall_day"},
	{table: "recall_time"},
	{table: "feedback", by: "memory"}, // its note is a person's word about the memory, not the memory
	{table: "uses", by: "memory"},
	{table: "claim"}, // its text is of its evidence, and goes with it; see revoke
	{table: "evidence"},
	{table: "unlearned"},
	{table: "learned_tally"},
	{table: "live_session"},
	{table: "live_turn"},
}

// forgetHeld deletes what other tables hold of a memory.
func (t *tx) forgetHeld(memory int64) error {
	for _, h := range holdings {
		if h.by == "" {
			continue
		}
		if err := t.exec("DELETE FROM "+h.table+" WHERE "+h.by+" = ?", memory); err != nil {
			return sqlite.Wrapf(err, "forget what %s holds of a memory", h.table)
		}
	}
	return nil
}
