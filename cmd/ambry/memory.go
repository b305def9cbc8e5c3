package main

import (
	"github.com/spf13/cobra"

	"ambry.dev/ambry/internal/app"
)

func (p *program) memoryCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "memory",
		Short:  "Run the memory runtime, as a child of the service",
		Long:   `Memory is what the service starts; it is told what to do on standard input.`,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := p.options()
			if err != nil {
				return err
			}
			return app.Memory(cmd.Context(), o, p.in, p.out)
		},
	}
}
