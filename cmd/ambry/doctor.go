package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (p *program) doctorCommand() *cobra.Command {
	var fix, rebuild bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and say what to do about it",
		Long: `Doctor looks at Ambry's directory, settings, service and memory, at the agents'
histories and at limits of the system. Each check is ok, warn (it works, but) or
fail; the exit code is 1 if one fails. Without a flag it changes and starts
nothing. With --fix it first mends what it can: permissions, a runtime.json that
a service left behind, indexes of a damaged memory whose rows are whole, a text
index that does not fit the memories, and texts in the agents' files that were
changed. It deletes nothing of yours; a memory that is damaged otherwise is for
"ambry restore".`,
		Example: `  ambry doctor
  ambry doctor --fix
  ambry doctor --rebuild
  ambry doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var did []check
			if rebuild {
				if err := p.rebuild(cmd.Context()); err != nil {
					return err
				}
				did = append(did, check{Name: "rebuild", Verdict: good, Message: "the text index was made anew from the memories"})
			}
			if fix {
				done, err := p.fix(cmd.Context())
				if err != nil {
					return err
				}
				did = append(did, done...)
			}
			d, err := p.examine(cmd.Context())
			if err != nil {
				return err
			}
			d.Checks = append(did, d.Checks...)
			for _, c := range did {
				d.OK = d.OK && c.Verdict != fail
			}
			if p.json {
				err = p.printJSON(d)
			} else {
				p.printDiagnosis(d)
			}
			if err == nil && !d.OK {
				return errSaid
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "mend what can be mended, then look")
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "make anew what is derived from the memories, then look")
	return cmd
}

// verdict is what a check came to.
type verdict string

const (
	good verdict = "ok"
	warn verdict = "warn"
	fail verdict = "fail"
)

// check is one thing that was looked at.
type check struct {
	Name    string  `json:"name"`
	Verdict verdict `json:"status"`
	Message string  `json:"message"`
	Hint    string  `json:"hint,omitempty"`
}

// diagnosis is what doctor writes as JSON.
type diagnosis struct {
	OK     bool    `json:"ok"` // nothing failed
	Checks []check `json:"checks"`
}

func (p *program) examine(ctx context.Context) (diagnosis, error) {
	o, err := p.options()
	if err != nil {
		return diagnosis{}, err
	}
	d := diagnosis{OK: true}
	d.Checks = append(d.Checks, checkHome(o.Home), checkDisk(o.Home), checkSettings(o))
	service := checkService(ctx, o.Home)
	d.Checks = append(d.Checks, service...)
	if len(service) == 1 { // it does not run, so nobody holds the memory
		d.Checks = append(d.Checks, checkMemoryFile(ctx, o)...)
	}
	d.Checks = append(d.Checks, checkAside(o)...)
	d.Checks = append(d.Checks, checkSecrets(o)...)
	d.Checks = append(d.Checks, checkBackups(o)...)
	d.Checks = append(d.Checks, checkClock(o)...)
	d.Checks = append(d.Checks, checkSystem()...)
	for _, c := range d.Checks {
		d.OK = d.OK && c.Verdict != fail
	}
	return d, nil
}

func (p *program) printDiagnosis(d diagnosis) {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, c := range d.Checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Verdict, c.Name, strings.ReplaceAll(c.Message, "\n", "\n\t\t"))
		if c.Hint != "" {
			fmt.Fprintf(w, "\t\thint: %s\n", c.Hint)
		}
	}
	w.Flush()
}
