package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/hook"
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

// hookNow answers a hook, unless help is asked for. It is apart from the command
// so that an agent does not wait until all the other commands are put together.
func (p *program) hookNow(ctx context.Context, args []string) bool {
	args, explain, help := p.hookFlags(args)
	if help {
		return false
	}
	// What this run needs is less than what looking for garbage costs.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(hookMemory))
	p.hook(ctx, args, explain)
	return true
}

// hookMemory is how much memory a hook may take before garbage is looked for.
const hookMemory = 128 << 20

// hookFlags takes the flags out of the arguments. Those it does not know do not
// matter.
func (p *program) hookFlags(args []string) (names []string, explain, help bool) {
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		switch {
		case name == "--home" && given:
			p.homeFlag = value
		case name == "--home" && i+1 < len(args):
			i++
			p.homeFlag = args[i]
		case name == "--explain":
			explain = true
		case name == "--help" || name == "-h":
			help = true
		case !strings.HasPrefix(name, "-"):
			names = append(names, name)
		}
	}
	return names, explain, help
}

func (p *program) hook(ctx context.Context, args []string, explain bool) {
	outliveReader()
	say := func(format string, args ...any) {
		if explain {
			fmt.Fprintf(p.err, "ambry hook: "+format+"\n", args...)
		}
	}
	dir, err := p.home()
	if err != nil || len(args) != 2 {
		say("give an agent and an event: ambry hook AGENT EVENT")
		return
	}
	h := hook.Hook{
		Dir: filepath.Join(dir, home.HooksDir), Getenv: p.getenv, Now: time.Now, Explain: say,
		Find: func() (hook.Memory, string, error) {
			rt, err := client.ReadRuntimeFile(dir)
			if err != nil {
				return nil, "", err
			}
			// Its address may be somebody else's by now, who must not be told the prompt.
			if !alive(rt.PID) {
				return nil, "", client.ErrNotRunning
			}
			c, err := client.New(rt.BaseURL, rt.LocalToken)
			return c, fmt.Sprintf("%d %d", rt.PID, rt.StartedAt.UnixNano()), err
		},
	}
	if out := h.Answer(ctx, args[0], args[1], p.in); len(out) > 0 {
		_, _ = p.out.Write(out) // an agent that does not listen needs no answer
	}
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
