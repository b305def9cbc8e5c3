package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"uuid"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
)

func (p *program) addCommand() *cobra.Command {
	var n ambry.Note
	cmd := &cobra.Command{
		Use:   "add TEXT...",
		Short: "Remember a note",
		Long: `Add remembers a note, for the person and for all agents. Secrets in it are taken
out. With - as its only word it reads the note from standard input.`,
		Example: `  ambry add "the staging database is rebuilt every Monday" --tag ops
  ambry add - --title "Release checklist" < checklist.md`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n.Content = strings.Join(args, " ")
			if n.Content == "-" {
				text, err := io.ReadAll(p.in)
				if err != nil {
					return fmt.Errorf("read standard input: %w", err)
				}
				n.Content = string(text)
			}
			if err := n.Validate(); err != nil {
				return usageError{err}
			}
			return p.add(cmd.Context(), n)
		},
	}
	cmd.Flags().StringVar(&n.Title, "title", "", "a few words; made from the text if absent")
	cmd.Flags().StringVar(&n.Project, "project", "", "`directory` of the project it is about")
	cmd.Flags().StringSliceVar(&n.Tags, "tag", nil, "a tag; may be repeated")
	return cmd
}

func (p *program) add(ctx context.Context, n ambry.Note) error {
	memory := p.follow()
	defer memory.close()
	m, err := memory.Add(ctx, n, uuid.NewV7().String())
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(m)
	}
	p.printf("Remembered as %s.\n", m.ID)
	return nil
}
