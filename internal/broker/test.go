package broker

import (
	"context"
	"errors"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/secret"
)

// The bounds of a test.
const (
	testWait   = 15 * time.Second
	testBytes  = 1 << 20
	testTokens = 16
)

// TestModel asks a model something small. A model that does not answer is no
// error, but a test that ended so; an address that may never be called is
// [ambry.InvalidArgument].
func (b *Broker) TestModel(ctx context.Context, in ambry.ModelTest) (ambry.ModelTested, error) {
	var w wrong
	embeds := in.Capability == "embedding"
	m := b.wanted(&w, "body.", in.ModelInput, embeds)
	if err := w.error(); err != nil {
		return ambry.ModelTested{}, err
	}
	p, _ := b.provider(m.ref.Provider)
	key, err := b.testKey(ctx, m, in, embeds)
	if err != nil {
		return ambry.ModelTested{}, err
	}
	select {
	case b.tests <- struct{}{}:
		defer func() { <-b.tests }()
	default:
		return ambry.ModelTested{}, &ambry.Error{Kind: ambry.RateLimited, Message: "too many tests at the same time", RetryAfter: 1}
	}
	ctx, cancel := context.WithTimeout(ctx, testWait)
	defer cancel()
	var used model.Usage
	access := model.Access{
		BaseURL: m.ref.BaseURL, Model: m.ref.ModelID, Key: key, HTTP: b.HTTP,
		Limits: model.Limits{Attempts: 1, MaxBytes: testBytes, Idle: testWait},
		Used:   func(u model.Usage) { used = u },
	}
	kind, ask := ambry.UsageChat, askChat
	if embeds {
		kind, ask = ambry.UsageEmbedding, askEmbedding
	}
	began := time.Now()
	out, err := ask(ctx, p, access)
	out.LatencyMs, out.CheckedAt = time.Since(began).Milliseconds(), b.Now().UTC()
	f, failed := errors.AsType[*model.Failure](err)
	switch {
	case err == nil:
		out.OK, out.Message = true, "connected"
		b.record(ctx, b.event(kind, m.ref, used, false))
	case failed && f.Reason == model.Forbidden:
		w.add("body.baseUrl", "leads to an address that may never be called, or not without https")
		return ambry.ModelTested{}, w.error()
	case failed:
		out.Message = f.Error()
	default:
		return ambry.ModelTested{}, err
	}
	return out, nil
}

func askChat(ctx context.Context, p model.Provider, a model.Access) (ambry.ModelTested, error) {
	r, err := p.NewChat(a).Chat(ctx, model.Request{Messages: []model.Message{{Role: model.User, Text: "ping"}}, MaxTokens: testTokens}, nil)
	return ambry.ModelTested{Model: oneLine(r.Model)}, err
}

func askEmbedding(ctx context.Context, p model.Provider, a model.Access) (ambry.ModelTested, error) {
	e := p.NewEmbedder(a)
	_, err := e.Embed(ctx, []string{"ping"}, model.ForStoring)
	return ambry.ModelTested{Dimensions: e.Dims()}, err
}

// oneLine is a name that a stranger gave, fit to be shown.
func oneLine(name string) string {
	const most = 100
	runes := []rune{}
	for _, r := range name {
		if r >= ' ' && r != 0x7f && len(runes) < most {
			runes = append(runes, r)
		}
	}
	return string(runes)
}

// testKey returns the key to test with: the one that is given or referred to,
// else a stored one, if that is for this address.
func (b *Broker) testKey(ctx context.Context, m wanted, in ambry.ModelTest, embeds bool) (string, error) {
	var w wrong
	var err error
	key := m.key
	if m.ref.Key != "" {
		if key, err = b.Secrets.Resolve(ctx, m.ref.Key); err != nil {
			return "", asked(err)
		}
	}
	if m.keep {
		key, err = b.storedKey(ctx, m.ref.BaseURL, in.SecretTarget, embeds)
		switch {
		case errors.Is(err, errOtherAddress) && in.SecretTarget != "":
			w.add("body.apiKey", "is needed: the stored key is for another address")
		case errors.Is(err, errOtherAddress), ambry.KindOf(err) == ambry.NotFound: // as if there were none
		case err != nil:
			return "", asked(err)
		case key == "" && in.SecretTarget != "":
			w.add("body.apiKey", "is needed: no key is stored")
		}
	}
	if p, _ := b.provider(in.Provider); key == "" && len(w) == 0 && !p.Local && p.ID != "openai_compatible" {
		w.add("body.apiKey", "is needed for %s", p.Name)
	}
	return key, w.error()
}

// storedKey returns the stored key of a model, for a base URL.
func (b *Broker) storedKey(ctx context.Context, base, target string, embeds bool) (string, error) {
	b.keys.RLock()
	defer b.keys.RUnlock()
	s, err := b.Setup.Load(ctx)
	if err != nil {
		return "", err
	}
	if target == "" && embeds {
		target = "embedding"
	}
	kind := map[string]string{"memory": ambry.UsageSummary, "skill": ambry.UsageEvolution, "embedding": ambry.UsageEmbedding}[target]
	ref := refOf(s, kind)
	if addressOf(ref.BaseURL) != addressOf(base) {
		return "", errOtherAddress
	}
	return b.key(ctx, ref)
}

// asked is an error of a secret as the answer to a person's request.
func asked(err error) error {
	switch {
	case errors.Is(err, secret.ErrKeychain):
		return ambry.Conflict.Wrap(err, secret.ErrKeychain.Error())
	case errors.Is(err, secret.ErrLocked):
		return ambry.Conflict.Wrap(err, secret.ErrLocked.Error())
	case ambry.KindOf(err) == ambry.NotFound:
		return ambry.InvalidArgument.Wrap(err, err.Error())
	}
	return err
}
