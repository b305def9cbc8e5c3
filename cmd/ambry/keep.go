package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
)

func (p *program) exportCommand() *cobra.Command {
	var in ambry.ExportData
	var format string
	cmd := &cobra.Command{
		Use:   "export [PATH]",
		Short: "Write everything that is remembered to a file or a folder",
		Long: `Export writes an archive (zip) that "ambry import" reads back, or with
--format markdown a folder of texts for people. PATH is a directory, or the name
of the new file or folder, below your home directory; without it the export goes
into exports/ of Ambry's directory. Nothing is ever overwritten. What is said
while it runs is not in it.`,
		Example: `  ambry export
  ambry export ~/backup/ambry.zip
  ambry export ~/notes --format markdown`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Format = ambry.ExportFormat(format)
			if in.Format != ambry.ExportArchive && in.Format != ambry.ExportMarkdown {
				return usageError{ambry.InvalidArgument.Errorf("--format is archive or markdown")}
			}
			if len(args) == 1 {
				path, err := filepath.Abs(args[0])
				if err != nil {
					return fmt.Errorf("find the target: %w", err)
				}
				in.TargetPath = path
			}
			return p.export(cmd.Context(), in)
		},
	}
	cmd.Flags().StringVar(&format, "format", string(ambry.ExportArchive), "archive or markdown")
	return cmd
}

func (p *program) export(ctx context.Context, in ambry.ExportData) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WaitMemory(ctx); err != nil {
		return err
	}
	out, err := c.ExportData(ctx, in)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(out)
	}
	counts := out.Manifest.Counts
	p.printf("Wrote %s (%s): %s, %s, %s.\n", tilde(out.ExportPath), size(out.Bytes), counted(counts["session"], "session", "sessions"),
		counted(counts["turn"], "turn", "turns"), counted(counts["memory"], "memory", "memories"))
	return nil
}

func (p *program) importCommand() *cobra.Command {
	var in ambry.ImportData
	var policy string
	cmd := &cobra.Command{
		Use:   "import PATH",
		Short: "Add an export, or what another program remembers",
		Long: `Import reads an export of Ambry, or what another program remembers: claude-mem,
engram, mem0 and OpenMemory, MemPalace, memmy (their databases), basic-memory and
other folders of Markdown, and the data exports of ChatGPT and Claude.ai (zip). It
finds out which it is. Importing again adds nothing twice, and secrets are taken
out on the way in. What is read stays as it is.`,
		Example: `  ambry import ~/backup/ambry.zip --dry-run
  ambry import ~/.claude-mem
  ambry import ~/Downloads/chatgpt-export.zip
  ambry import ~/notes --from markdown`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("find the source: %w", err)
			}
			in.Path, in.Policy = path, ambry.RestorePolicy(policy)
			return p.importFrom(cmd.Context(), in)
		},
	}
	cmd.Flags().StringVar(&in.From, "from", "", "which `program` wrote it, if that is not found out")
	cmd.Flags().StringVar(&policy, "policy", string(ambry.KeepOurs), "what becomes of what is there and differs: skip, replace or newer")
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "only say what is in it")
	return cmd
}

func (p *program) importFrom(ctx context.Context, in ambry.ImportData) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WaitMemory(ctx); err != nil {
		return err
	}
	out, err := c.ImportData(ctx, in)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(out)
	}
	p.printf("%s: %s, %s.\n", out.From, counted(int64(out.Notes), "note", "notes"), counted(int64(out.Conversations), "conversation", "conversations"))
	if !out.DryRun {
		p.printf("Added %s, changed %s; %s there already, %s skipped, %s stay forgotten; %s taken out.\n", count(int64(out.Added)), count(int64(out.Updated)),
			count(int64(out.Unchanged)), count(int64(out.Skipped)), count(int64(out.Forgotten)), counted(int64(out.Redactions), "secret", "secrets"))
	}
	for _, problem := range out.Problems {
		p.note("  %s", ambry.Plain(problem))
	}
	return nil
}

func (p *program) dataCommand() *cobra.Command {
	var reveal bool
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Show what Ambry's directory takes, and what can be freed",
		Long: `Data shows how large each part of Ambry's directory is, by how much the memory
grows, and what can be freed. It deletes nothing.`,
		Example: `  ambry data
  ambry data --reveal`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if reveal {
				out, err := c.RevealData(cmd.Context())
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(out)
				}
				p.printf("%s\n", out.DataPath)
				if !out.Opened {
					p.note("There is no file manager to open it in.")
				}
				return nil
			}
			out, err := c.Data(cmd.Context())
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(out)
			}
			p.printSizes(out)
			return nil
		},
	}
	cmd.Flags().BoolVar(&reveal, "reveal", false, "open the directory in the file manager")
	return cmd
}

func (p *program) printSizes(s ambry.DataSizes) {
	p.printf("%s, %s\n", tilde(s.DataPath), size(s.Bytes))
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, part := range s.Parts {
		if part.Files > 0 {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", part.Name, size(part.Bytes), counted(int64(part.Files), "file", "files"), part.Free)
		}
	}
	w.Flush()
	if s.PerDay > 0 {
		p.printf("The memory grows by %s a day.\n", size(s.PerDay))
	}
	if s.Freeable > 0 {
		p.printf("%s could be freed.\n", size(s.Freeable))
	}
}

func (p *program) deleteDataCommand() *cobra.Command {
	var all, yes bool
	cmd := &cobra.Command{
		Use:   "wipe",
		Short: "Delete everything that is remembered",
		Long: `Wipe empties the memory and deletes its backups; with --all it also deletes what
the service knows and every choice you made, consent included. Exports and
config.yaml stay, and so do the histories of the agents themselves. It is whole
or does not happen: broken off in the middle, the next start ends it.`,
		Example: `  ambry wipe
  ambry wipe --all --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && (p.json || !p.agrees("Delete everything that is remembered?")) {
				return ambry.InvalidArgument.Errorf("nothing was deleted; say --yes")
			}
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.WaitMemory(cmd.Context()); err != nil {
				return err
			}
			in := ambry.DeleteData{Confirm: true, Scope: ambry.ScopeMemory}
			if all {
				in.Scope = ambry.ScopeAll
			}
			out, err := c.DeleteData(cmd.Context(), in)
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(out)
			}
			p.printf("Deleted %s, %s and %s.\n", counted(out.Removed["memories"], "memory", "memories"),
				counted(out.Removed["sessions"], "session", "sessions"), counted(out.Removed["backups"], "backup", "backups"))
			p.printf("Still there: %s.\n", strings.Join(out.Kept, "; "))
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also what the service knows, and your choices")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
