package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
)

func (p *program) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Give agents tokens of their own, and revoke them",
		Long: `Token manages the tokens by which single agents are known. A token opens the MCP
bridge and reading and writing memories, and nothing else; the log of the memory
names the agent it was made for. It is shown once and kept as a digest only.

An agent gives it to "ambry mcp" in ` + agentTokenVariable + `, or over HTTP in the header
` + ambry.MCPTokenHeader + ` (bridge) or ` + ambry.LocalTokenHeader + ` (memory).`,
		Example: `  ambry token create claude-code
  ambry token list
  ambry token revoke claude-code`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.tokenCreateCommand(), p.tokenListCommand(), p.tokenRevokeCommand())
	return cmd
}

func (p *program) tokenCreateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "create AGENT",
		Short: "Make a token for an agent and show it, once",
		Long: `Create makes a token for an agent and prints it. It cannot be shown again. An agent
may have several.`,
		Example: `  ambry token create codex`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			t, err := c.CreateToken(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(t)
			}
			p.printf("%s\n", t.Token)
			fmt.Fprintf(p.err, "for %s; it is not shown again. \"ambry token revoke %s\" ends it.\n", t.Agent, t.ID)
			return nil
		},
	}
}

func (p *program) tokenListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without the secrets",
		Long: `List shows which agents have tokens, when each was used last, and which ones were
revoked.`,
		Example: `  ambry token list --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := c.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(all)
			}
			w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			for _, t := range all.Tokens {
				fmt.Fprintf(w, "%s\t%s\tmade %s\t%s\n", t.Agent, t.ID, t.CreatedAt.Format(time.DateOnly), tokenUse(t))
			}
			return w.Flush()
		},
	}
}

func tokenUse(t ambry.AgentToken) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked " + t.RevokedAt.Format(time.DateOnly)
	case t.LastUsedAt != nil:
		return "used " + t.LastUsedAt.Format(time.DateOnly)
	}
	return "never used"
}

func (p *program) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID|AGENT",
		Short:   "Revoke a token, or all of an agent",
		Long:    `Revoke ends a token, named by its id, or all tokens of an agent. It is in force at once.`,
		Example: `  ambry token revoke codex`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			r, err := c.RevokeToken(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(r)
			}
			p.printf("%d revoked\n", r.Revoked)
			return nil
		},
	}
}
