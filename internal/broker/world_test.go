package broker_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/broker"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/model/all"
	"ambry.dev/ambry/internal/secret"
	"ambry.dev/ambry/internal/state"
)

// A key that looks like one, put together so that nothing takes it for a leak.
const key = "sk-" + "planted-0123456789abcdef-wxyz"

// masked is key as it is shown.
const masked = "sk-p••••wxyz"

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a broker over a real database and real secrets.
type world struct {
	*broker.Broker
	t       *testing.T
	home    home.Home
	keyDir  string
	db      *state.DB
	secrets *secret.Store
	policy  broker.Policy
	now     time.Time

	mu      sync.Mutex
	changed [][]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: h, keyDir: filepath.Join(t.TempDir(), "keys"), now: noon}
	w.policy = broker.Policy{InputPrice: -1, OutputPrice: -1, EmbeddingPrice: -1}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *world) start() {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	var err error
	if w.db, err = state.Open(w.t.Context(), w.home); err != nil {
		w.t.Fatal(err)
	}
	w.secrets, err = secret.Open(secret.Config{
		Home: w.home, KeyDir: w.keyDir, Log: log, Now: func() time.Time { return w.now },
		Getenv: func(name string) string { return map[string]string{"SOME_API_KEY": "from-the-environment"}[name] },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Broker, err = broker.New(w.t.Context(), broker.Config{
		Providers: all.Providers(), Setup: w.db.ModelSetup, Secrets: w.secrets, Ledger: w.db,
		HTTP: &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Policy: func() broker.Policy { return w.policy },
		Changed: func(fields []string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changed = append(w.changed, fields)
		},
		Log: log, Now: func() time.Time { return w.now },
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) stop() {
	if err := w.db.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) restart() {
	w.stop()
	w.start()
}

// input is a request to choose a model. Without a key it says nothing of one.
func input(provider, base string, apiKey ...string) ambry.ModelConfigInput {
	in := ambry.ModelConfigInput{ModelInput: ambry.ModelInput{Provider: provider, BaseURL: base, ModelID: "m"}}
	for _, k := range apiKey {
		in.APIKey = json.RawMessage(`"` + k + `"`)
	}
	return in
}

func (w *world) put(in ambry.ModelConfigInput) ambry.ModelConfig {
	w.t.Helper()
	v, err := w.SetModelConfig(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) view() ambry.ModelConfig {
	w.t.Helper()
	v, err := w.ModelConfig(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// provider is a server that speaks OpenAI's wire and keeps the keys it is sent.
type provider struct {
	*httptest.Server
	mu    sync.Mutex
	keys  []string
	calls int
	fail  int // a status to answer
}

func newProvider(t *testing.T) *provider {
	p := &provider{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	p.mu.Lock()
	p.calls++
	p.keys = append(p.keys, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	fail := p.fail
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if fail != 0 {
		w.WriteHeader(fail)
		_, _ = io.WriteString(w, `{"error":{"message":"no, `+r.Header.Get("Authorization")+`"}}`)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/embeddings") {
		_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[3,4]}],"usage":{"prompt_tokens":5,"total_tokens":5}}`)
		return
	}
	_, _ = io.WriteString(w, `{"model":"m-1","choices":[{"message":{"content":"pong"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20}}`)
}

func (p *provider) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.keys...)
}

var ask = model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}, MaxTokens: 50}
