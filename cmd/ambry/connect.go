package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// connectFlags are how an agent's files are to be written.
type connectFlags struct {
	all, dryRun, allow bool
}

func (f *connectFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change, and change nothing")
}

func (p *program) connectCommand() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use:   "connect AGENT... | --all",
		Short: "Connect agents to the memory",
		Long: `Connect writes into an agent's files all that makes it use the memory: our MCP
server, hooks that recall on a prompt and keep what was said, the command
/ambry-resume, and texts that say how to use it; of these what the agent takes.
"ambry skill status" lists that, docs/agents has a page for each.

What the person wrote in those files stays as it is, to the byte, comments too. A
file that cannot be parsed, or is reached over a link that leads out of the home
directory, is left alone, and then nothing at all is written for that agent.
Before a file is written a copy goes to backups/agents. Connecting again mends
what somebody changed; "ambry disconnect" takes everything out again.

Writing into agents' files has to be permitted once, with --allow. That also
permits to read their histories.`,
		Example: `  ambry connect --all --dry-run
  ambry connect claude_code --allow
  ambry connect codex cursor`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return p.connectAgents(cmd.Context(), args, f, true) },
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "every agent on this machine")
	cmd.Flags().BoolVar(&f.allow, "allow", false, "permit Ambry to write into agents' files, from now on")
	return cmd
}

func (p *program) disconnectCommand() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use:   "disconnect AGENT... | --all",
		Short: "Take everything of ours out of agents' files",
		Long: `Disconnect undoes what "ambry connect" and "ambry skill" wrote. A file that nobody
changed since is as it was before, to the byte; in others what the person wrote
stays.`,
		Example: `  ambry disconnect codex
  ambry disconnect --all --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return p.connectAgents(cmd.Context(), args, f, false) },
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "every agent on this machine")
	return cmd
}

// connection is what connecting an agent, or the opposite, came to. It is what
// these commands write as JSON.
type connection struct {
	SourceID string              `json:"sourceId"`
	OK       bool                `json:"ok"`
	Changes  []ambry.SkillChange `json:"changes"`
	Notes    []string            `json:"notes,omitempty"`
	Error    *failure            `json:"error,omitempty"`
}

func (p *program) connectAgents(ctx context.Context, names []string, f connectFlags, on bool) error {
	if f.all == (len(names) > 0) {
		return usagef("give the names of agents, or --all")
	}
	c, sources, err := p.agents(ctx, f)
	if err != nil {
		return err
	}
	defer c.Close()
	chosen, err := choose(sources, names)
	if err != nil {
		return err
	}
	results, failed := []connection{}, false
	for _, src := range chosen {
		r, err := change(ctx, c, src, f.dryRun, on)
		if ambry.KindOf(err) == ambry.SkillWriteNotPermitted {
			return permitHint(err) // it is the same for all
		}
		if err != nil {
			d := describe(err)
			r.Error, failed = &d, true
		}
		results = append(results, r)
		if !p.json {
			p.printConnection(src, r, f.dryRun)
		}
	}
	if p.json {
		if err := p.printJSON(map[string][]connection{"agents": results}); err != nil {
			return err
		}
	} else if len(chosen) == 0 {
		p.printf("None of the agents that Ambry knows is on this machine.\n")
	}
	if failed {
		return errSaid
	}
	return nil
}

// choose returns the agents that are meant: the named, else all that are here
// and take something.
func choose(sources []ambry.AgentSource, names []string) (chosen []ambry.AgentSource, err error) {
	for _, name := range names {
		src, err := named(sources, name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, src)
	}
	if len(names) > 0 {
		return chosen, nil
	}
	for _, s := range sources {
		if s.Installed && takes(s.Capabilities) != "" {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// change writes, or takes out, the parts that an agent takes.
func change(ctx context.Context, c *client.Client, src ambry.AgentSource, dryRun, on bool) (connection, error) {
	r := connection{SourceID: src.SourceID, Changes: []ambry.SkillChange{}}
	write := c.InstallSkill
	if !on {
		write = c.RemoveSkill
	}
	var parts []ambry.SkillPart
	if src.Capabilities.Skill {
		parts = append(parts, ambry.SkillText)
	}
	if src.Capabilities.MCP || src.Capabilities.Hooks || len(parts) == 0 {
		parts = append(parts, ambry.Plugin)
	}
	for _, part := range parts {
		one, err := write(ctx, src.SourceID, part, dryRun)
		if err != nil {
			return r, err
		}
		r.Changes, r.Notes = append(r.Changes, one.Changes...), one.Notes
	}
	r.OK = true
	return r, nil
}

func (p *program) printConnection(src ambry.AgentSource, r connection, dryRun bool) {
	p.printChanges(src.DisplayName, ambry.SkillResult{OK: r.OK, Changes: r.Changes, Notes: r.Notes}, dryRun)
	if r.Error == nil {
		return
	}
	p.printf("  %s\n", flat(r.Error.Message))
	for _, h := range r.Error.Hints {
		p.printf("  hint: %s\n", h)
	}
}

// printChanges says what became of an agent's files. A dry run shows each
// change.
func (p *program) printChanges(name string, r ambry.SkillResult, dryRun bool) {
	p.printf("%s\n", p.style().bold(flat(name)))
	if len(r.Changes) == 0 && r.OK {
		p.printf("  Nothing to change.\n")
	}
	for _, c := range r.Changes {
		p.printf("  %-6s %s\n", c.Action, tilde(flat(c.Path)))
		if dryRun && c.Diff != "" {
			p.printf("%s\n", indent(ambry.Plain(strings.TrimRight(c.Diff, "\n")), "    "))
		}
	}
	for _, n := range r.Notes {
		p.printf("  %s\n", flat(n))
	}
}
