package keep

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"

	"ambry.dev/ambry"
)

// revealWait is how long the file manager may take before it is left to itself.
// Most give the path to one that is running, and end.
const revealWait = 3 * time.Second

// fileManager is the program that shows a directory, by system.
func fileManager(system string) string {
	switch system {
	case "windows":
		return "explorer"
	case "darwin":
		return "open"
	}
	return "xdg-open"
}

// Reveal shows our directory in the file manager. It starts one fixed program
// with one fixed argument and no shell. Where there is none, or nobody to show
// it to, nothing is opened and that is no error.
func (k *Keeper) Reveal(ctx context.Context) (ambry.DataRevealed, error) {
	out := ambry.DataRevealed{OK: true, DataPath: k.Home.Dir()}
	program, err := exec.LookPath(fileManager(runtime.GOOS))
	if err != nil {
		return out, nil //nolint:nilerr // a machine without a desktop
	}
	cmd := exec.Command(program, k.Home.Dir())
	cmd.Dir = k.Home.Dir()
	if err := cmd.Start(); err != nil {
		k.Log.Warn("show the data directory", "err", err)
		return out, nil
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the file manager
	wait := time.NewTimer(revealWait)
	defer wait.Stop()
	select {
	case err := <-ended:
		// Explorer exits with 1 whatever it did.
		failed, isExit := errors.AsType[*exec.ExitError](err)
		out.Opened = err == nil || isExit && runtime.GOOS == "windows" && failed.ExitCode() == 1
	case <-wait.C:
		out.Opened = true
	case <-ctx.Done():
		return out, ctx.Err()
	}
	return out, nil
}
