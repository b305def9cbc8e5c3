package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/app"
	"ambry.dev/ambry/internal/home"
)

func checkHome(dir string) check {
	c := check{Name: "home", Verdict: good, Message: tilde(dir) + " is ours alone"}
	_, err := home.Existing(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Message = tilde(dir) + " is not there yet; the first start makes it"
	case err != nil:
		c.Verdict, c.Message = fail, err.Error()
		c.Hint = "the service refuses to start there until it is mended"
	}
	return c
}

// Free space below which a person should do something, and below which the
// memory is about to stop taking anything.
const (
	littleSpace = 1 << 30
	noSpace     = 64 << 20
)

func checkDisk(dir string) check {
	c := check{Name: "disk", Verdict: good}
	free, err := home.Free(nearest(dir))
	switch {
	case err != nil:
		c.Verdict, c.Message = warn, "the free space is not known: "+err.Error()
		return c
	case free < noSpace:
		c.Verdict, c.Hint = fail, "make space: what is new cannot be remembered"
	case free < littleSpace:
		c.Verdict, c.Hint = warn, "make space before the memory cannot grow"
	}
	c.Message = size(int64(min(free, 1<<62))) + " free"
	return c
}

// nearest is dir, or what is there of it.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func checkSettings(o app.Options) check {
	c := check{Name: "settings", Verdict: good, Message: "make sense"}
	warnings, err := app.CheckSettings(o)
	switch {
	case err != nil:
		c.Verdict, c.Message = fail, err.Error()
		c.Hint = "the service does not start with these settings"
	case len(warnings) > 0:
		c.Verdict, c.Message = warn, strings.Join(warnings, "\n")
	}
	return c
}

// checkSecrets says nothing of secrets that can be used.
func checkSecrets(o app.Options) []check {
	if err := app.CheckSecrets(o); err != nil {
		return []check{{Name: "secrets", Verdict: warn, Message: err.Error(), Hint: "models and channels that need one do not work until then"}}
	}
	return nil
}

// checkAside tells of a damaged text index that the disk does not let go of.
func checkAside(o app.Options) (found []check) {
	for _, left := range app.Aside(o) {
		found = append(found, check{Name: "disk", Verdict: warn, Message: filepath.Base(left) + " is what is left of a damaged text index", Hint: "check the disk, then remove it"})
	}
	return found
}

// checkService looks at the service, and through it at the memory and the agents.
func checkService(ctx context.Context, dir string) []check {
	c, rt, err := client.Find(ctx, dir)
	if err != nil {
		return []check{absent(dir, err)}
	}
	defer c.Close()
	service := check{Name: "service", Verdict: good, Message: fmt.Sprintf("answers at %s (process %d)", rt.BaseURL, rt.PID)}
	if rt.Version != version {
		service.Verdict = warn
		service.Message += fmt.Sprintf(", but is version %s and this command is %s", rt.Version, version)
		service.Hint = `"ambry serve --replace" runs this version`
	}
	b, err := c.Bootstrap(ctx)
	if err != nil {
		service.Verdict, service.Message = fail, err.Error()
		return []check{service}
	}
	all := append([]check{service, checkMemory(ctx, c, b.Health), checkConsent(b.Onboarding)}, checkAgents(ctx, c)...)
	return append(all, checkChannels(ctx, c)...)
}

// absent tells a service that never ran from one that died and one that hangs.
func absent(dir string, err error) check {
	c := check{Name: "service", Verdict: warn, Message: "not running", Hint: `"ambry serve" starts it, and so does "ambry search"`}
	rt, _ := client.ReadRuntimeFile(dir)
	_, statErr := os.Stat(filepath.Join(dir, ambry.RuntimeFileName))
	switch {
	case !errors.Is(err, client.ErrNotRunning):
		c.Verdict, c.Message, c.Hint = fail, err.Error(), ""
	case statErr == nil && home.Alive(rt.PID) && held(dir):
		c.Verdict, c.Message = fail, fmt.Sprintf("process %d is there and does not answer", rt.PID)
		c.Hint = "if it stays so, end that process; logs/service.log may say what it is doing"
	case statErr == nil:
		c.Message = "not running; it left its runtime.json, so it did not end in order"
		c.Hint = "the next start replaces the file; logs/service.log may say what happened"
	}
	return c
}

// held reports whether a service has the home. It has the lock itself for a
// moment in order to know, so it is asked only if there is reason to.
func held(dir string) bool {
	h, err := home.Existing(dir)
	if err != nil {
		return false
	}
	lock, err := home.Acquire(h.Lock())
	if err == nil {
		err = lock.Release()
	}
	return errors.Is(err, home.ErrLocked)
}

func checkMemory(ctx context.Context, c *client.Client, h ambry.Health) check {
	out := check{Name: "memory", Verdict: good}
	if h.Memory != ambry.HealthOK {
		out.Verdict, out.Message = warn, strings.TrimSpace(string(h.Memory)+" "+h.MemoryReason)
		if h.Memory == ambry.HealthFailed {
			out.Verdict, out.Hint = fail, "logs/memory.log has the whole story"
		}
		return out
	}
	o, err := c.Overview(ctx)
	if err != nil {
		out.Verdict, out.Message = fail, err.Error()
		return out
	}
	out.Message = fmt.Sprintf("answers; %s, %s", counted(o.Counts.Memories, "memory", "memories"), size(o.StorageBytes))
	if h.MemoryStarts > 0 {
		out.Verdict = warn
		out.Message += fmt.Sprintf("; restarted %s in the last five minutes", counted(int64(h.MemoryStarts), "time", "times"))
		out.Hint = "logs/memory.log and logs/service.log say why"
	}
	return out
}

func checkConsent(o ambry.Onboarding) check {
	if o.ScanPermission.MayScan() {
		return check{Name: "consent", Verdict: good, Message: "histories may be read"}
	}
	return check{Name: "consent", Verdict: warn, Message: "histories may not be read", Hint: `"ambry scan --allow" permits it`}
}

func checkAgents(ctx context.Context, c *client.Client) []check {
	sources, err := c.Sources(ctx)
	if err != nil {
		return []check{{Name: "agents", Verdict: fail, Message: err.Error()}}
	}
	var all []check
	for _, s := range sources {
		if s.Status == ambry.Drifted {
			all = append(all, check{
				Name: s.SourceID, Verdict: warn, Message: "what was written into its files was changed, or Ambry has moved",
				Hint: fmt.Sprintf("%q mends it", "ambry connect "+s.SourceID),
			})
		}
		switch {
		case s.Error != "":
			all = append(all, check{
				Name: s.SourceID, Verdict: fail, Message: ambry.Plain(s.Error),
				Hint: "see that you may read " + tilde(ambry.Plain(s.DataPath)),
			})
		case s.Available:
			all = append(all, check{Name: s.SourceID, Verdict: good, Message: "history in " + tilde(ambry.Plain(s.DataPath))})
		}
	}
	all = append(all, checkSkills(sources)...)
	if len(all) == 0 {
		all = append(all, check{Name: "agents", Verdict: warn, Message: "no history of any agent was found", Hint: `"ambry status" lists the agents and where they are looked for`})
	}
	return all
}
