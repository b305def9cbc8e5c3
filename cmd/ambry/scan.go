package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// scanFlags are how a scan was asked for.
type scanFlags struct {
	source, mode string
	allow, wait  bool
}

var scanModes = []string{string(ambry.Incremental), string(ambry.InitialSubset), string(ambry.Full)}

func (p *program) scanCommand() *cobra.Command {
	var f scanFlags
	cmd := &cobra.Command{
		Use:   "scan",
		Short: "Read the agents' histories into the memory",
		Long: `Scan reads what is new in the histories that the agents keep. Secrets are taken
out before anything is stored, and nothing leaves this machine.

Histories are read only after they were permitted to be, once, with --allow. From
then on new history is also read as it appears, while the service runs. Ctrl-C
stops a scan that is waited for; what was read stays, and the next scan goes on.`,
		Example: `  ambry scan --allow --wait
  ambry scan --source codex --wait
  ambry scan --mode full
  ambry scan stop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(scanModes, f.mode) {
				return usagef("--mode %s: must be %s", f.mode, strings.Join(scanModes, ", "))
			}
			return p.scan(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.source, "source", ambry.AllSources, "`agent` whose history to read, such as claude_code")
	cmd.Flags().StringVar(&f.mode, "mode", scanModes[0], "how much to read: "+strings.Join(scanModes, ", "))
	cmd.Flags().BoolVar(&f.allow, "allow", false, "permit Ambry to read the histories, from now on")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "show progress and return when all is read")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(scanModes, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(p.scanStopCommand())
	return cmd
}

func (p *program) scan(ctx context.Context, f scanFlags) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if f.allow {
		if err := p.allow(ctx, c); err != nil {
			return err
		}
	}
	started, err := c.Scan(ctx, ambry.ScanRequest{SourceID: f.source, Mode: ambry.ScanMode(f.mode)})
	switch ambry.KindOf(err) {
	case ambry.Conflict:
		return withHint(err, `"ambry scan stop" ends the scan that is running`)
	case ambry.NotFound:
		return withHint(err, `"ambry status" lists the agents`)
	}
	if err != nil {
		return err
	}
	if !f.wait {
		return p.printStarted(started)
	}
	done, err := p.watch(ctx, c, started.JobID)
	if err != nil {
		return err
	}
	return p.printCompletion(done)
}

// allow records the consent and says what it is to.
func (p *program) allow(ctx context.Context, c *client.Client) error {
	b, err := c.Bootstrap(ctx)
	if err != nil {
		return err
	}
	sources, err := c.Sources(ctx)
	if err != nil {
		return err
	}
	if b.Onboarding.ScanPermission.MayScan() {
		p.note("Reading the histories is permitted already.")
		return nil
	}
	p.note("Permitted: Ambry reads the histories of these agents on this machine, now and as they grow.")
	for _, s := range sources {
		if s.Available {
			p.note("  %s: %s", ambry.Plain(s.DisplayName), tilde(ambry.Plain(s.DataPath)))
		}
	}
	p.note("Secrets are taken out before anything is stored. Nothing leaves this machine.")
	permission := ambry.PermissionScan
	_, err = c.PatchOnboarding(ctx, ambry.OnboardingPatch{ScanPermission: &permission})
	return err
}

func (p *program) printStarted(s ambry.ScanStarted) error {
	if p.json {
		return p.printJSON(s)
	}
	p.printf("Reading has begun; \"ambry status\" says how far it is.\n")
	return nil
}

// stopWait is how long a scan may take to stop after Ctrl-C.
const stopWait = 10 * time.Second

// watch shows how the scan goes and returns how it ended. When ctx ends first
// it stops the scan.
func (p *program) watch(ctx context.Context, c *client.Client, jobID string) (ambry.ScanCompletion, error) {
	meter := p.newMeter()
	done, err := c.WaitScan(ctx, jobID, meter.show)
	meter.end()
	if ctx.Err() == nil {
		return done, err
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	if err := c.StopScan(stopping); err != nil {
		return done, fmt.Errorf("stop the scan: %w", err)
	}
	p.note("Stopped. What was read stays; the next scan goes on from there.")
	return done, ctx.Err()
}

func (p *program) printCompletion(c ambry.ScanCompletion) error {
	if p.json {
		if err := p.printJSON(c); err != nil {
			return err
		}
	} else {
		p.printResults(c)
	}
	if !c.Succeeded {
		return errSaid
	}
	return nil
}

func (p *program) printResults(c ambry.ScanCompletion) {
	for _, r := range c.Results {
		if r.Bytes == 0 && r.Skipped == 0 && r.ErrorCount == 0 {
			continue
		}
		p.printf("%s: %s in %s, %s", r.SourceID, counted(r.Messages, "message", "messages"),
			counted(r.Conversations, "conversation", "conversations"), size(r.Bytes))
		if r.Redactions > 0 {
			p.printf(", %s taken out", counted(r.Redactions, "secret", "secrets"))
		}
		if r.Skipped > 0 {
			p.printf(", %s skipped", counted(r.Skipped, "record", "records"))
		}
		p.printf("\n")
		for _, e := range r.Errors {
			p.printf("  %s\n", flat(e))
		}
		if more := r.ErrorCount - int64(len(r.Errors)); more > 0 {
			p.printf("  and %s\n", counted(more, "more error", "more errors"))
		}
	}
	var turns int64
	for _, r := range c.Results {
		turns += r.Turns
	}
	i := c.Imported
	switch {
	case c.Stopped:
		p.printf("Stopped. What was read stays; the next scan goes on from there.\n")
	case !c.Succeeded:
		p.printf("%s read, but not all that there is.\n", counted(turns, "turn", "turns"))
	case turns == 0:
		p.printf("Nothing new.\n")
	case i.Added+i.Updated == 0:
		p.printf("%s read, known already.\n", counted(turns, "turn", "turns"))
	default:
		p.printf("%s read: %s added, %s updated. Try: ambry search WORDS\n",
			counted(turns, "turn", "turns"), count(int64(i.Added)), count(int64(i.Updated)))
	}
}

func (p *program) scanStopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the scan that is running",
		Long: `Stop ends the scan that is running, whoever began it, and returns when it has
ended. What was read stays; the next scan goes on from there.`,
		Example: `  ambry scan stop`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.stopScan(cmd.Context()) },
	}
}

func (p *program) stopScan(ctx context.Context) error {
	dir, err := p.home()
	if err != nil {
		return err
	}
	var active bool
	c, _, err := client.Find(ctx, dir)
	if err == nil {
		defer c.Close()
		var now ambry.ScanStatus
		if now, err = c.ScanStatus(ctx); err == nil {
			active = now.Active
			err = c.StopScan(ctx)
		}
	}
	// Where nothing runs, nothing has to be started in order to stop it.
	if err != nil && !errors.Is(err, client.ErrNotRunning) {
		return err
	}
	if !active {
		return p.printStopped(false, "No scan was running.")
	}
	return p.printStopped(true, "Stopped.")
}
