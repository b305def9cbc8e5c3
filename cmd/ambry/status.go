package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

func (p *program) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say what is running, what was read and what is remembered",
		Long: `Status says whether the service runs and how it is, what the agents' histories
hold and how far they were read, and what the memory holds. It starts nothing:
if no service runs it says so, and the exit code is 1.`,
		Example: `  ambry status
  ambry status --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.status(cmd.Context())
			if err != nil {
				return err
			}
			if p.json {
				err = p.printJSON(s)
			} else {
				p.printStatus(s, time.Now())
			}
			if err == nil && !s.Running {
				return errSaid
			}
			return err
		},
	}
}

// status is what the status command writes as JSON.
type status struct {
	Running    bool                 `json:"running"`
	Home       string               `json:"home"`
	BaseURL    string               `json:"baseUrl,omitempty"`
	PID        int                  `json:"pid,omitempty"`
	Version    string               `json:"version,omitempty"`
	StartedAt  time.Time            `json:"startedAt,omitzero"`
	Health     *ambry.Health        `json:"health,omitempty"`
	Permission ambry.ScanPermission `json:"scanPermission,omitempty"`
	Scan       *ambry.ScanStatus    `json:"scan,omitempty"`
	Sources    []ambry.AgentSource  `json:"sources,omitempty"`
	Overview   *ambry.Overview      `json:"overview,omitempty"` // absent while the memory does not answer
}

func (p *program) status(ctx context.Context) (status, error) {
	dir, err := p.home()
	if err != nil {
		return status{}, err
	}
	s := status{Home: dir}
	c, rt, err := client.Find(ctx, dir)
	if errors.Is(err, client.ErrNotRunning) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer c.Close()
	s.Running, s.BaseURL, s.PID, s.Version, s.StartedAt = true, rt.BaseURL, rt.PID, rt.Version, rt.StartedAt
	b, err := c.Bootstrap(ctx)
	if err != nil {
		return s, err
	}
	s.Health, s.Permission = &b.Health, b.Onboarding.ScanPermission
	scan, err := c.ScanStatus(ctx)
	if err != nil {
		return s, err
	}
	s.Scan = &scan
	if s.Sources, err = c.Sources(ctx); err != nil {
		return s, err
	}
	if overview, err := c.Overview(ctx); err == nil {
		s.Overview = &overview
	}
	return s, nil
}

func (p *program) printStatus(s status, now time.Time) {
	if !s.Running {
		p.printf("ambry is not running (home %s)\nhint: \"ambry serve\" starts it\n", tilde(s.Home))
		return
	}
	p.printf("ambry %s is running at %s (process %d, started %s)\n", s.Version, s.BaseURL, s.PID, ago(s.StartedAt, now))
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w, "home\t%s\n", tilde(s.Home))
	fmt.Fprintf(w, "memory\t%s\n", memoryLine(s))
	if s.Overview != nil && s.Overview.Embedding != nil {
		fmt.Fprintf(w, "meaning\t%s\n", meaningLine(*s.Overview.Embedding))
	}
	if why := s.Health.SettingsError; why != "" {
		fmt.Fprintf(w, "settings\tthose before stay in force: %s\n", flat(why))
	}
	fmt.Fprintf(w, "reading\t%s\n", readingLine(s, now))
	for _, src := range s.Sources {
		if src.Capabilities.History || src.Available || src.Installed || src.Error != "" || src.Capabilities == (ambry.AgentCapabilities{}) {
			fmt.Fprintf(w, "%s\t%s%s\n", ambry.Plain(src.DisplayName), sourceLine(src, now), connectionOf(src))
		}
	}
}

func meaningLine(e ambry.EmbeddingState) string {
	line := fmt.Sprintf("%s can be found by it", counted(e.Ready, "memory", "memories"))
	if e.Pending > 0 {
		line += fmt.Sprintf(", %s waiting", count(e.Pending))
	}
	if e.Reason != "" {
		line += ": " + ambry.Plain(flat(e.Reason))
	}
	return line
}

func memoryLine(s status) string {
	if s.Health.Memory != ambry.HealthOK || s.Overview == nil {
		return fmt.Sprintf("%s %s", s.Health.Memory, ambry.Plain(s.Health.MemoryReason))
	}
	c := s.Overview.Counts
	return fmt.Sprintf("%s from %s, %s", counted(c.Memories, "memory", "memories"), counted(c.Sessions, "session", "sessions"), size(s.Overview.StorageBytes))
}

func readingLine(s status, now time.Time) string {
	switch {
	case !s.Permission.MayScan():
		return `not permitted; "ambry scan --allow" permits it`
	case s.Scan.Active && s.Scan.Progress != nil:
		return "now: " + progressLine(*s.Scan.Progress)
	case s.Scan.Active:
		return "now"
	case s.Scan.Completion == nil:
		return "permitted, nothing read since the start"
	}
	c := s.Scan.Completion
	how := "done"
	if c.Stopped {
		how = "stopped"
	} else if !c.Succeeded {
		how = "with errors"
	}
	return fmt.Sprintf("%s %s, %s new", how, ago(c.CompletedAt, now), counted(int64(c.Imported.Added), "turn", "turns"))
}

// connectionOf says how an agent is connected, if it is.
func connectionOf(src ambry.AgentSource) string {
	switch src.Status {
	case ambry.PluginInstalled, ambry.SkillInstalled:
		return "; connected"
	case ambry.Drifted:
		return fmt.Sprintf("; connected, but its files were changed: \"ambry connect %s\" mends that", src.SourceID)
	}
	return ""
}

func sourceLine(src ambry.AgentSource, now time.Time) string {
	switch {
	case src.Error != "":
		return "cannot be read: " + ambry.Plain(src.Error)
	case src.Installed && !src.Capabilities.History:
		return "here; its history is not read"
	case !src.Available:
		return "not found"
	case src.LastScannedAt == nil:
		return cmp.Or(tilde(src.DataPath), "found") + ", not read yet"
	}
	return fmt.Sprintf("%s from %s, read %s", counted(src.MessageCount, "message", "messages"), tilde(src.DataPath), ago(*src.LastScannedAt, now))
}
