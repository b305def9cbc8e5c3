package main

import (
	"github.com/spf13/cobra"
)

// commands are all that ambry can do.
func (p *program) commands() []*cobra.Command {
	return []*cobra.Command{
		p.serveCommand(),
		p.stopCommand(),
		p.statusCommand(),
		p.scanCommand(),
		p.searchCommand(),
		p.showCommand(),
		p.addCommand(),
		p.connectCommand(),
		p.disconnectCommand(),
		p.skillCommand(),
		p.forgetCommand(),
		p.exportCommand(),
		p.importCommand(),
		p.dataCommand(),
		p.deleteDataCommand(),
		p.backupCommand(),
		p.restoreCommand(),
		p.verifyCommand(),
		p.mcpCommand(),
		p.sourceCommand(),
		p.tokenCommand(),
		p.hookCommand(),
		p.configCommand(),
		p.modelCommand(),
		p.accountCommand(),
		p.channelCommand(),
		p.doctorCommand(),
		p.versionCommand(),
		p.memoryCommand(),
	}
}

const about = `Ambry is one memory for all the coding agents on this machine. It reads the
histories that Claude Code, Codex and others keep, and finds in them what was
said and done. Everything stays on this machine.

Begin with "ambry scan --allow --wait", then "ambry search" anything. Commands
that need the service start it; "ambry stop" ends it.`

const environment = `
Environment:
  AMBRY_HOME  directory of Ambry's own files, if --home is not given
  NO_COLOR    no bold text, when set to anything

Exit codes:
  0    done
  1    something went wrong; the reason is on standard error
  2    the command was not understood
  130  interrupted
`

// root is the tree of all commands.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ambry",
		Short: "One memory for all the coding agents on this machine",
		Long:  about,
		Example: `  ambry scan --allow --wait
  ambry search flaky test in the scheduler
  ambry show trace_0199a3f2`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		// What fails before a command runs is the way it was called.
		PersistentPreRun: func(*cobra.Command, []string) { p.understood = true },
	}
	root.PersistentFlags().StringVar(&p.homeFlag, "home", "", "directory of Ambry's files (default $AMBRY_HOME, else ~/.ambry)")
	root.PersistentFlags().BoolVar(&p.json, "json", false, "write JSON instead of text")
	root.SetUsageTemplate(root.UsageTemplate() + "{{if not .HasParent}}" + environment + "{{end}}")
	root.AddCommand(p.commands()...)
	return root
}
