package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/keep"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/host"
	"ambry.dev/ambry/internal/memory/meaning"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/relay"
	"ambry.dev/ambry/internal/settings"
	"ambry.dev/ambry/internal/supervise"
	"ambry.dev/ambry/internal/web"
)

// memoryLockWait is how long a runtime waits for the one before it to let go of
// the database.
const memoryLockWait = 10 * time.Second

// Memory is the memory runtime, the child of the service: it is told its home on
// stdin, answers its address on stdout, and runs until stdin closes.
func Memory(ctx context.Context, o Options, stdin io.Reader, stdout io.Writer) error {
	var told hello
	ctx, parent, err := supervise.Child(ctx, stdin, stdout, &told)
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(told.LogLevel)); err != nil {
		return fmt.Errorf("log level: %w", err)
	}
	o.Home = told.Home
	r, err := openRuntime(ctx, o, level, func(at string) {
		_ = parent.Working(at) // without a parent there is soon no child either
	})
	if ambry.KindOf(err) == ambry.MemoryUnavailable {
		if h, openErr := home.Existing(o.Home); openErr == nil {
			return parent.Refuse(offer(ctx, h, err))
		}
		return parent.Refuse(err.Error())
	}
	if err != nil {
		return err
	}
	defer r.close()
	if told.Models != nil {
		r.models = borrow(*told.Models)
	}
	if err := r.embed(told.Embedding); err != nil {
		return err
	}
	return r.serve(ctx, 0, newToken(), func(a address) error { return parent.Ready(a) })
}

// Standalone is the memory runtime without a service above it, for a service
// elsewhere whose settings memory.url and memory.token name it. It listens on
// loopback like everything of ours; how it is reached from elsewhere is up to
// the person. It says what to set on stdout, and runs until ctx ends.
func Standalone(ctx context.Context, o Options, port int, token string) error {
	set, err := settings.Load(settings.Sources{File: filepath.Join(o.Home, "config.yaml"), Getenv: o.Getenv, Flags: o.Settings})
	if err != nil {
		return err
	}
	r, err := openRuntime(ctx, o, set.Log.Level, func(at string) {
		if o.Stderr != nil {
			fmt.Fprintln(o.Stderr, "the memory", at)
		}
	})
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.embed(set.Memory.Embedding); err != nil {
		return err
	}
	shown := "(the one in the file)"
	if token == "" {
		token = newToken()
		shown = token
	}
	return r.serve(ctx, port, token, func(a address) error {
		_, err := fmt.Fprintf(o.Stdout, "memory:\n  url: %s\n  token: %s\n", a.BaseURL, shown)
		return err
	})
}

// memoryHost is an open memory with what it needs.
type memoryHost struct {
	options Options
	home    home.Home
	log     *slog.Logger
	logFile io.Closer
	lock    *home.Lock
	store   *store.Store
	models  *relay.Client    // what the service lends; nil if it lends nothing
	meaning *meaning.Meaning // nil: memories are found by words only
	rest    func()           // gives memory back that is seldom needed; may be nil
}

// openRuntime opens the memory of a home, as soon as the runtime before this one
// has let go of it. What takes long is told.
func openRuntime(ctx context.Context, o Options, level slog.Level, working func(at string)) (r *memoryHost, err error) {
	home.Umask()
	h, err := home.Open(o.Home)
	if err != nil {
		return nil, err
	}
	r = &memoryHost{options: o, home: h}
	opened := r // returning nil sets r
	defer func() {
		if err != nil {
			opened.close()
		}
	}()
	if r.log, r.logFile, err = newLog(h, "memory.log", level, o.Stderr); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, memoryLockWait)
	defer cancel()
	if r.lock, err = home.AcquireWithin(waiting, h.MemoryLock()); err != nil {
		return nil, fmt.Errorf("wait for the memory runtime before this one: %w", err)
	}
	if _, err := keep.EndReplace(h); err != nil {
		return nil, err
	}
	r.store, err = store.Open(ctx, store.Config{Path: h.MemoryDB(), BackupDir: h.Backups(), Logger: r.log, Now: time.Now, Working: working})
	if err != nil {
		r.log.Error("open the memory", "err", err)
		return nil, err
	}
	return r, nil
}

// close lets go of everything, in the reverse order of opening.
func (r *memoryHost) close() {
	if r.models != nil {
		r.models.Close()
	}
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			r.log.Error("close the memory", "err", err)
		}
	}
	if r.lock != nil {
		_ = r.lock.Release() // the system lets go of it in a moment anyway
	}
	if r.logFile != nil {
		_ = r.logFile.Close()
	}
}

// serve answers until ctx ends. It says where once it can be called.
func (r *memoryHost) serve(ctx context.Context, port int, token string, say func(address) error) error {
	ln, err := web.ListenAt(ctx, port)
	if err != nil {
		return err
	}
	a := address{BaseURL: "http://" + ln.Addr().String(), Token: token}
	e := engine.New(engine.Config{Store: r.store, Now: time.Now, Version: r.options.Version, Logger: r.log, Meaning: r.meaning})
	if r.meaning != nil {
		ctx, stop := context.WithCancel(ctx)
		var embedding sync.WaitGroup
		embedding.Go(func() { r.meaning.Run(ctx) })
		defer embedding.Wait()
		defer stop()
	}
	handler, _ := web.New(runtimeConfig(r.options.Version, a, r.log), host.Routes(e))
	if err := say(a); err != nil {
		ln.Close()
		return err
	}
	defer start(ctx, "rehearsal", r.log, e.Rehearse)()
	learning, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Learn(learning)
	}()
	defer func() { stop(); <-done }() // before the store is closed
	defer limitMemory(ctx, r.options, r.log, r.memoryLimit, r.store.HeldChanged())()
	stopBackups := start(ctx, "backups", r.log, func(ctx context.Context) error { r.daily().Run(ctx); return nil })
	defer stopBackups()
	return (&web.Server{Handler: handler, Log: r.log}).Serve(ctx, ln)
}

// daily has the memory copied once a day.
func (r *memoryHost) daily() keep.Daily {
	return keep.Daily{
		Latest: func() (time.Time, error) {
			all, err := sqlite.Backups(r.home.Backups())
			if err != nil || len(all) == 0 {
				return time.Time{}, err
			}
			return all[0].MadeAt, nil
		},
		Changed: func() time.Time {
			var latest time.Time
			for _, name := range []string{r.home.MemoryDB(), r.home.MemoryDB() + "-wal"} {
				if info, err := os.Stat(name); err == nil && info.ModTime().After(latest) {
					latest = info.ModTime()
				}
			}
			return latest
		},
		Make: r.store.Backup, Now: now, Log: r.log,
	}
}

func runtimeConfig(version string, a address, log *slog.Logger) web.Config {
	return web.Config{
		Title: "Ambry memory runtime", Version: version,
		Description: "What stands behind /api/v1/memory/ and /api/v1/panel/ of the local API.",
		Token:       web.Token{Header: "Authorization", Scheme: "Bearer", Secret: a.Token},
		Log:         log,
	}
}
