package app

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"
	"uuid"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/state"
)

// tokens are the tokens of agents. They are kept by their digests, so that
// nobody who reads the database has one.
type tokens struct {
	db  *state.DB
	log *slog.Logger

	mu      sync.Mutex // guards what follows
	digests map[[sha256.Size]byte]ambry.AgentToken
}

// useRest is how exact it is known when a token was used.
const useRest = time.Hour

// newTokens returns the tokens that the database has.
func newTokens(ctx context.Context, db *state.DB, log *slog.Logger) (*tokens, error) {
	t := &tokens{db: db, log: log}
	return t, t.load(ctx)
}

// load reads the tokens that are in force.
func (t *tokens) load(ctx context.Context) error {
	all, digests, err := t.db.Tokens(ctx)
	if err != nil {
		return err
	}
	known := map[[sha256.Size]byte]ambry.AgentToken{}
	for i, one := range all {
		if one.RevokedAt == nil && len(digests[i]) == sha256.Size {
			known[[sha256.Size]byte(digests[i])] = one
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.digests = known
	return nil
}

// Agent returns whose token a secret is. Looking up a digest tells nobody how
// near a guess was.
func (t *tokens) Agent(secret string) (string, bool) {
	digest := sha256.Sum256([]byte(secret))
	t.mu.Lock()
	one, ok := t.digests[digest]
	due := ok && (one.LastUsedAt == nil || now().Sub(*one.LastUsedAt) > useRest)
	if due {
		at := now().UTC()
		one.LastUsedAt = &at
		t.digests[digest] = one
	}
	t.mu.Unlock()
	if due {
		if err := t.db.UseToken(context.Background(), one.ID, *one.LastUsedAt); err != nil {
			t.log.Error("note the use of a token", "err", err)
		}
	}
	return one.Agent, ok
}

// Create makes a token for an agent. It is in the answer and nowhere else.
func (t *tokens) Create(ctx context.Context, agent string) (ambry.AgentToken, error) {
	name := ambry.AgentName(agent)
	if name == "" {
		return ambry.AgentToken{}, ambry.InvalidArgument.Errorf("an agent is named with letters, digits, _, . and -, such as claude_code")
	}
	one := ambry.AgentToken{ID: "at_" + uuid.NewV7().String(), Agent: name, CreatedAt: now().UTC().Truncate(time.Millisecond)}
	secret := newToken()
	digest := sha256.Sum256([]byte(secret))
	if err := t.db.AddToken(ctx, one, digest[:]); err != nil {
		return ambry.AgentToken{}, err
	}
	if err := t.load(ctx); err != nil {
		return ambry.AgentToken{}, err
	}
	one.Token = secret
	return one, nil
}

// List returns the tokens without the secrets.
func (t *tokens) List(ctx context.Context) (ambry.AgentTokens, error) {
	all, _, err := t.db.Tokens(ctx)
	if all == nil {
		all = []ambry.AgentToken{}
	}
	return ambry.AgentTokens{Tokens: all}, err
}

// Revoke revokes a token by its id, or all of an agent's. Once it has returned
// they open nothing.
func (t *tokens) Revoke(ctx context.Context, idOrAgent string) (ambry.TokensRevoked, error) {
	n, err := t.db.RevokeTokens(ctx, idOrAgent, now())
	if err == nil && n == 0 {
		if name := ambry.AgentName(idOrAgent); name != "" && name != idOrAgent {
			n, err = t.db.RevokeTokens(ctx, name, now())
		}
	}
	if err == nil {
		err = t.load(ctx)
	}
	if err == nil && n == 0 {
		err = ambry.NotFound.Errorf("there is no token in force of that id or agent")
	}
	return ambry.TokensRevoked{OK: err == nil, Revoked: n}, err
}
