package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the version command writes as JSON.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Long:    `Version says which version this is, from which commit, and what built it.`,
		Example: `  ambry version --json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						b.Commit = s.Value
					}
				}
			}
			if p.json {
				return p.printJSON(b)
			}
			p.printf("ambry %s (%s %s/%s)\n", b.Version, b.Go, b.OS, b.Arch)
			return nil
		},
	}
}
