// Package home is where our files are, as a value, and the two ways to treat
// them: the write that is whole or not there, and the lock. It is not for what
// the files say, and it knows nothing of agents' homes.
package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Variable names the environment variable that moves the home.
const Variable = "AMBRY_HOME"

// Home is the directory of our files. Make one with [Open]; the zero value is
// no home.
type Home struct{ dir string }

// Default returns the directory that $AMBRY_HOME names, else .ambry in the home
// directory of the person. The result is absolute. Nothing is created.
func Default(getenv func(string) string, userHome func() (string, error)) (string, error) {
	if dir := getenv(Variable); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("find $%s: %w", Variable, err)
		}
		return abs, nil
	}
	dir, err := userHome()
	if err != nil {
		return "", fmt.Errorf("find the home directory (or set %s): %w", Variable, err)
	}
	return filepath.Join(dir, ".ambry"), nil
}

// Open returns the home at dir, which it creates, with its subdirectories, for
// this person alone (0700). It refuses a directory that another person owns or
// can write in, and says the command that mends it.
func Open(dir string) (Home, error) {
	if dir == "" {
		return Home{}, errors.New("open home: no directory given")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("open home: %w", err)
	}
	h := Home{dir: abs}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return Home{}, fmt.Errorf("open home: %w", err)
	}
	if err := private(abs); err != nil {
		return Home{}, fmt.Errorf("open home: %w", err)
	}
	for _, sub := range []string{h.Logs(), h.Exports(), h.Backups()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return Home{}, fmt.Errorf("open home: %w", err)
		}
	}
	return h, nil
}

// Existing is [Open] of a home that is there already. It creates nothing; a home
// that is not there is fs.ErrNotExist.
func Existing(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		err = private(abs)
	}
	if err != nil {
		return Home{}, fmt.Errorf("look at home: %w", err)
	}
	return Home{dir: abs}, nil
}

// Dir is the directory itself, absolute.
func (h Home) Dir() string { return h.dir }

// Config is the file that the person writes settings in. It may not exist.
func (h Home) Config() string { return h.join("config.yaml") }

// AppDB is the service's own database.
func (h Home) AppDB() string { return h.join("app.db") }

// MemoryDB is the memory. Only the memory runtime opens it.
func (h Home) MemoryDB() string { return h.join("memory.db") }

// RuntimeFile is how programs of the same person find the running service. It
// holds tokens, and exists only while the service runs.
func (h Home) RuntimeFile() string { return h.join("runtime.json") }

// Lock is what the service holds while it runs, see [Acquire].
func (h Home) Lock() string { return h.join("ambry.lock") }

// MemoryLock is what the memory runtime holds while it runs, see [Acquire].
func (h Home) MemoryLock() string { return h.join("memory.lock") }

// Secrets says where each secret is, and holds those encrypted that are in no
// keychain.
func (h Home) Secrets() string { return h.join("secrets.json") }

// Logs is the directory of the logs.
func (h Home) Logs() string { return h.join("logs") }

// Exports is the directory that exports go to, unless told otherwise.
func (h Home) Exports() string { return h.join("exports") }

// Backups is the directory of the copies made before a database is migrated.
func (h Home) Backups() string { return h.join("backups") }

// HooksDir is the name of the directory of [Home.Hooks].
const HooksDir = "hooks"

// Hooks is the directory of what agents' hooks keep. It is there only while the
// person permits to read histories, see package hook.
func (h Home) Hooks() string { return h.join(HooksDir) }

func (h Home) join(name string) string { return filepath.Join(h.dir, name) }
