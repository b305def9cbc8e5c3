package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

func (p *program) skillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "Write the texts that teach an agent to use the memory",
		Long: `Skill writes texts into an agent's files that teach it to use the memory: a
skill, and where the agent has a file of instructions for all projects a paragraph
in it. "ambry connect" does this and more.

What the person wrote in those files stays as it is, to the byte. A file that
cannot be parsed, or is reached over a link that leads out of the home directory,
is left alone. Before a file is written a copy goes to backups/agents.`,
		Example: `  ambry skill install codex --dry-run
  ambry skill status
  ambry skill remove codex`,
	}
	cmd.AddCommand(p.skillInstallCommand(), p.skillRemoveCommand(), p.skillStatusCommand())
	return cmd
}

func (p *program) skillInstallCommand() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use:     "install AGENT",
		Short:   "Write the texts for an agent",
		Long:    "Install writes the texts for an agent, or mends those that somebody changed.",
		Example: `  ambry skill install claude_code --dry-run`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.writeSkill(cmd.Context(), args[0], f, (*client.Client).InstallSkill)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.allow, "allow", false, "permit Ambry to write into agents' files, from now on")
	return cmd
}

func (p *program) skillRemoveCommand() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use:     "remove AGENT",
		Short:   "Take the texts for an agent out of its files",
		Long:    "Remove takes the texts out of an agent's files. What the person wrote stays.",
		Example: `  ambry skill remove claude_code`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.writeSkill(cmd.Context(), args[0], f, (*client.Client).RemoveSkill)
		},
	}
	f.add(cmd)
	return cmd
}

// skillWrite installs or removes a part.
type skillWrite func(c *client.Client, ctx context.Context, agentID string, part ambry.SkillPart, dryRun bool) (ambry.SkillResult, error)

func (p *program) writeSkill(ctx context.Context, name string, f connectFlags, write skillWrite) error {
	c, sources, err := p.agents(ctx, f)
	if err != nil {
		return err
	}
	defer c.Close()
	src, err := named(sources, name)
	if err != nil {
		return err
	}
	r, err := write(c, ctx, src.SourceID, ambry.SkillText, f.dryRun)
	if err != nil {
		return permitHint(err)
	}
	if p.json {
		return p.printJSON(r)
	}
	p.printChanges(src.DisplayName, r, f.dryRun)
	return nil
}

func (p *program) skillStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [AGENT]",
		Short: "Say which agents are connected",
		Long: `Status lists the agents with what there is to write into their files, and what is
written. Drifted means that somebody changed it since; connecting again mends it.`,
		Example: `  ambry skill status
  ambry skill status codex --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.skillStatus(cmd.Context(), args) },
	}
}

func (p *program) skillStatus(ctx context.Context, names []string) error {
	c, sources, err := p.agents(ctx, connectFlags{})
	if err != nil {
		return err
	}
	defer c.Close()
	if len(names) > 0 {
		src, err := named(sources, names[0])
		if err != nil {
			return err
		}
		sources = []ambry.AgentSource{src}
	}
	if p.json {
		return p.printJSON(sources)
	}
	for _, s := range sources {
		here := string(s.Status)
		if !s.Installed {
			here = "not on this machine"
		}
		p.printf("%-14s %-20s %s\n", s.SourceID, strings.ReplaceAll(here, "_", " "), takes(s.Capabilities))
	}
	return nil
}

// takes says what an agent takes.
func takes(c ambry.AgentCapabilities) string {
	var all []string
	for _, what := range []struct {
		name string
		has  bool
	}{{"skill", c.Skill}, {"mcp", c.MCP}, {"hooks", c.Hooks}} {
		if what.has {
			all = append(all, what.name)
		}
	}
	return strings.Join(all, ", ")
}

// agents returns a client and the agents. With allow it permits to write first.
func (p *program) agents(ctx context.Context, f connectFlags) (*client.Client, []ambry.AgentSource, error) {
	c, err := p.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if f.allow {
		err = p.allowWriting(ctx, c)
	}
	var sources []ambry.AgentSource
	if err == nil {
		sources, err = c.Sources(ctx)
	}
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, sources, nil
}

func (p *program) allowWriting(ctx context.Context, c *client.Client) error {
	b, err := c.Bootstrap(ctx)
	if err != nil || b.Onboarding.ScanPermission.MayWriteSkill() {
		return err
	}
	p.note("Permitted: Ambry reads the histories of the agents on this machine, and writes into the files of those that you connect.")
	permission := ambry.PermissionScanAndSkill
	_, err = c.PatchOnboarding(ctx, ambry.OnboardingPatch{ScanPermission: &permission})
	return err
}

// named returns the agent that a person means: by its id, with - for _ if they
// like, or by how the id of one alone begins.
func named(sources []ambry.AgentSource, name string) (ambry.AgentSource, error) {
	id := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	var like []ambry.AgentSource
	for _, s := range sources {
		if s.SourceID == id {
			return s, nil
		}
		if id != "" && strings.HasPrefix(s.SourceID, id) {
			like = append(like, s)
		}
	}
	if len(like) == 1 {
		return like[0], nil
	}
	return ambry.AgentSource{}, withHint(ambry.NotFound.Errorf("there is no agent %q", name), `"ambry skill status" lists the agents`)
}

func permitHint(err error) error {
	if ambry.KindOf(err) == ambry.SkillWriteNotPermitted {
		return withHint(err, `"ambry connect AGENT --dry-run" shows what would be written, "ambry connect AGENT --allow" permits it`)
	}
	return err
}
