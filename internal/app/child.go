package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/host"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/supervise"
	"ambry.dev/ambry/internal/web"
)

// memoryLockWait is how long a runtime waits for the one before it to let go of
// the database.
const memoryLockWait = 10 * time.Second

// Memory is the memory runtime, the child of the service: it is told its home on
// stdin, answers its address on stdout, and runs until stdin closes.
func Memory(ctx context.Context, o Options, stdin io.Reader, stdout io.Writer) error {
	home.Umask()
	var told hello
	ctx, parent, err := supervise.Child(ctx, stdin, stdout, &told)
	if err != nil {
		return err
	}
	h, err := home.Open(told.Home)
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(told.LogLevel)); err != nil {
		return fmt.Errorf("log level: %w", err)
	}
	log, logFile, err := newLog(h, "memory.log", level, o.Stderr)
	if err != nil {
		return err
	}
	defer logFile.Close()

	waiting, cancel := context.WithTimeout(ctx, memoryLockWait)
	defer cancel()
	lock, err := home.AcquireWithin(waiting, h.MemoryLock())
	if err != nil {
		return fmt.Errorf("wait for the memory runtime before this one: %w", err)
	}
	defer lock.Release()

	st, err := store.Open(ctx, store.Config{Path: h.MemoryDB(), BackupDir: h.Backups(), Logger: log, Now: time.Now})
	if err != nil {
		log.Error("open the memory", "err", err)
		if ambry.KindOf(err) == ambry.MemoryUnavailable {
			return parent.Refuse(err.Error())
		}
		return err
	}
	defer st.Close()
	return serveMemory(ctx, o, st, log, parent)
}

func serveMemory(ctx context.Context, o Options, st *store.Store, log *slog.Logger, parent supervise.Parent) error {
	ln, err := web.Listen(ctx)
	if err != nil {
		return err
	}
	a := address{BaseURL: "http://" + ln.Addr().String(), Token: newToken()}
	e := engine.New(engine.Config{Store: st, Now: time.Now, Version: o.Version, Logger: log})
	handler, _ := web.New(runtimeConfig(o.Version, a, log), host.Routes(e))
	if err := parent.Ready(a); err != nil {
		ln.Close()
		return err
	}
	return (&web.Server{Handler: handler, Log: log}).Serve(ctx, ln)
}

func runtimeConfig(version string, a address, log *slog.Logger) web.Config {
	return web.Config{
		Title: "Ambry memory runtime", Version: version,
		Description: "What stands behind /api/v1/memory/ and /api/v1/panel/ of the local API.",
		Token:       web.Token{Header: "Authorization", Scheme: "Bearer", Secret: a.Token},
		Log:         log,
	}
}
