package main

import (
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
)

func (p *program) sourceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "source",
		Short: "Read copies of histories from other directories",
		Long: `Source manages the directories that are read besides the histories of this
machine's agents: what was copied from another machine, an old account, a backup.
They must be below your home directory. They are only read, and need the same
permission as all histories ("ambry scan --allow").`,
		Example: `  ambry source add ~/old-laptop/.claude --format claude_code
  ambry source list
  ambry source remove manual_0199a3f2`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.sourceAddCommand(), p.sourceRemoveCommand(), p.sourceListCommand())
	return cmd
}

func (p *program) sourceAddCommand() *cobra.Command {
	var format, name string
	cmd := &cobra.Command{
		Use:   "add DIR",
		Short: "Add a directory with a copy of an agent's history",
		Long: `Add adds a directory to what is read. It holds what an agent keeps in its own: all
of it, or the part with the history. The format is the agent that wrote it. What it
has in common with what was read already is not kept twice.`,
		Example: `  ambry source add ~/old-laptop/.codex --format codex --name "old laptop"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if name == "" {
				name = filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)
			}
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			s, err := c.AddSource(cmd.Context(), ambry.NewSource{DisplayName: name, DataPath: dir, Format: format})
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(s)
			}
			p.printf("Added %s as %s; \"ambry scan --source %s\" reads it.\n", tilde(ambry.Plain(s.DataPath)), s.SourceID, s.SourceID)
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "`agent` that wrote it: claude_code, codex or opencode")
	cmd.Flags().StringVar(&name, "name", "", "`name` to show (default the directory)")
	_ = cmd.MarkFlagRequired("format")
	return cmd
}

func (p *program) sourceRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a directory that was added",
		Long: `Remove takes a directory out of what is read. Neither it nor what was read from it
is deleted: "ambry forget" does that.`,
		Example: `  ambry source remove manual_0199a3f2`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.RemoveSource(cmd.Context(), args[0]); err != nil {
				return err
			}
			if p.json {
				return p.printJSON(map[string]bool{"ok": true})
			}
			p.printf("Removed. What was read from it stays.\n")
			return nil
		},
	}
}

func (p *program) sourceListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the directories that were added",
		Long: `List shows the directories that were added, how much was read from each, and what
is wrong with those that cannot be read.`,
		Example: `  ambry source list --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := c.Sources(cmd.Context())
			if err != nil {
				return err
			}
			added := []ambry.AgentSource{}
			for _, s := range all {
				if !s.Builtin {
					added = append(added, s)
				}
			}
			if p.json {
				return p.printJSON(added)
			}
			w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			for _, s := range added {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d messages\t%s\n", s.SourceID, ambry.Plain(s.DisplayName), s.Format, tilde(ambry.Plain(s.DataPath)), s.MessageCount, ambry.Plain(s.Error))
			}
			return w.Flush()
		},
	}
}
