package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/app"
)

// fixes are what doctor can mend, in their order. Each says what it did, "" if
// there was nothing to do. None deletes anything of a person.
var fixes = []struct {
	name string
	mend func(ctx context.Context, p *program, o app.Options) (string, error)
}{
	{"permissions", fixPermissions},
	{"service", fixRuntimeFile},
	{"memory", fixMemory},
	{"index", fixIndex},
	{"skills", fixSkills},
}

// fix mends what can be mended, before the checks are made.
func (p *program) fix(ctx context.Context) ([]check, error) {
	o, err := p.options()
	if err != nil {
		return nil, err
	}
	var done []check
	for _, f := range fixes {
		did, err := f.mend(ctx, p, o)
		switch {
		case err != nil:
			done = append(done, check{Name: "fix " + f.name, Verdict: fail, Message: err.Error()})
		case did != "":
			done = append(done, check{Name: "fix " + f.name, Verdict: good, Message: did})
		}
	}
	return done, nil
}

// fixPermissions makes our directory and our files their person's alone.
func fixPermissions(_ context.Context, _ *program, o app.Options) (string, error) {
	if runtime.GOOS == "windows" {
		return "", nil
	}
	n := 0
	err := filepath.WalkDir(o.Home, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			return err
		}
		n++
		return os.Chmod(path, info.Mode().Perm()&0o700)
	})
	if err != nil || n == 0 {
		return "", err
	}
	return fmt.Sprintf("took the permissions of others from %s", counted(int64(n), "file or directory", "files and directories")), nil
}

// fixRuntimeFile removes what a service that died left.
func fixRuntimeFile(ctx context.Context, _ *program, o app.Options) (string, error) {
	path := filepath.Join(o.Home, ambry.RuntimeFileName)
	if _, err := os.Stat(path); err != nil {
		return "", nil //nolint:nilerr // it is not there
	}
	if c, _, err := client.Find(ctx, o.Home); err == nil {
		c.Close()
		return "", nil
	}
	if held(o.Home) {
		return "", nil // a service that starts or hangs; a check tells of it
	}
	if err := os.Remove(path); err != nil {
		return "", err
	}
	return "removed the runtime.json of a service that is not running", nil
}

// fixMemory makes the indexes of a damaged memory anew when its rows are whole.
func fixMemory(ctx context.Context, _ *program, o app.Options) (string, error) {
	indexes, aside, err := app.MendMemory(ctx, o)
	switch {
	case errors.Is(err, fs.ErrNotExist), ambry.KindOf(err) == ambry.NotFound:
		return "", nil
	case err != nil || aside == "":
		return "", err
	}
	return fmt.Sprintf("made %s of the memory anew from its rows, which are whole; the damaged file is now %s", counted(int64(len(indexes)), "index", "indexes"), aside), nil
}

// fixIndex makes the text index anew if it does not fit the memories.
func fixIndex(ctx context.Context, p *program, o app.Options) (string, error) {
	_, found, err := app.CheckMemory(ctx, o, "")
	switch {
	case errors.Is(err, fs.ErrNotExist), ambry.KindOf(err) == ambry.NotFound:
		return "", nil
	case err != nil:
		return "", nil //nolint:nilerr // fixMemory has told of it
	case found.Index == "":
		return "", nil
	}
	return "made the text index anew: " + found.Index, p.rebuild(ctx)
}

// rebuild has what is derived from the memories made anew.
func (p *program) rebuild(ctx context.Context) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WaitMemory(ctx); err != nil {
		return err
	}
	return c.Rebuild(ctx)
}

// checkMemoryFile looks at a memory whose service does not run.
func checkMemoryFile(ctx context.Context, o app.Options) []check {
	c := check{Name: "memory", Verdict: good}
	_, found, err := app.CheckMemory(ctx, o, "")
	switch {
	case errors.Is(err, fs.ErrNotExist), ambry.KindOf(err) == ambry.NotFound:
		return nil
	case err != nil:
		c.Verdict, c.Message = fail, err.Error()
		c.Hint = `"ambry backup --list" shows the copies; "ambry restore" puts the newest good one in its place`
		if app.CanMend(ctx, o) {
			c.Hint = `only its indexes are, the memories are whole; "ambry doctor --fix" makes them anew`
		}
	case found.Index != "":
		c.Verdict, c.Message = warn, "its text index is out of step: "+found.Index
		c.Hint = `"ambry doctor --fix" makes it anew`
	default:
		c.Message = "its file is whole; " + counted(found.Memories, "memory", "memories")
	}
	return []check{c}
}

// checkBackups says how old the newest copy is.
func checkBackups(o app.Options) []check {
	all, err := app.Backups(o)
	switch {
	case err != nil:
		return []check{{Name: "backups", Verdict: warn, Message: err.Error(), Hint: "no copies are made until that is mended"}}
	case len(all) == 0:
		return nil
	}
	return []check{{Name: "backups", Verdict: good, Message: fmt.Sprintf("%s, the newest %s", counted(int64(len(all)), "copy", "copies"), ago(all[0].MadeAt, time.Now()))}}
}

// clockSlack is how far a file may be from the future.
const clockSlack = 24 * time.Hour

// checkClock compares the clock with files of ours: one from the future means
// that it is, or was, wrong.
func checkClock(o app.Options) []check {
	for _, name := range []string{"memory.db", "app.db"} {
		info, err := os.Stat(filepath.Join(o.Home, name))
		if err == nil && time.Until(info.ModTime()) > clockSlack {
			return []check{{
				Name: "clock", Verdict: warn, Message: name + " was written at " + info.ModTime().Format(time.DateTime) + ", which is in the future",
				Hint: "set the clock; what was remembered meanwhile has the wrong time",
			}}
		}
	}
	return nil
}

// fixSkills writes again what somebody changed in the files of agents. Only what
// is still there in part is mended: what a person took out stays out.
func fixSkills(ctx context.Context, _ *program, o app.Options) (string, error) {
	c, _, err := client.Find(ctx, o.Home)
	if err != nil {
		return "", nil //nolint:nilerr // no service, so nobody who knows
	}
	defer c.Close()
	sources, err := c.Sources(ctx)
	if err != nil {
		return "", err
	}
	mended := ""
	for _, s := range sources {
		if s.Status != ambry.Drifted {
			continue
		}
		for _, part := range []ambry.SkillPart{ambry.SkillText, ambry.Plugin} {
			there, err := c.RemoveSkill(ctx, s.SourceID, part, true)
			if err != nil || len(there.Changes) == 0 {
				continue
			}
			if _, err := c.InstallSkill(ctx, s.SourceID, part, false); err != nil {
				return mended, fmt.Errorf("mend what is written for %s: %w", s.DisplayName, err)
			}
			mended += ", " + s.DisplayName + " (" + string(part) + ")"
		}
	}
	if mended == "" {
		return "", nil
	}
	return "wrote again what had changed: " + mended[2:], nil
}

// checkSkills says which agents' files are not as they were written.
func checkSkills(sources []ambry.AgentSource) []check {
	var all []check
	for _, s := range sources {
		if s.Status == ambry.Drifted {
			all = append(all, check{
				Name: s.SourceID, Verdict: warn, Message: "what was written into its files was changed since",
				Hint: `"ambry doctor --fix" or "ambry connect ` + s.SourceID + `" writes it again`,
			})
		}
	}
	return all
}
