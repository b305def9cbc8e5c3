package main

import (
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/app"
)

func (p *program) backupCommand() *cobra.Command {
	var list, prune bool
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy the memory, or list the copies that there are",
		Long: `Backup copies the memory as it is now, while work goes on, and looks the copy
through. The service does the same once a day, and keeps seven of them, and
before an update changes the form of the memory.`,
		Example: `  ambry backup
  ambry backup --list
  ambry backup --prune`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case list:
				return p.listBackups()
			case prune:
				return p.pruneBackups()
			}
			return p.backup(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the copies")
	cmd.Flags().BoolVar(&prune, "prune", false, "delete all but the newest copy")
	cmd.MarkFlagsMutuallyExclusive("list", "prune")
	return cmd
}

func (p *program) backup(ctx context.Context) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WaitMemory(ctx); err != nil {
		return err
	}
	made, err := c.Backup(ctx)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(made)
	}
	p.printf("Made %s (%s).\n", made.Name, size(made.Bytes))
	return nil
}

func (p *program) listBackups() error {
	o, err := p.options()
	if err != nil {
		return err
	}
	all, err := app.Backups(o)
	if err != nil {
		return err
	}
	return p.printBackups("", all)
}

func (p *program) pruneBackups() error {
	o, err := p.options()
	if err != nil {
		return err
	}
	gone, err := app.PruneBackups(o)
	if err != nil {
		return err
	}
	return p.printBackups("deleted ", gone)
}

func (p *program) printBackups(word string, all []ambry.BackupMade) error {
	if p.json {
		if all == nil {
			all = []ambry.BackupMade{}
		}
		return p.printJSON(all)
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, b := range all {
		fmt.Fprintf(w, "%s%s\t%s\t%s\n", word, b.Name, size(b.Bytes), ago(b.MadeAt, time.Now()))
	}
	w.Flush()
	return nil
}

func (p *program) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore [BACKUP]",
		Short: "Put a backup in the place of the memory",
		Long: `Restore puts a backup in the place of the memory: the newest one that is whole,
or the one that is named. The backup is looked through first. What was there is
kept in damaged/ of Ambry's directory. The service must not run.`,
		Example: `  ambry stop
  ambry restore
  ambry restore memory-20261128T030000.000.db`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := p.options()
			if err != nil {
				return err
			}
			from, aside, err := app.RestoreMemory(cmd.Context(), o, firstOf(args))
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(map[string]string{"from": from, "aside": aside})
			}
			p.printf("The memory is as in %s.\n", filepath.Base(from))
			if aside != "" {
				p.printf("What was there is in %s.\n", tilde(aside))
			}
			return nil
		},
	}
}

func (p *program) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify [BACKUP]",
		Short: "Look a memory through, byte by byte",
		Long: `Verify reads the whole file of the memory, or of a backup, and says whether it is
as it must be. It changes nothing, and the service may run.`,
		Example: `  ambry verify
  ambry verify memory-20261128T030000.000.db`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := p.options()
			if err != nil {
				return err
			}
			path, found, err := app.CheckMemory(cmd.Context(), o, firstOf(args))
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(map[string]any{"path": path, "ok": found.Index == "", "schema": found.Schema, "memories": found.Memories, "index": found.Index})
			}
			p.printf("%s is whole: %s.\n", tilde(path), counted(found.Memories, "memory", "memories"))
			if found.Index != "" {
				p.printf("Its text index is not: %s.\n", found.Index)
				return withHint(ambry.InvalidArgument.Errorf("the text index is out of step"), `"ambry doctor --rebuild" makes it anew`)
			}
			return nil
		},
	}
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
