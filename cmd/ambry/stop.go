package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/home"
)

// endWait is how long a service may take to end: it lets requests finish and a
// scan come to a place where it can go on.
const endWait = 20 * time.Second

func (p *program) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "End the service",
		Long: `Stop ends the service that runs and returns when it has ended. Nothing is lost; a
scan goes on at the next start. Commands that need the service start it again.`,
		Example: `  ambry stop`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.stop(cmd.Context()) },
	}
}

func (p *program) stop(ctx context.Context) error {
	dir, err := p.home()
	if err != nil {
		return err
	}
	c, rt, err := client.Find(ctx, dir)
	if errors.Is(err, client.ErrNotRunning) {
		return p.printStopped(false, "ambry is not running.")
	}
	if err != nil {
		return err
	}
	c.Close()
	h, err := home.Existing(dir)
	if err != nil {
		return err
	}
	service, err := os.FindProcess(rt.PID)
	if err == nil {
		err = service.Signal(endSignal)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the service (process %d): %w", rt.PID, err)
	}
	within, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	// A service has its lock as long as it has anything.
	lock, err := home.AcquireWithin(within, h.Lock())
	if err != nil {
		return fmt.Errorf("wait for the service (process %d) to end: %w", rt.PID, err)
	}
	if err := lock.Release(); err != nil {
		return err
	}
	return p.printStopped(true, "Stopped.")
}

// stopped is what stop and scan stop write as JSON.
type stopped struct {
	Stopped bool `json:"stopped"` // false if there was nothing to stop
}

func (p *program) printStopped(done bool, text string) error {
	if p.json {
		return p.printJSON(stopped{done})
	}
	p.printf("%s\n", text)
	return nil
}
