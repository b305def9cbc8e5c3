package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/all"
	"ambry.dev/ambry/internal/broker"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/gateway"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/keep"
	"ambry.dev/ambry/internal/mcp"
	"ambry.dev/ambry/internal/mcp/upstream"
	"ambry.dev/ambry/internal/relay"
	"ambry.dev/ambry/internal/scan"
	"ambry.dev/ambry/internal/secret"
	"ambry.dev/ambry/internal/server"
	"ambry.dev/ambry/internal/settings"
	"ambry.dev/ambry/internal/skill"
	"ambry.dev/ambry/internal/state"
	"ambry.dev/ambry/internal/web"
)

const ringSize = 1024 // events that a reader who comes back can still get

// Serve runs the service until ctx ends. Then requests in flight end, a scan
// stops where it is, the runtime stops, and runtime.json is removed. If another
// service has the home, the error is a [*RunningError].
func Serve(ctx context.Context, o Options) (err error) {
	home.Umask()
	h, err := home.Open(o.Home)
	if err != nil {
		return err
	}
	config, err := loadConfig(settings.Sources{File: h.Config(), Getenv: o.Getenv, Flags: o.Settings})
	if err != nil {
		return err
	}
	lock, err := claim(ctx, h, o.Replace)
	if err != nil {
		return err
	}
	defer lock.Release()
	log, logFile, err := newLog(h, "service.log", config.level, o.Stderr)
	if err != nil {
		return err
	}
	defer logFile.Close()
	for _, w := range config.get().Warnings {
		log.Warn("settings", "warning", w)
	}
	if err := errors.Join(home.RemoveTemps(h.Dir()), state.SweepParts(h)); err != nil {
		log.Warn("remove files that a crash left", "err", err)
	}
	db, err := state.Open(ctx, h)
	if err != nil {
		return err
	}
	defer db.Close()
	s := &service{options: o, home: h, config: config, db: db, log: log}
	s.outgoing = newOutgoing(s.localOnly)
	defer limitMemory(ctx, o, log, s.memoryLimit, nil)()
	if s.tokens, err = newTokens(ctx, db, log); err != nil {
		return err
	}
	return s.run(ctx)
}

// service is the running service.
type service struct {
	options  Options
	home     home.Home
	config   *config
	outgoing *outgoing
	db       *state.DB
	tokens   *tokens
	secrets  *secret.Store // of the person; set by newBroker
	log      *slog.Logger

	models       *broker.Broker
	accounts     *accounts
	channels     *gateway.Gateway
	runtimeToken string // opens the models to the memory runtime

	file ambry.RuntimeFile
	mu   sync.Mutex // guards writing runtime.json
}

func (s *service) run(ctx context.Context) error {
	ln, err := web.Listen(ctx)
	if err != nil {
		return err
	}
	bus := event.New(fmt.Sprintf("%x", now().UnixMilli()), ringSize, now)
	defer bus.Close()
	s.file, s.runtimeToken = s.newRuntimeFile(ln), newToken()
	var memory *memoryRuntime
	if s.models, err = s.newBroker(ctx, bus, func() { s.lend(memory) }); err != nil {
		ln.Close()
		return err
	}
	s.accounts = s.newAccounts(bus)
	defer s.accounts.issuer.Close()
	if memory, err = s.newMemory(bus); err != nil {
		ln.Close()
		return err
	}
	s.config.heed = func() { s.lend(memory) }
	s.outgoing.ownPort = func(port uint16) bool { return s.ownPort(memory, port) }
	scanner := s.newScanner(memory, bus)
	spool := s.newSpool(memory)
	if err := spool.Heed(); err != nil {
		s.log.Error("prepare for the hooks of agents", "err", err)
	}
	skills, err := s.newSkills(ctx, scanner.Home, bus)
	if err != nil {
		ln.Close()
		return err
	}
	others := s.newUpstreams()
	own := notes{memory, s.newForgetting(memory, spool)}
	bridge := mcp.NewBridge(&mcp.Server{Memory: own, As: own.as, Version: s.options.Version, Log: s.log, Others: others})
	scans := consenting{scanner, spool, s.log}
	if s.channels, err = s.newChannels(ctx, memory, bus); err != nil {
		ln.Close()
		return err
	}
	keeper := s.newKeeper(scans, s.channels, memory, bus)
	handler, _ := web.New(s.webConfig(), s.newServer(scans, skills, memory, bus, bridge, others, keeper).Routes())

	// Each part runs until its context ends; the order in which they end is the
	// reverse of who needs whom.
	stopMemory := start(ctx, "memory runtime", s.log, memory.Run)
	defer stopMemory()
	stopScanner := start(ctx, "scanner", s.log, func(ctx context.Context) error {
		if err := s.resumeDeletion(ctx, keeper, memory); err != nil {
			s.log.Error("go on deleting; nothing is read before that is done", "err", err)
			<-ctx.Done()
			return nil
		}
		return scanner.Run(ctx)
	})
	defer stopScanner()
	stopSpool := start(ctx, "spool", s.log, spool.Run)
	defer stopSpool()
	stopSkills := start(ctx, "skills", s.log, skills.Run)
	defer stopSkills()
	stopOthers := start(ctx, "upstreams", s.log, others.Run)
	defer stopOthers()
	stopChannels := start(ctx, "channels", s.log, s.channels.Run)
	defer stopChannels()
	stopConfig := start(ctx, "settings", s.log, func(ctx context.Context) error {
		return s.config.follow(ctx, bus, s.log, func(set settings.Settings) { others.Set(set.MCP.Upstreams) })
	})
	defer stopConfig()
	defer bridge.Close()

	if err := s.publishRuntimeFile(memory.address()); err != nil {
		ln.Close()
		return err
	}
	defer s.withdrawRuntimeFile()
	fmt.Fprintf(s.options.Stdout, "ambry is running at %s\n", s.file.BaseURL)
	s.log.Info("serving", "version", s.options.Version, "pid", os.Getpid())
	return (&web.Server{Handler: handler, Log: s.log}).Serve(ctx, ln)
}

// start runs a part in a goroutine of its own and returns what stops it, which
// returns when the part has ended. The part does not see the end of ctx, only
// the stop: it is needed until those that use it have ended.
func start(ctx context.Context, name string, log *slog.Logger, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil {
			log.Error("part ended", "part", name, "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (s *service) newRuntimeFile(ln net.Listener) ambry.RuntimeFile {
	return ambry.RuntimeFile{
		Schema: ambry.RuntimeFileSchema, PID: os.Getpid(), StartedAt: now().UTC(), Version: s.options.Version,
		BaseURL: "http://" + ln.Addr().String(), LocalToken: newToken(), MCPToken: newToken(),
	}
}

// publishRuntimeFile tells other programs where the service and its runtime are.
func (s *service) publishRuntimeFile(memoryURL string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file.Memory.BaseURL = memoryURL
	return writeRuntimeFile(s.home, s.file)
}

func (s *service) withdrawRuntimeFile() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := removeRuntimeFile(s.home); err != nil {
		s.log.Warn("remove runtime.json", "err", err)
	}
}

func (s *service) webConfig() web.Config {
	return web.Config{
		Title: "Ambry local API", Version: s.options.Version,
		Description: "One memory for every coding agent on this machine.",
		Document:    server.DocumentPath,
		Token:       web.Token{Header: ambry.LocalTokenHeader, Secret: s.file.LocalToken},
		// Our own address serves no page, so granting it opens nothing; clients
		// that send the address they call as Origin are let in.
		Origins: func() []string { return append([]string{s.file.BaseURL}, s.config.get().API.AllowedOrigins...) },
		Agent:   s.tokens.Agent,
		Log:     s.log,
	}
}

func (s *service) newServer(scans consenting, skills *skill.Skills, memory *memoryRuntime, bus *event.Bus, bridge *mcp.Bridge, others *upstream.Pool, keeper *keep.Keeper) *server.Server {
	return &server.Server{
		Version:     s.options.Version,
		AppSettings: s.db.AppSettings, Onboarding: s.db.Onboarding,
		Privacy: s.db.Privacy, ScanPreferences: s.db.ScanPreferences,
		PrivacyChanged: s.privacyChanged,
		Bus:            bus,
		Models:         s.models,
		Account:        s.accounts.account,
		Channels:       s.channels,
		Internal:       relay.Routes(s.models, s.runtimeToken),
		Scans:          scans,
		Skills:         skills,
		Data:           keeper,
		Care:           memory,
		Health:         func(ctx context.Context) ambry.Health { return s.health(ctx, memory) },
		Memory:         s.newForgetting(memory, scans.spool),
		Hooks:          s.newHooks(memory),
		Events:         web.Events(bus.Subscribe, web.EventsConfig{MaxStreams: s.maxStreams}),
		Bridge:         bridge, MCPToken: s.file.MCPToken,
		Upstreams: others.Status, Tokens: s.tokens,
	}
}

func (s *service) newScanner(memory *memoryRuntime, bus *event.Bus) *scan.Scanner {
	return &scan.Scanner{
		Agents: all.Agents(),
		Home:   agent.Home{Dir: s.options.UserHome, OS: runtime.GOOS, Getenv: s.options.Getenv},
		Memory: memory, Marks: s.db, Journal: s.db, Manual: s.db, Own: s.home.Dir(), Bus: bus, Logger: s.log, Now: time.Now,
		Consent: s.consent,
	}
}

func (s *service) maxStreams() int { return s.config.get().API.MaxEventStreams }

func (s *service) health(ctx context.Context, memory *memoryRuntime) ambry.Health {
	h := memory.health(ctx)
	h.SettingsError, h.Cloud = s.config.problem(), s.accounts.health()
	return h
}

// localOnly reports whether no other machine may be called. If it cannot be
// read what the person permits, nothing is permitted.
func (s *service) localOnly() bool {
	privacy, err := s.db.Privacy.Load(context.Background())
	if err != nil {
		s.log.Error("read the privacy; no other machine is called", "err", err)
	}
	return err != nil || privacy.LocalOnlyMode
}

// privacyChanged has what was decided about the privacy hold.
func (s *service) privacyChanged() {
	s.outgoing.refresh()
	s.channels.Retry()
}

// consent returns what the person permits. What cannot be read is not permitted.
func (s *service) consent() (ambry.ScanPermission, ambry.ScanPreferences) {
	ctx := context.Background()
	onboarding, err := s.db.Onboarding.Load(ctx)
	if err != nil {
		s.log.Error("read the consent", "err", err)
		return ambry.PermissionNone, ambry.ScanPreferences{}
	}
	preferences, err := s.db.ScanPreferences.Load(ctx)
	if err != nil {
		s.log.Error("read the scan preferences", "err", err)
		return ambry.PermissionNone, ambry.ScanPreferences{}
	}
	return onboarding.ScanPermission, preferences
}
