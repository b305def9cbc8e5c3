package secret

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"

	"ambry.dev/ambry"
)

// The ways to name a secret instead of giving it.
const (
	envPrefix      = "env:"
	keychainPrefix = "keychain:"
)

// Whoever can change the settings could have a secret sent to an address of
// theirs by naming it. So a reference reaches what is meant for models only:
// variables that are called a key of an API, and what the person has put into
// the keychain under our name.
var (
	envName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,100}_API_KEY$`) })
	keychainID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`) })
)

// IsReference reports whether text names a secret instead of being one.
func IsReference(text string) bool {
	return strings.HasPrefix(text, envPrefix) || strings.HasPrefix(text, keychainPrefix)
}

// CheckReference reports what is wrong with a reference, for people.
func CheckReference(ref string) error {
	if name, ok := strings.CutPrefix(ref, envPrefix); ok {
		if !envName().MatchString(name) {
			return errors.New("env: must be followed by the name of a variable that ends in _API_KEY")
		}
		return nil
	}
	if id, ok := strings.CutPrefix(ref, keychainPrefix); ok && keychainID().MatchString(id) {
		return nil
	}
	return errors.New("keychain: must be followed by the name of an entry: letters, digits, dots, dashes")
}

// Resolve returns the secret that a reference names now. One that is not set
// is [ambry.NotFound].
func (s *Store) Resolve(ctx context.Context, ref string) (string, error) {
	if err := CheckReference(ref); err != nil {
		return "", ambry.InvalidArgument.Errorf("%v", err)
	}
	if name, ok := strings.CutPrefix(ref, envPrefix); ok {
		if s.cfg.Getenv != nil {
			if value := strings.TrimSpace(s.cfg.Getenv(name)); value != "" {
				return value, nil
			}
		}
		return "", ambry.NotFound.Errorf("the variable %s is not set where the service runs", name)
	}
	if s.cfg.Named == nil {
		return "", ambry.NotFound.Errorf("this system has no keychain that could be asked; use env: or give the key")
	}
	id := strings.TrimPrefix(ref, keychainPrefix)
	value, err := s.cfg.Named.Get(ctx, id)
	if ambry.KindOf(err) == ambry.NotFound {
		return "", ambry.NotFound.Errorf("the keychain has no entry %q of the service %q", id, PersonService)
	}
	if err != nil {
		return "", errors.Join(ErrKeychain, err)
	}
	return strings.TrimSpace(value), nil
}

// passwordName is what variables with the password of a mail server are called:
// no model can be given them.
var passwordName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,100}_SMTP_PASSWORD$`) })

// Password returns the password of a mail server that a reference names now. One
// that is not set is [ambry.NotFound].
func (s *Store) Password(ctx context.Context, ref string) (string, error) {
	name, ok := strings.CutPrefix(ref, envPrefix)
	if !ok {
		return s.Resolve(ctx, ref)
	}
	if !passwordName().MatchString(name) {
		return "", ambry.InvalidArgument.Errorf("env: must be followed by the name of a variable that ends in _SMTP_PASSWORD")
	}
	if s.cfg.Getenv != nil {
		if value := s.cfg.Getenv(name); value != "" {
			return value, nil
		}
	}
	return "", ambry.NotFound.Errorf("the variable %s is not set where the service runs", name)
}
