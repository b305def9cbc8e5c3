package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ambry.dev/ambry/internal/hook"
	"ambry.dev/ambry/internal/hook/first"
)

func (p *program) hookCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "hook AGENT EVENT",
		Short: "Answer a hook of an agent (agents call it)",
		Long: `Hook is what an agent calls when something happens in it. It reads what the agent
says of it, as JSON, on standard input. On a prompt it writes what the memory has
on it, for the agent to add to the prompt; when a turn has ended it keeps what was
said. AGENT and EVENT are the agent's own names, with or without - and _.

It never disturbs the agent: it exits with 0 whatever happens, writes one JSON
document or nothing, and does nothing when the service does not run, when reading
histories is not permitted, or when AMBRY_HOOKS=off. With --explain before AGENT it
says on standard error why there is nothing to say.

Agents: ` + inLines(hook.Names()) + ".",
		Example: `  echo '{"session_id":"s1","prompt":"why was the importer slow?"}' |
    ambry hook --explain claude-code UserPromptSubmit`,
		Args: cobra.ArbitraryArgs,
		// A mistake in a flag must not become an exit code that blocks the agent.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !p.hookNow(cmd.Context(), args) {
				return cmd.Help()
			}
			return nil
		},
	}
}

// hookNow answers a hook, unless help is asked for. In a process of its own it was
// answered before, by package first.
func (p *program) hookNow(ctx context.Context, args []string) bool {
	return first.Answer(ctx, args, first.Process{Home: p.homeFlag, Getenv: p.getenv, In: p.in, Out: p.out, Err: p.err})
}

// inLines writes names one after the other, on lines that are not too long.
func inLines(names []string) string {
	var b strings.Builder
	width := len("Agents: ")
	for i, name := range names {
		if i > 0 {
			b.WriteString(",")
			if width += len(name) + 2; width > 80 {
				b.WriteString("\n")
				width = len(name)
			} else {
				b.WriteString(" ")
			}
		}
		b.WriteString(name)
	}
	return b.String()
}
