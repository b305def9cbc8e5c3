package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/secret"
)

// plan is a choice as it was asked for, checked.
type plan struct {
	main                          wanted
	embedding, summary, evolution *wanted
}

// wanted is a model with what is to become of its key.
type wanted struct {
	ref  ambry.ModelRef // its Key is set once that is known
	keep bool           // the key that there is, if it is for this address
	key  string         // a key to store
}

// maxKey is how long a key may be: with its address it must fit into every
// keychain.
const maxKey = 2000

// wrong collects what is wrong with a request.
type wrong []ambry.Field

func (w *wrong) add(field, format string, args ...any) {
	*w = append(*w, ambry.Field{Field: field, Message: fmt.Sprintf(format, args...)})
}

// error returns nothing if nothing is wrong.
func (w wrong) error() error {
	if len(w) == 0 {
		return nil
	}
	return &ambry.Error{Kind: ambry.InvalidArgument, Message: w[0].Field + " " + w[0].Message, Details: w}
}

func (b *Broker) plan(in ambry.ModelConfigInput) (plan, error) {
	var w wrong
	p := plan{main: b.wanted(&w, "body.", in.ModelInput, false)}
	if e := in.Embedding; e != nil && e.Mode == "custom" {
		if e.Provider == "" {
			e.Provider = "openai_compatible"
		}
		if e.ModelID == "" {
			w.add("body.embedding.modelId", "is required")
		}
		m := b.wanted(&w, "body.embedding.", ambry.ModelInput{Provider: e.Provider, BaseURL: e.BaseURL, ModelID: e.ModelID, APIKey: e.APIKey}, true)
		p.embedding = &m
	}
	if in.Memory != nil {
		for _, own := range []struct {
			name string
			in   *ambry.ModelInput
			out  **wanted
		}{{"summary", in.Memory.Summary, &p.summary}, {"evolution", in.Memory.Evolution, &p.evolution}} {
			if own.in != nil {
				m := b.wanted(&w, "body.memory."+own.name+".", *own.in, false)
				*own.out = &m
			}
		}
	}
	return p, w.error()
}

// wanted checks one model.
func (b *Broker) wanted(w *wrong, at string, in ambry.ModelInput, embeds bool) wanted {
	m := wanted{ref: ambry.ModelRef{Provider: in.Provider, BaseURL: strings.TrimRight(in.BaseURL, "/"), ModelID: strings.TrimSpace(in.ModelID)}}
	switch p, ok := b.provider(in.Provider); {
	case !ok:
		w.add(at+"provider", "is not one of those that there are")
	case embeds && p.NewEmbedder == nil:
		w.add(at+"provider", "offers no embeddings")
	}
	if _, err := model.ParseAddress(in.BaseURL); err != nil {
		w.add(at+"baseUrl", "%v", err)
	}
	if strings.ContainsFunc(in.ModelID, func(r rune) bool { return r < ' ' || r == 0x7f }) || m.ref.ModelID == "" && in.ModelID != "" {
		w.add(at+"modelId", "must be a name on one line")
	}
	given, key, err := parseKey(in.APIKey)
	switch {
	case err != nil:
		w.add(at+"apiKey", "%v", err)
	case !given:
		m.keep = true
	case secret.IsReference(key):
		m.ref.Key = key
	default:
		m.key = key
	}
	return m
}

// parseKey reads a field for a key: absent or empty, null, a reference or a key.
func parseKey(raw json.RawMessage) (given bool, key string, err error) {
	if len(raw) == 0 {
		return false, "", nil
	}
	var text *string
	if json.Unmarshal(raw, &text) != nil {
		return true, "", errors.New("must be a text or null")
	}
	if text == nil {
		return true, "", nil
	}
	key = strings.Trim(*text, " ")
	switch {
	case key == "":
		return false, "", nil
	case secret.IsReference(key):
		return true, key, secret.CheckReference(key)
	case strings.Contains(key, dots):
		return true, "", errors.New("is the masked form of a key; leave it out to keep the key")
	case len(key) > maxKey:
		return true, "", fmt.Errorf("is longer than %d characters", maxKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return true, "", errors.New("must be printable ASCII without spaces")
	}
	return true, key, nil
}

// all are the models of a plan.
func (p *plan) all() []*wanted {
	all := []*wanted{&p.main}
	for _, m := range []*wanted{p.embedding, p.summary, p.evolution} {
		if m != nil {
			all = append(all, m)
		}
	}
	return all
}

// store stores the keys that were given, each under a new name, so that the
// choice and its keys change at one moment. It returns the names.
func (b *Broker) store(ctx context.Context, p *plan) (fresh []string, err error) {
	for _, m := range p.all() {
		if m.key == "" {
			continue
		}
		text, err := json.Marshal(boundKey{addressOf(m.ref.BaseURL), m.key})
		if err != nil {
			return nil, err
		}
		id := keyPrefix + newID()
		if err := b.Secrets.Set(ctx, id, string(text)); err != nil {
			for _, id := range fresh {
				b.forget(ctx, id)
			}
			return nil, fmt.Errorf("store a key: %w", err)
		}
		m.ref.Key = id
		fresh = append(fresh, id)
	}
	return fresh, nil
}

// apply returns the choice that a plan makes of another one.
func (p plan) apply(old ambry.ModelSetup) ambry.ModelSetup {
	var s ambry.ModelSetup
	s.Main = p.main.over(&old.Main)
	own := func(m *wanted, was *ambry.ModelRef) *ambry.ModelRef {
		if m == nil {
			return nil
		}
		ref := m.over(was)
		if m.keep && ref.Key == "" && addressOf(ref.BaseURL) == addressOf(s.Main.BaseURL) {
			ref.Key = s.Main.Key
		}
		return &ref
	}
	s.Embedding, s.Summary, s.Evolution = own(p.embedding, old.Embedding), own(p.summary, old.Summary), own(p.evolution, old.Evolution)
	return s
}

// over returns the model, with the key of the one before if that is to be kept
// and is for the same address.
func (m wanted) over(was *ambry.ModelRef) ambry.ModelRef {
	ref := m.ref
	if m.keep && was != nil && addressOf(was.BaseURL) == addressOf(ref.BaseURL) {
		ref.Key = was.Key
	}
	return ref
}
