package memory

import (
	"context"
	"io"

	"ambry.dev/ambry"
)

// Custody is how things leave a memory for good, and how they come back. Each
// is whole or did not happen, also when the process is killed in the middle.
type Custody interface {
	// ForgetAll deletes what is selected, so that no import brings it back. When
	// it returns nothing finds or reads it any more; its bytes are overwritten
	// then or a little later, see Scrub.
	ForgetAll(ctx context.Context, f ambry.Forget, key string) (ambry.ForgottenAll, error)

	// Scrub overwrites what was deleted before, wherever the memory's files still
	// have bytes of it. Deep rewrites the whole file, also if nothing is known to
	// be left.
	Scrub(ctx context.Context, deep bool) (ambry.Scrubbed, error)

	// Wipe empties the memory. What was forgotten before stays forgotten unless
	// all is true.
	Wipe(ctx context.Context, all bool) (ambry.Wiped, error)

	// Export writes the memory as it is now, as lines of JSON in the order in
	// which Restore takes them. Writes go on meanwhile and are not in it.
	Export(ctx context.Context, w io.Writer) error

	// Restore adds what Export wrote, a batch at a time: each is added whole or
	// not, and adding again changes nothing. What is there already is treated as
	// the policy says.
	Restore(ctx context.Context, r io.Reader, p ambry.RestorePolicy) (ambry.Restored, error)

	// Backup makes a copy of the memory as it is now in the backups of its home,
	// and returns its name.
	Backup(ctx context.Context) (ambry.BackupMade, error)

	// Rebuild makes what is derived from the rows anew.
	Rebuild(ctx context.Context) error
}
