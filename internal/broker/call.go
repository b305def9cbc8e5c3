package broker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model"
)

// How many tokens a text has at most, as a guess that is made before a call.
const bytesPerToken = 3

// Chat asks the model for a kind of call. In the background it does so only
// within the budget: [ambry.Forbidden] says that the person allows no such
// calls, [ambry.RateLimited] that the day's budget is spent. Without a model it
// is [ambry.NotFound]; what fails otherwise is [ambry.UpstreamFailed].
func (b *Broker) Chat(ctx context.Context, kind string, background bool, r model.Request, each func(string) error) (model.Reply, error) {
	p, access, ref, err := b.access(ctx, kind)
	if err != nil {
		return model.Reply{}, err
	}
	size := len(r.System)
	for _, m := range r.Messages {
		size += len(m.Text)
	}
	var reply model.Reply
	guess := model.Usage{Input: int64(size/bytesPerToken + 1), Output: int64(r.MaxTokens)}
	err = b.metered(ctx, b.event(kind, ref, guess, background), &access, func() (err error) {
		reply, err = p.NewChat(access).Chat(ctx, r, each)
		return err
	})
	return reply, err
}

// Space names the vectors of the model for embeddings that the person has
// chosen, "" if that is the built-in one.
func (b *Broker) Space(ctx context.Context) (string, error) {
	s, err := b.Setup.Load(ctx)
	if err != nil || s.Embedding == nil {
		return "", err
	}
	p, ok := b.provider(s.Embedding.Provider)
	if !ok || p.NewEmbedder == nil {
		return "", nil
	}
	return p.NewEmbedder(model.Access{BaseURL: s.Embedding.BaseURL, Model: s.Embedding.ModelID}).Space(), nil
}

// Embed returns vectors of a space for texts, as [model.Embedder] does. For
// storing it is a call in the background; errors are as of [Broker.Chat], and
// another space is [ambry.Conflict].
func (b *Broker) Embed(ctx context.Context, space string, texts []string, purpose model.Purpose) ([][]float32, error) {
	if have, err := b.Space(ctx); err != nil {
		return nil, err
	} else if have == "" {
		return nil, ambry.NotFound.Errorf("no model for embeddings is chosen")
	} else if have != space {
		return nil, ambry.Conflict.Errorf("another model for embeddings is chosen now")
	}
	p, access, ref, err := b.access(ctx, ambry.UsageEmbedding)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, t := range texts {
		size += len(t)/bytesPerToken + 1
	}
	var vectors [][]float32
	planned := b.event(ambry.UsageEmbedding, ref, model.Usage{Input: int64(size)}, purpose == model.ForStoring)
	err = b.metered(ctx, planned, &access, func() (err error) {
		vectors, err = p.NewEmbedder(access).Embed(ctx, texts, purpose)
		return err
	})
	return vectors, err
}

// access returns how to call the model for a kind of call.
func (b *Broker) access(ctx context.Context, kind string) (p model.Provider, a model.Access, ref ambry.ModelRef, err error) {
	b.keys.RLock()
	defer b.keys.RUnlock()
	s, err := b.Setup.Load(ctx)
	if err != nil {
		return p, a, ref, err
	}
	ref = refOf(s, kind)
	p, ok := b.provider(ref.Provider)
	if !ok || ref.ModelID == "" {
		return p, a, ref, ambry.NotFound.Errorf("no model is chosen")
	}
	key, err := b.key(ctx, ref)
	if err != nil {
		return p, a, ref, asked(err)
	}
	return p, model.Access{BaseURL: ref.BaseURL, Model: ref.ModelID, Key: key, HTTP: b.HTTP}, ref, nil
}

// metered makes a call and writes down what it has used. One in the background
// is written down before it is made, with all that it may use, so that a crash
// in between makes the budget smaller, not larger.
func (b *Broker) metered(ctx context.Context, planned ambry.UsageEvent, access *model.Access, call func() error) error {
	if planned.Background {
		if err := b.reserve(ctx, planned); err != nil {
			return err
		}
	}
	var used model.Usage
	counted := false
	access.Used = func(u model.Usage) {
		counted = true
		used.Input, used.Output = used.Input+u.Input, used.Output+u.Output
		used.CachedInput, used.CacheCreation = used.CachedInput+u.CachedInput, used.CacheCreation+u.CacheCreation
	}
	err := call()
	done := planned
	switch {
	case counted && used != model.Usage{}:
		b.fill(&done, used)
	case err == nil, interrupted(err):
		// The provider does not say, or may have worked for nothing: the guess stands.
	default:
		b.fill(&done, model.Usage{})
	}
	b.record(ctx, done)
	return upstream(err)
}

// interrupted reports whether a call ended while the provider was at work.
func interrupted(err error) bool {
	f, failed := errors.AsType[*model.Failure](err)
	return !failed || f.Reason == model.TimedOut || f.Reason == model.CutOff || f.Reason == model.TooBig
}

// upstream is the error of a call as the rest of Ambry knows errors.
func upstream(err error) error {
	f, failed := errors.AsType[*model.Failure](err)
	if !failed {
		return err
	}
	kind := ambry.UpstreamFailed
	if f.Reason == model.RateLimited {
		kind = ambry.RateLimited
	}
	wrapped := kind.Wrap(err, "the model: "+f.Error())
	if e, ok := errors.AsType[*ambry.Error](wrapped); ok {
		e.RetryAfter = int(math.Ceil(f.RetryAfter.Seconds()))
	}
	return wrapped
}

// reserve asks the budget.
func (b *Broker) reserve(ctx context.Context, u ambry.UsageEvent) error {
	policy := b.Policy()
	if !policy.Budget.Allowed {
		return ambry.Forbidden.Errorf("calls of models in the background are not allowed; see the setting model.background")
	}
	if policy.Budget.Micros > 0 && u.Micros < 0 {
		return ambry.Forbidden.Errorf("the budget limits money, but the price of the model is not set; see model.inputPrice")
	}
	u.Micros = max(u.Micros, 0)
	over, err := b.Ledger.Reserve(ctx, u, policy.Budget, today(b.Now()))
	if err != nil {
		return err
	}
	if over != "" {
		return &ambry.Error{
			Kind: ambry.RateLimited, Message: "today's budget for models is spent: no " + over + " left",
			RetryAfter: int(math.Ceil(tomorrow(b.Now()).Sub(b.Now()).Seconds())),
		}
	}
	return nil
}

// record writes down a call that was made. Whoever asked has the answer already,
// so that a ledger which cannot be written is only told of.
func (b *Broker) record(ctx context.Context, u ambry.UsageEvent) {
	u.Micros = max(u.Micros, 0)
	if err := b.Ledger.Record(context.WithoutCancel(ctx), u); err != nil {
		b.Log.Error("write down a call of a model", "err", err)
	}
}

// event is a call that is made now.
func (b *Broker) event(kind string, ref ambry.ModelRef, u model.Usage, background bool) ambry.UsageEvent {
	source := "memory"
	if kind == ambry.UsageChat {
		source = "agent"
	}
	e := ambry.UsageEvent{
		Kind: kind, Source: source, OperationID: newID(), Model: ref.Provider + "/" + ref.ModelID,
		CreatedAt: b.Now().UTC(), Background: background,
	}
	b.fill(&e, u)
	return e
}

// fill puts into an event what a call has used. A price that is not known makes
// the cost negative.
func (b *Broker) fill(e *ambry.UsageEvent, u model.Usage) {
	e.InputTokens, e.OutputTokens, e.TotalTokens = u.Input, u.Output, u.Input+u.Output
	e.CachedInputTokens, e.CacheCreationInputTokens = u.CachedInput, u.CacheCreation
	policy := b.Policy()
	in, out := policy.InputPrice, policy.OutputPrice
	if e.Kind == ambry.UsageEmbedding {
		in, out = policy.EmbeddingPrice, 0
	}
	e.Micros = -1
	if in >= 0 && out >= 0 {
		const million = 1e6
		e.Micros = int64(math.Ceil((float64(u.Input)*float64(in) + float64(u.Output)*float64(out)) / million))
	}
}

func newID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// today is when the person's day began.
func today(now time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, now.Location())
}

func tomorrow(now time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, now.Location())
}
