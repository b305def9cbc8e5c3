package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/broker"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/model/all"
	"ambry.dev/ambry/internal/relay"
	"ambry.dev/ambry/internal/secret"
)

// openSecrets opens the store of keys, in the place that the settings name. One that
// cannot be opened says so to who asks for a key.
func (s *service) openSecrets(ctx context.Context) (*secret.Store, error) {
	cfg := secret.Config{
		Home: s.home, KeyDir: keyDir(s.options), Getenv: s.options.Getenv, Log: s.log, Now: now,
	}
	own, persons, ok := secret.System(s.options.Getenv)
	if ok {
		cfg.Named = persons
	}
	switch where := s.config.get().Secret.Store; {
	case where == "file":
	case where == "keychain" && !ok:
		return nil, fmt.Errorf("secret.store is keychain, but this system has none that could be asked")
	case where == "keychain":
		cfg.Keychain = own
	case ok:
		if err := secret.Works(ctx, own); err != nil {
			s.log.Warn("the keychain cannot be used; keys are kept in the encrypted file", "err", err)
		} else {
			cfg.Keychain = own
		}
	}
	secrets, err := secret.Open(cfg)
	if err != nil { // the memory needs none
		s.log.Error("go on without the stored secrets", "err", err)
		return secret.Unusable(cfg, err), nil
	}
	return secrets, nil
}

// keyDir is where the key of the encrypted file is: in the place for settings
// of programs, apart from our home, so that a copy of the home opens nothing.
func keyDir(o Options) string {
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	const name = "ambry-keys"
	switch runtime.GOOS {
	case "windows":
		if dir := getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, name)
		}
		return filepath.Join(o.UserHome, "AppData", "Local", name)
	case "darwin":
		return filepath.Join(o.UserHome, "Library", "Application Support", name)
	}
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name)
	}
	return filepath.Join(o.UserHome, ".config", name)
}

// newBroker makes the way to the models. changed is called after the person has
// chosen others.
func (s *service) newBroker(ctx context.Context, bus *event.Bus, changed func()) (*broker.Broker, error) {
	secrets, err := s.openSecrets(ctx)
	if err != nil {
		return nil, err
	}
	s.secrets = secrets
	return broker.New(ctx, broker.Config{
		Providers: all.Providers(), Setup: s.db.ModelSetup, Secrets: secrets, Ledger: s.db,
		HTTP: s.modelClient(), Policy: s.modelPolicy, Log: s.log, Now: now,
		Changed: func(fields []string) {
			changed()
			bus.Publish(ambry.SettingsChanged{Section: "model_config", Fields: fields})
		},
	})
}

// modelPolicy is what models may do and cost, as the settings say now.
func (s *service) modelPolicy() broker.Policy {
	m := s.config.get().Model
	const unknown = -1
	return broker.Policy{
		Budget: ambry.Budget{
			Allowed: m.Background, Calls: int64(m.CallsPerDay), Tokens: int64(m.TokensPerDay), Micros: m.CostPerDay.Micros(0),
		},
		InputPrice: m.InputPrice.Micros(unknown), OutputPrice: m.OutputPrice.Micros(unknown), EmbeddingPrice: m.EmbeddingPrice.Micros(unknown),
	}
}

// The bounds of connections to models. How long an answer may take is up to
// each call.
const (
	modelConnect = 10 * time.Second
	modelHeaders = 64 << 10
	modelIdle    = time.Minute
)

// modelClient returns what calls models: through the one guard of all
// connections, without following redirects, and unencrypted only within the
// person's own network.
func (s *service) modelClient() *http.Client {
	transport := func(may allowIP) *http.Transport {
		return &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, modelConnect)
				defer cancel()
				return s.outgoing.dialModel(ctx, network, address, may)
			},
			TLSHandshakeTimeout: modelConnect, MaxResponseHeaderBytes: modelHeaders, IdleConnTimeout: modelIdle, MaxIdleConnsPerHost: 4,
		}
	}
	return &http.Client{
		Transport:     byScheme{plain: transport(model.MayCallPlain), secure: transport(model.MayCall)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// byScheme sends requests by one of two transports.
type byScheme struct{ plain, secure http.RoundTripper }

// RoundTrip sends a request.
func (b byScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return b.secure.RoundTrip(r)
	}
	return b.plain.RoundTrip(r)
}

// access is what the memory runtime is told of the models.
func (s *service) access(ctx context.Context) (*relay.Access, error) {
	space, err := s.models.Space(ctx)
	if err != nil {
		return nil, err
	}
	setup, err := s.db.ModelSetup.Load(ctx)
	if err != nil {
		return nil, err
	}
	chat := s.config.get().Model.Background && (setup.Main.ModelID != "" || setup.Summary != nil)
	if space == "" && !chat {
		return nil, nil
	}
	return &relay.Access{BaseURL: s.file.BaseURL, Token: s.runtimeToken, Space: space, Chat: chat}, nil
}

// borrow returns the runtime's way to the models that the service lends. The
// runtime connects to this machine alone, whatever it is told.
func borrow(a relay.Access) *relay.Client {
	return relay.New(a, newOutgoing(func() bool { return true }).DialContext)
}

// ModelProviders returns the ids of the providers of models.
func ModelProviders() []string {
	var ids []string
	for _, p := range all.Providers() {
		ids = append(ids, p.ID)
	}
	return ids
}

// ModelURL returns where the API of a provider usually is, "" if there is no
// such provider.
func ModelURL(id string) string {
	for _, p := range all.Providers() {
		if p.ID == id {
			return p.BaseURL
		}
	}
	return ""
}
