package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ambry.dev/ambry/internal/app"
)

// minToken is the least that a token of a person's own may be, in characters.
const minToken = 32

func (p *program) memoryCommand() *cobra.Command {
	var standalone bool
	var port int
	var tokenFile string
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Run the memory runtime, as a child of the service",
		Long: `Memory is what the service starts; it is told what to do on standard input.

With --standalone it runs by itself, for a service elsewhere whose settings
memory.url and memory.token name it, and says what to set. It listens on
127.0.0.1 only; to reach it from another machine, forward the port over SSH.`,
		Example: `  ambry memory --standalone --port 7431 --token-file ~/.config/ambry-memory-token`,
		Hidden:  true,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := p.options()
			if err != nil {
				return err
			}
			if !standalone {
				return app.Memory(cmd.Context(), o, p.in, p.out)
			}
			token, err := readToken(tokenFile)
			if err != nil {
				return err
			}
			return app.Standalone(cmd.Context(), o, port, token)
		},
	}
	cmd.Flags().BoolVar(&standalone, "standalone", false, "run without a service above it")
	cmd.Flags().IntVar(&port, "port", 0, "port on 127.0.0.1; a free one if absent")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "file with the token; a new token at each start if absent")
	return cmd
}

// readToken returns the token in a file, "" if there is no file to read.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken || strings.ContainsAny(token, " \t\r\n") {
		return "", errors.New("a token is one word of 32 characters or more")
	}
	return token, nil
}
