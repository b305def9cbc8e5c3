// Package app builds both processes, in order, once: the service with all that
// it is made of ([Serve]) and its child, the memory runtime ([Memory]). It is
// the only package that reads settings and the only one that knows every part;
// the parts get the few values they need. It has no logic of its own.
package app

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"

	"ambry.dev/ambry/internal/home"
)

// Options is what a process is started with.
type Options struct {
	Home       string              // directory of our files
	UserHome   string              // directory below which the agents keep theirs
	Getenv     func(string) string // nil means an empty environment
	Version    string
	Executable string            // path of this program, which is also the runtime
	Replace    bool              // take over from a service that runs already
	Settings   map[string]string // flags, by key of the settings
	Stdout     io.Writer         // for people
	Stderr     io.Writer         // for the log, beside the file
}

// RunningError says that another service has the home already.
type RunningError struct{ BaseURL string }

// Error says where the other one is.
func (e *RunningError) Error() string {
	if e.BaseURL == "" {
		return "ambry is starting already"
	}
	return "ambry is running already at " + e.BaseURL
}

// The log of a process: a file of its own in the home, kept small.
const (
	logMegabytes = 10
	logFiles     = 3
)

// newLog returns a logger that writes to a file of the home, and what is worth
// a person's attention also to stderr. Close the file after everything else.
func newLog(h home.Home, name string, level slog.Leveler, stderr io.Writer) (*slog.Logger, io.Closer, error) {
	if err := os.MkdirAll(h.Logs(), 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the log directory: %w", err)
	}
	file := &lumberjack.Logger{Filename: filepath.Join(h.Logs(), name), MaxSize: logMegabytes, MaxBackups: logFiles}
	handler := slog.NewMultiHandler(
		slog.NewJSONHandler(file, &slog.HandlerOptions{Level: level}),
		slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: atLeastWarn{level}}),
	)
	return slog.New(handler), file, nil
}

// atLeastWarn is a level that lets through no less than warnings.
type atLeastWarn struct{ slog.Leveler }

// Level returns the level.
func (l atLeastWarn) Level() slog.Level { return max(l.Leveler.Level(), slog.LevelWarn) }

func now() time.Time { return time.Now() }
