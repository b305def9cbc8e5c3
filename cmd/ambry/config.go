package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ambry.dev/ambry/internal/app"
)

func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Read, explain and change the settings",
		Long: `Config reads and changes the settings: config.yaml in Ambry's directory, over
which the environment and the flags of "ambry serve" win. What a person wrote in
the file, comments and order too, stays as it is. A file that is not valid is
not touched.`,
		Example: `  ambry config explain
  ambry config set log.level debug
  ambry config unset log.level`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.configGetCommand(), p.configSetCommand(), p.configUnsetCommand(), p.configExplainCommand())
	return cmd
}

func (p *program) configGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get KEY",
		Short: "Print the value of a setting",
		Long: `Get prints the value of a setting as a service started now would use it. A secret
that is set shows as stars.`,
		Example:           `  ambry config get api.maxEventStreams`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSetting,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := p.explained(args)
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(all[0])
			}
			p.printf("%s\n", all[0].Value)
			return nil
		},
	}
}

func (p *program) configSetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Write a setting into config.yaml",
		Long: `Set writes a setting into config.yaml, and nothing else there changes. The parts
of a list are separated by commas. With - as the value it is read from standard
input, so that a secret is in no list of processes and in no shell history.`,
		Example: `  ambry config set log.level debug
  ambry config set api.allowedOrigins http://localhost:5173,tauri://localhost
  ambry config set memory.token - < token`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeSetting,
		RunE: func(cmd *cobra.Command, args []string) error {
			value := args[1]
			if value == "-" {
				text, err := io.ReadAll(p.in)
				if err != nil {
					return fmt.Errorf("read standard input: %w", err)
				}
				value = strings.TrimSpace(string(text))
			}
			return p.changeSetting(cmd.Context(), args[0], &value)
		},
	}
}

func (p *program) configUnsetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unset KEY",
		Short: "Take a setting out of config.yaml",
		Long: `Unset takes a setting out of config.yaml, so that it has its default again. What
is not there is no error.`,
		Example:           `  ambry config unset log.level`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSetting,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.changeSetting(cmd.Context(), args[0], nil)
		},
	}
}

func (p *program) configExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Say what each setting is, and where its value comes from",
		Long: `Explain prints the settings with their values, what they are for, and where each
value comes from: the default, a line of config.yaml, or the environment.`,
		Example: `  ambry config explain
  ambry config explain log.level`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSetting,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := p.explained(args)
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(all)
			}
			p.printExplanations(all)
			return nil
		},
	}
}

// completeSetting offers the keys of the settings to the shell.
func completeSetting(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return app.SettingKeys(), cobra.ShellCompDirectiveNoFileComp
}

// explained returns the explanations of all settings, or of those named.
func (p *program) explained(keys []string) ([]app.Setting, error) {
	o, err := p.options()
	if err != nil {
		return nil, err
	}
	return app.Settings(o, keys...)
}

// changed is what a change of the settings writes as JSON.
type changed struct {
	Key     string `json:"key"`
	Changed bool   `json:"changed"` // false if the file said so before
	File    string `json:"file"`
	InForce string `json:"inForce"` // default, file:line, or the variable that wins over the file
	Live    bool   `json:"live"`    // a running service takes it over by itself
}

// changeSetting sets a key, or takes it out if there is no value.
func (p *program) changeSetting(ctx context.Context, key string, value *string) error {
	o, err := p.options()
	if err != nil {
		return err
	}
	file, different, err := app.ChangeSetting(ctx, o, key, value)
	if err != nil {
		return err
	}
	now := app.Setting{Key: key}
	if all, err := app.Settings(o, key); err == nil {
		now = all[0]
	} else {
		p.note("note: a service would not start now: %v", err) // the environment is at fault: the file is good
	}
	if p.json {
		return p.printJSON(changed{Key: key, Changed: different, File: file, InForce: now.Origin, Live: now.Live})
	}
	p.printChange(now, file, different, value == nil)
	return nil
}

func (p *program) printChange(now app.Setting, file string, different, removed bool) {
	switch {
	case !different && removed:
		p.printf("%s is not set in %s.\n", now.Key, tilde(file))
	case !different:
		p.printf("%s says so already.\n", tilde(file))
	case now.Live:
		p.printf("%s is changed. A running service takes it over by itself.\n", tilde(file))
	default:
		p.printf("%s is changed. It is in force after a restart: ambry serve --replace\n", tilde(file))
	}
	if now.Name != "" && now.Origin == now.Name {
		p.note("note: %s is set in the environment and wins over the file", now.Name)
	}
}

func (p *program) printExplanations(all []app.Setting) {
	style := p.style()
	for _, e := range all {
		value := flat(e.Value)
		if value == "" {
			value = "(none)"
		}
		p.printf("%s  %s  %s\n    %s\n", style.bold(e.Key), value, style.dim("from "+tilde(e.Origin)), e.About)
	}
}
