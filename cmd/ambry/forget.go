package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"uuid"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
)

// forgetting is what "ambry forget" was asked for.
type forgetting struct {
	ambry.Forget
	yes           bool
	verify        bool
	removeBackups bool
	removeExports bool
}

func (p *program) forgetCommand() *cobra.Command {
	var f forgetting
	var id bool
	cmd := &cobra.Command{
		Use:   "forget [WORDS...]",
		Short: "Forget something for good",
		Long: `Forget deletes everything in whose text the words stand, in their order and
whatever their case; or with a flag a memory, a session, a project or all of an
agent. It is deleted from the disk too, all or nothing, and no scan brings it
back. Without --yes it shows what would go and asks.

--verify looks whether words stand anywhere in Ambry's directory, byte by byte
and also in what is packed; alone it changes only logs, in which it overwrites
them. Backups and exports that have them are listed, and removed with
--remove-backups and --remove-exports.`,
		Example: `  ambry forget "project nightingale" --dry-run
  ambry forget "project nightingale" --yes --verify --remove-backups
  ambry forget --session 0199a3f2-77aa-7c11-b0b6-0d5e6f1f2a3b
  ambry forget --id trace_0199a3f2
  ambry forget --verify "project nightingale" --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if id {
				f.IDs = args
			} else {
				f.Words = strings.Join(args, " ")
			}
			if err := f.Validate(); err != nil {
				return usageError{err}
			}
			if f.verify && f.Words == "" {
				return usageError{ambry.InvalidArgument.Errorf("--verify needs words to look for")}
			}
			return p.forget(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&id, "id", false, "the arguments are ids of memories")
	flags.StringVar(&f.SessionID, "session", "", "all of the session with this `id`")
	flags.StringVar(&f.Agent, "agent", "", "all of this `agent`, or with --session the agent of the session")
	flags.StringVar(&f.Project, "project", "", "all of the project in this `directory` and below it")
	flags.BoolVar(&f.DryRun, "dry-run", false, "only show what would be forgotten")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&f.verify, "verify", false, "afterwards look whether the words stand anywhere on the disk")
	flags.BoolVar(&f.removeBackups, "remove-backups", false, "with --verify: remove backups that have the words")
	flags.BoolVar(&f.removeExports, "remove-exports", false, "with --verify: remove exports that have the words")
	return cmd
}

// forgotten is what forget writes as JSON.
type forgotten struct {
	*ambry.ForgottenAll
	Verify *ambry.DataChecked `json:"verify,omitempty"`
}

func (p *program) forget(ctx context.Context, f forgetting) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WaitMemory(ctx); err != nil {
		return err
	}
	var out forgotten
	dry := f.Forget
	dry.DryRun = true
	would, err := c.ForgetAll(ctx, dry, "")
	switch {
	case ambry.KindOf(err) == ambry.NotFound && f.verify:
		p.note("%v", err)
	case err != nil:
		return err
	case f.DryRun:
		out.ForgottenAll = &would
		if !p.json {
			p.printWould(would)
		}
	default:
		if !f.yes {
			if p.json {
				return usageError{ambry.InvalidArgument.Errorf("with --json say --yes or --dry-run")}
			}
			p.printWould(would)
			if !p.agrees("Forget this for good?") {
				return ambry.InvalidArgument.Errorf("nothing was forgotten")
			}
		}
		done, err := c.ForgetAll(ctx, f.Forget, uuid.NewV7().String())
		if err != nil {
			return err
		}
		out.ForgottenAll = &done
		p.printForgotten(done)
	}
	if f.verify {
		checked, err := c.CheckData(ctx, ambry.DataCheck{Words: f.Words, RemoveBackups: f.removeBackups && !f.DryRun, RemoveExports: f.removeExports && !f.DryRun})
		if err != nil {
			return err
		}
		out.Verify = &checked
		p.printChecked(checked)
	}
	if p.json {
		err = p.printJSON(out)
	} else {
		err = nil
	}
	if err == nil && out.Verify != nil && !out.Verify.Absent && !f.DryRun {
		return errSaid
	}
	return err
}

// agrees asks a person, and takes nothing else than yes for it.
func (p *program) agrees(question string) bool {
	fmt.Fprintf(p.err, "%s [y/N] ", question)
	line, _ := bufio.NewReader(p.in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

func (p *program) printWould(f ambry.ForgottenAll) {
	p.printf("Would forget %s.\n", amounts(f))
	for _, m := range f.Examples {
		p.printf("  %s  %s\n", m.ID, ambry.Plain(m.Title))
	}
	if more := f.Memories - int64(len(f.Examples)); more > 0 {
		p.printf("  and %s more\n", count(more))
	}
}

func (p *program) printForgotten(f ambry.ForgottenAll) {
	if p.json {
		return
	}
	p.printf("Forgot %s.\n", amounts(f))
	if !f.Scrubbed {
		p.printf("Its bytes on the disk are being overwritten.\n")
	}
}

func amounts(f ambry.ForgottenAll) string {
	parts := []string{counted(f.Memories, "memory", "memories"), counted(f.Turns, "turn", "turns")}
	for _, part := range []struct {
		n         int64
		one, many string
	}{{f.Sessions, "session", "sessions"}, {f.Titles, "title of a session", "titles of sessions"}, {f.Calls, "entry of the log", "entries of the log"}} {
		if part.n > 0 {
			parts = append(parts, counted(part.n, part.one, part.many))
		}
	}
	return strings.Join(parts, ", ")
}

func (p *program) printChecked(c ambry.DataChecked) {
	if p.json {
		return
	}
	for _, name := range c.Removed {
		p.printf("Removed %s.\n", ambry.Plain(name))
	}
	if c.Masked > 0 {
		p.printf("Overwrote %s in the logs.\n", counted(int64(c.Masked), "place", "places"))
	}
	if c.Absent {
		p.printf("The words stand nowhere in %s, %s.\n", counted(int64(c.Files), "file", "files"), size(c.Bytes))
		return
	}
	p.printf("The words still stand in:\n")
	for _, f := range c.Found {
		p.printf("  %s (%s): %s\n", ambry.Plain(f.File), counted(int64(f.Places), "place", "places"), f.Hint)
	}
}
