package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/app"
)

func (p *program) serveCommand() *cobra.Command {
	var replace bool
	var level string
	var set []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service in the foreground",
		Long: `Serve runs the service: it listens on a random port of 127.0.0.1, starts the
memory runtime, and reads new history as it appears, if that was permitted. It
runs until it is told to end (Ctrl-C, SIGTERM).

If a service runs already, serve prints its address and exits. Settings come from
config.yaml in Ambry's directory, then the environment, then flags.`,
		Example: `  ambry serve
  ambry serve --replace --log-level debug
  ambry serve --set api.maxEventStreams=64`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := parseSettings(set)
			if err != nil {
				return err
			}
			if level != "" {
				settings["log.level"] = level
			}
			o, err := p.options()
			if err != nil {
				return err
			}
			o.Replace, o.Settings = replace, settings
			if p.json {
				o.Stdout = announcement{p, o.Home}
			}
			err = app.Serve(cmd.Context(), o)
			if other, ok := errors.AsType[*app.RunningError](err); ok {
				return p.printOther(other, o.Home)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "take over from a service that runs already")
	cmd.Flags().StringVar(&level, "log-level", "", "what to log: debug, info, warn or error")
	cmd.Flags().StringArrayVar(&set, "set", nil, "a setting as `key=value`; may be repeated")
	return cmd
}

// options are what both processes are started with.
func (p *program) options() (app.Options, error) {
	dir, err := p.home()
	if err != nil {
		return app.Options{}, err
	}
	person, err := os.UserHomeDir()
	if err != nil {
		return app.Options{}, fmt.Errorf("find the home directory: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return app.Options{}, fmt.Errorf("find this program: %w", err)
	}
	return app.Options{
		Home: dir, UserHome: person, Getenv: p.getenv, Version: version, Executable: exe,
		Stdout: p.out, Stderr: p.err,
	}, nil
}

func parseSettings(pairs []string) (map[string]string, error) {
	settings := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("--set %s: write key=value", pair)
		}
		settings[key] = value
	}
	return settings, nil
}

// served is what serve tells programs, once, when a service runs. It holds no
// token: those are in runtime.json, which only its person can read.
type served struct {
	BaseURL string `json:"baseUrl"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Already bool   `json:"already"` // it ran before, and this command did nothing
}

func newServed(rt ambry.RuntimeFile, already bool) served {
	return served{BaseURL: rt.BaseURL, PID: rt.PID, Version: rt.Version, Already: already}
}

// announcement says as JSON what the service says as text when it runs.
type announcement struct {
	p    *program
	home string
}

// Write replaces the text.
func (a announcement) Write(text []byte) (int, error) {
	rt, err := client.ReadRuntimeFile(a.home)
	if err != nil {
		return 0, err
	}
	return len(text), a.p.printJSON(newServed(rt, false))
}

var _ io.Writer = announcement{}

func (p *program) printOther(other *app.RunningError, dir string) error {
	rt, err := client.ReadRuntimeFile(dir)
	if err != nil || other.BaseURL == "" {
		rt.BaseURL = other.BaseURL
	}
	if p.json {
		return p.printJSON(newServed(rt, true))
	}
	p.printf("%s\n", other.Error())
	return nil
}
