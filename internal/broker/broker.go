// Package broker stands between Ambry and the models that a person has chosen:
// it keeps the choice and the keys, makes the calls, within the budget, and
// writes down what they have used. How each provider is spoken to is in package
// model and below; what is asked, and what the answers are for, is up to others.
package broker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/secret"
)

// Setup is where the choice is kept.
type Setup interface {
	Load(ctx context.Context) (ambry.ModelSetup, error)
	Change(ctx context.Context, edit func(*ambry.ModelSetup) error) (ambry.ModelSetup, error)
}

// Ledger is where it is written down what calls have used.
type Ledger interface {
	Reserve(ctx context.Context, u ambry.UsageEvent, b ambry.Budget, since time.Time) (over string, err error)
	Record(ctx context.Context, u ambry.UsageEvent) error
	UsedSince(ctx context.Context, since time.Time, background bool) (ambry.UsageTotals, error)
	Used(ctx context.Context) ([]ambry.UsageOfKind, *time.Time, error)
}

// Policy is what calls may cost, as the settings say now.
type Policy struct {
	Budget ambry.Budget
	// Prices are in millionths for a million tokens; below 0 they are not known.
	InputPrice, OutputPrice, EmbeddingPrice int64
}

// Config is what a [Broker] is made of. All of it is needed.
type Config struct {
	Providers []model.Provider
	Setup     Setup
	Secrets   *secret.Store
	Ledger    Ledger
	HTTP      *http.Client // as [model.Access] wants it
	Policy    func() Policy
	Changed   func(fields []string) // called after the choice changed
	Log       *slog.Logger
	Now       func() time.Time
}

// Broker is the way to the models. Its methods may be called at the same time.
type Broker struct {
	Config
	tests chan struct{} // a place for each test that runs

	// keys is held by who changes the choice, and by who reads keys of it: between
	// the two a key may be gone already. No call of a model is made meanwhile.
	keys sync.RWMutex
}

// maxTests is how many tests run at a time.
const maxTests = 8

// New makes a broker, and removes the keys that nothing refers to: a crash may
// have left some.
func New(ctx context.Context, cfg Config) (*Broker, error) {
	b := &Broker{Config: cfg, tests: make(chan struct{}, maxTests)}
	setup, err := b.Setup.Load(ctx)
	if err != nil {
		return nil, err
	}
	used := storedKeys(setup)
	for _, id := range b.Secrets.IDs() {
		if strings.HasPrefix(id, keyPrefix) && !slices.Contains(used, id) {
			b.forget(ctx, id)
		}
	}
	return b, nil
}

// ModelConfig returns the choice as it is shown.
func (b *Broker) ModelConfig(ctx context.Context) (ambry.ModelConfig, error) {
	b.keys.RLock()
	defer b.keys.RUnlock()
	setup, err := b.Setup.Load(ctx)
	if err != nil {
		return ambry.ModelConfig{}, err
	}
	return b.view(ctx, setup), nil
}

// SetModelConfig replaces the choice, and returns it as it is then. All of it
// is valid, or nothing changes. A key that is not given stays, if it is for the
// address that is now chosen; else it is dropped.
func (b *Broker) SetModelConfig(ctx context.Context, in ambry.ModelConfigInput) (ambry.ModelConfig, error) {
	p, err := b.plan(in)
	if err != nil {
		return ambry.ModelConfig{}, err
	}
	b.keys.Lock()
	defer b.keys.Unlock()
	fresh, err := b.store(ctx, &p)
	if err != nil {
		return ambry.ModelConfig{}, err
	}
	var before ambry.ModelSetup
	after, err := b.Setup.Change(ctx, func(s *ambry.ModelSetup) error {
		before = *s
		*s = p.apply(before)
		now := b.Now().UTC()
		s.UpdatedAt = &now
		return nil
	})
	if err != nil {
		for _, id := range fresh {
			b.forget(ctx, id)
		}
		return ambry.ModelConfig{}, err
	}
	kept := storedKeys(after)
	for _, id := range storedKeys(before) {
		if !slices.Contains(kept, id) {
			b.forget(ctx, id)
		}
	}
	if fields := differences(before, after); len(fields) > 0 {
		b.Changed(fields)
	}
	return b.view(ctx, after), nil
}

// forget deletes a key that nothing refers to any more. What cannot be deleted
// now is tried again at the next start.
func (b *Broker) forget(ctx context.Context, id string) {
	if err := b.Secrets.Delete(context.WithoutCancel(ctx), id); err != nil {
		b.Log.Warn("delete a key that is not used any more", "err", err)
	}
}

// provider returns a provider by its id.
func (b *Broker) provider(id string) (model.Provider, bool) {
	i := slices.IndexFunc(b.Providers, func(p model.Provider) bool { return p.ID == id })
	if i < 0 {
		return model.Provider{}, false
	}
	return b.Providers[i], true
}

// keyPrefix begins the names of keys that the broker has stored.
const keyPrefix = "model-"

// stored reports whether a reference names a key that the broker has stored.
func stored(ref string) bool { return strings.HasPrefix(ref, keyPrefix) }

// storedKeys returns the names of the stored keys of a choice.
func storedKeys(s ambry.ModelSetup) (ids []string) {
	for _, ref := range []*ambry.ModelRef{&s.Main, s.Embedding, s.Summary, s.Evolution} {
		if ref != nil && stored(ref.Key) {
			ids = append(ids, ref.Key)
		}
	}
	return ids
}

// boundKey is a key with the address that it is for: whatever happens to the
// choice, it goes nowhere else.
type boundKey struct {
	For string `json:"for"`
	Key string `json:"key"`
}

func addressOf(base string) string {
	a, err := model.ParseAddress(base)
	if err != nil {
		return ""
	}
	return a.Scheme + "://" + a.Host + ":" + a.Port
}

var errOtherAddress = errors.New("the key is for another address")

// key returns the key of a chosen model, "" if it has none.
func (b *Broker) key(ctx context.Context, ref ambry.ModelRef) (string, error) {
	switch {
	case ref.Key == "":
		return "", nil
	case !stored(ref.Key):
		return b.Secrets.Resolve(ctx, ref.Key)
	}
	text, err := b.Secrets.Get(ctx, ref.Key)
	if err != nil {
		return "", err
	}
	var k boundKey
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return "", errors.New("a stored key is not as we wrote it")
	}
	if k.For != addressOf(ref.BaseURL) {
		return "", errOtherAddress
	}
	return k.Key, nil
}

func (b *Broker) view(ctx context.Context, s ambry.ModelSetup) ambry.ModelConfig {
	v := ambry.ModelConfig{ModelView: b.viewOf(ctx, s.Main), UpdatedAt: s.UpdatedAt}
	v.Embedding = ambry.EmbeddingView{Mode: "local"}
	if e := s.Embedding; e != nil {
		m := b.viewOf(ctx, *e)
		v.Embedding = ambry.EmbeddingView{
			Mode: "custom", Provider: &e.Provider, BaseURL: &e.BaseURL, ModelID: &e.ModelID,
			HasAPIKey: m.HasAPIKey, APIKeyMasked: m.APIKeyMasked,
		}
	}
	v.Memory = ambry.MemoryModels{Summary: b.viewOf(ctx, refOf(s, ambry.UsageSummary)), Evolution: b.viewOf(ctx, refOf(s, ambry.UsageEvolution))}
	return v
}

func (b *Broker) viewOf(ctx context.Context, ref ambry.ModelRef) ambry.ModelView {
	v := ambry.ModelView{Provider: ref.Provider, BaseURL: ref.BaseURL, ModelID: ref.ModelID}
	key, err := b.key(ctx, ref)
	v.HasAPIKey = key != "" || stored(ref.Key) && (errors.Is(err, secret.ErrKeychain) || errors.Is(err, secret.ErrUnusable))
	switch {
	case ref.Key != "" && !stored(ref.Key):
		v.APIKeyMasked = ref.Key
	case v.HasAPIKey:
		v.APIKeyMasked = mask(key)
	}
	return v
}

const (
	dots    = "••••"
	minMask = 20 // a shorter key would lose too much by its ends
)

func mask(key string) string {
	if len(key) < minMask {
		return dots
	}
	return key[:4] + dots + key[len(key)-4:]
}

// refOf returns the model for a kind of call.
func refOf(s ambry.ModelSetup, kind string) ambry.ModelRef {
	own := map[string]*ambry.ModelRef{ambry.UsageSummary: s.Summary, ambry.UsageEvolution: s.Evolution, ambry.UsageEmbedding: s.Embedding}[kind]
	if own != nil {
		return *own
	}
	return s.Main
}

// differences names what differs between two choices.
func differences(a, b ambry.ModelSetup) (fields []string) {
	same := func(x, y *ambry.ModelRef) bool { return x == y || x != nil && y != nil && *x == *y }
	for name, equal := range map[string]bool{
		"main": a.Main == b.Main, "embedding": same(a.Embedding, b.Embedding),
		"summary": same(a.Summary, b.Summary), "evolution": same(a.Evolution, b.Evolution),
	} {
		if !equal {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}
