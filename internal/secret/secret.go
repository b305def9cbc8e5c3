// Package secret keeps the person's keys and tokens where no file of the home
// shows them: in the keychain of the system, or else encrypted with a key that
// lies outside the home. It is not for texts, which package redact cleans.
package secret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// MaxLength is how long a secret may be, in bytes. The smallest keychain, that
// of Windows, takes 2560.
const MaxLength = 2500

// keyAge is how old the key of the file may become before it is replaced.
const keyAge = 90 * 24 * time.Hour

// Config is what a [Store] is made of.
type Config struct {
	Home     home.Home
	KeyDir   string              // where the key of the file is kept: outside the home
	Keychain Keychain            // nil keeps everything in the file
	Getenv   func(string) string // for references; nil means an empty environment
	Named    Keychain            // for references: what the person put into the keychain; nil means there is none
	Log      *slog.Logger
	Now      func() time.Time
}

// Keychain is a place of the system for secrets. Its methods return when ctx
// ends, whatever the system does.
type Keychain interface {
	Set(ctx context.Context, id, value string) error
	Get(ctx context.Context, id string) (string, error) // [ambry.NotFound] if there is none
	Delete(ctx context.Context, id string) error        // of what is not there is no error
}

// Store keeps secrets by id. Its methods may be called at the same time. What
// was set without an error is there after a crash.
type Store struct {
	cfg      Config
	unusable error // why nothing can be had or kept

	change sync.Mutex // held by one change at a time, calls of the keychain too

	mu    sync.Mutex // guards what follows
	file  file
	ring  ring
	known map[string]string // what was set or read already
}

// The errors of secrets that are there, but cannot be had.
var (
	ErrKeychain = errors.New("the keychain of this system does not answer; unlock it and try again")
	ErrLocked   = errors.New("the key that opens the stored secrets is gone; enter the secret again")
	ErrUnusable = errors.New("the stored secrets cannot be used")
)

// Open opens the store of a home. It fails only if its own files cannot be
// read or would not be apart; a secret that cannot be had is an error of [Store.Get].
func Open(cfg Config) (*Store, error) {
	s, err := read(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.rotate(); err != nil {
		cfg.Log.Warn("the key of the secrets is old and could not be replaced", "err", err)
	}
	return s, nil
}

// Check returns the error that [Open] would return. It changes nothing.
func Check(h home.Home, keyDir string) error {
	_, err := read(Config{Home: h, KeyDir: keyDir})
	return err
}

func read(cfg Config) (*Store, error) {
	if inside(cfg.KeyDir, cfg.Home.Dir()) {
		return nil, fmt.Errorf("open secrets: %s is inside the home, and a backup of it would hold the key with what it locks", cfg.KeyDir)
	}
	s := &Store{cfg: cfg, known: map[string]string{}}
	var err error
	if s.file, err = readFile(cfg.Home.Secrets()); err != nil {
		return nil, fmt.Errorf("open secrets: %w", err)
	}
	if s.file.Lock != "" {
		if s.ring, err = readRing(cfg.KeyDir, s.file.Lock); err != nil {
			return nil, fmt.Errorf("open secrets: %w", err)
		}
	}
	return s, nil
}

// Unusable returns a store that keeps nothing and says why, [ErrUnusable], for what goes on
// without secrets where [Open] fails. The files stay as they are; references are looked up.
func Unusable(cfg Config, why error) *Store {
	why = fmt.Errorf("%w: %w", ErrUnusable, why)
	return &Store{cfg: cfg, unusable: ambry.Conflict.Wrap(why, why.Error())}
}

// Set keeps a secret under an id.
func (s *Store) Set(ctx context.Context, id, value string) error {
	if id == "" || value == "" || len(value) > MaxLength {
		return ambry.InvalidArgument.Errorf("a secret must have 1 to %d bytes", MaxLength)
	}
	if s.unusable != nil {
		return s.unusable
	}
	s.change.Lock()
	defer s.change.Unlock()
	if s.cfg.Keychain != nil {
		// First the note where it is: a crash must not leave a secret that nobody knows of.
		if err := s.put(id, entry{Keychain: true}); err != nil {
			return err
		}
		err := s.cfg.Keychain.Set(ctx, id, value)
		if err == nil {
			s.remember(id, value)
			return nil
		}
		s.cfg.Log.Warn("the keychain takes no secret; it is kept in the encrypted file", "err", err)
	}
	if err := s.needKey(); err != nil {
		return err
	}
	e, err := s.ring.seal(id, value)
	if err != nil {
		return err
	}
	if err := s.put(id, e); err != nil {
		return err
	}
	s.remember(id, value)
	return nil
}

// Get returns a secret. One that was never set is [ambry.NotFound].
func (s *Store) Get(ctx context.Context, id string) (string, error) {
	if s.unusable != nil {
		return "", s.unusable
	}
	s.mu.Lock()
	e, ok := s.file.Secrets[id]
	value, known := s.known[id]
	keys := s.ring
	s.mu.Unlock()
	if !ok {
		return "", ambry.NotFound.Errorf("there is no secret of this name")
	}
	if known {
		return value, nil
	}
	var err error
	if e.Keychain {
		value, err = s.fromKeychain(ctx, id)
	} else {
		value, err = keys.open(id, e)
	}
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file.Secrets[id].equal(e) { // else it was changed meanwhile
		s.known[id] = value
	}
	return value, nil
}

func (s *Store) fromKeychain(ctx context.Context, id string) (string, error) {
	if s.cfg.Keychain == nil {
		return "", ErrKeychain
	}
	value, err := s.cfg.Keychain.Get(ctx, id)
	if err != nil && ambry.KindOf(err) != ambry.NotFound {
		return "", errors.Join(ErrKeychain, err)
	}
	return value, err
}

// Delete forgets a secret. One that is not there is no error.
func (s *Store) Delete(ctx context.Context, id string) error {
	if s.unusable != nil {
		return s.unusable
	}
	s.change.Lock()
	defer s.change.Unlock()
	s.mu.Lock()
	e, ok := s.file.Secrets[id]
	s.mu.Unlock()
	if !ok {
		return nil
	}
	if e.Keychain {
		if s.cfg.Keychain == nil {
			return ErrKeychain
		}
		if err := s.cfg.Keychain.Delete(ctx, id); err != nil {
			return errors.Join(ErrKeychain, err)
		}
	}
	next := s.file.clone()
	delete(next.Secrets, id)
	return s.write(next)
}

// IDs returns the ids of all secrets, in order.
func (s *Store) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.file.Secrets {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (s *Store) put(id string, e entry) error {
	next := s.file.clone()
	next.Secrets[id] = e
	return s.write(next)
}

// write makes next the file, on the disk and then here. The caller has change,
// so nobody else writes file; what is known of a secret that differs is void.
func (s *Store) write(next file) error {
	if err := next.write(s.cfg.Home.Secrets()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.known {
		if !s.file.Secrets[id].equal(next.Secrets[id]) {
			delete(s.known, id)
		}
	}
	s.file = next
	return nil
}

func (s *Store) remember(id, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[id] = value
}

// needKey sees to it that there is a key to seal with.
func (s *Store) needKey() error {
	if len(s.ring.Keys) > 0 {
		return nil
	}
	next := s.file.clone()
	if next.Lock == "" {
		next.Lock = newID()
	}
	keys := ring{}.with(newKey(s.cfg.Now()))
	if err := keys.write(s.cfg.KeyDir, next.Lock); err != nil {
		return err
	}
	s.setRing(keys)
	if next.Lock == s.file.Lock {
		return nil
	}
	return s.write(next)
}

func (s *Store) setRing(keys ring) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring = keys
}

// rotate replaces a key that is old. After each of its steps, whatever ends the
// process there, every secret can be opened.
func (s *Store) rotate() error {
	if len(s.ring.Keys) == 0 || s.cfg.Now().Sub(s.ring.newest().Created) < keyAge {
		return nil
	}
	both := s.ring.with(newKey(s.cfg.Now()))
	if err := both.write(s.cfg.KeyDir, s.file.Lock); err != nil {
		return err
	}
	s.setRing(both)
	next := s.file.clone()
	for id, e := range next.Secrets {
		if e.Keychain {
			continue
		}
		value, err := both.open(id, e)
		if errors.Is(err, ErrLocked) {
			continue // it could not be opened before either
		}
		if err != nil {
			return err
		}
		if next.Secrets[id], err = both.seal(id, value); err != nil {
			return err
		}
	}
	if err := s.write(next); err != nil {
		return err
	}
	alone := ring{}.with(both.newest())
	if err := alone.write(s.cfg.KeyDir, s.file.Lock); err != nil {
		return err
	}
	s.setRing(alone)
	return nil
}
