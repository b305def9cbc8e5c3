package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"ambry.dev/ambry/internal/home"
)

const fileVersion = 1

// file is secrets.json: which secrets there are, and where each one is. It
// shows none of them.
type file struct {
	Version int              `json:"version"`
	Lock    string           `json:"lock,omitempty"` // names the file with the keys
	Secrets map[string]entry `json:"secrets"`
}

// entry is one secret: in the keychain, or sealed by AES-256-GCM.
type entry struct {
	Keychain bool   `json:"keychain,omitempty"`
	Key      string `json:"key,omitempty"` // id of the key that seals it
	Nonce    []byte `json:"nonce,omitempty"`
	Box      []byte `json:"box,omitempty"`
}

func (e entry) equal(other entry) bool {
	return e.Keychain == other.Keychain && e.Key == other.Key && bytes.Equal(e.Nonce, other.Nonce) && bytes.Equal(e.Box, other.Box)
}

func (f file) clone() file {
	f.Secrets = maps.Clone(f.Secrets)
	return f
}

func readFile(path string) (file, error) {
	f := file{Version: fileVersion, Secrets: map[string]entry{}}
	if err := readJSON(path, &f); err != nil {
		return f, err
	}
	if f.Version != fileVersion {
		return f, fmt.Errorf("%s has version %d, this Ambry knows %d", path, f.Version, fileVersion)
	}
	if f.Lock != "" && !idShape().MatchString(f.Lock) {
		return f, fmt.Errorf("%s names its key in a way that we never do", path)
	}
	return f, nil
}

func (f file) write(path string) error {
	data, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	return home.WriteFile(path, data, 0o600)
}

// ring is the file with the keys of a home: one, or two while the first is
// being replaced.
type ring struct {
	Version int   `json:"version"`
	Keys    []key `json:"keys"` // the newest last
}

type key struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Bytes   []byte    `json:"bytes"`
}

const keyLength = 32 // AES-256

func newKey(now time.Time) key {
	k := key{ID: newID(), Created: now.UTC(), Bytes: make([]byte, keyLength)}
	_, _ = rand.Read(k.Bytes) // never fails
	return k
}

var idShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

func newID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

func (r ring) newest() key { return r.Keys[len(r.Keys)-1] }

func (r ring) with(k key) ring { return ring{fileVersion, append(slices.Clone(r.Keys), k)} }

func ringPath(dir, lock string) string { return filepath.Join(dir, lock+".json") }

// readRing reads the keys of a home. Keys that are gone are no error: what they
// open has to be entered again.
func readRing(dir, lock string) (ring, error) {
	var r ring
	path := ringPath(dir, lock)
	if err := private(path); err != nil {
		return r, err
	}
	if err := readJSON(path, &r); err != nil {
		return r, err
	}
	for _, k := range r.Keys {
		if len(k.Bytes) != keyLength {
			return r, fmt.Errorf("%s has a key of %d bytes", path, len(k.Bytes))
		}
	}
	return r, nil
}

func (r ring) write(dir, lock string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return home.WriteFile(ringPath(dir, lock), data, 0o600)
}

// seal encrypts a secret with the newest key. It is bound to its id: moved to
// another one, it does not open.
func (r ring) seal(id, value string) (entry, error) {
	k := r.newest()
	box, err := gcm(k)
	if err != nil {
		return entry{}, err
	}
	nonce := make([]byte, box.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return entry{Key: k.ID, Nonce: nonce, Box: box.Seal(nil, nonce, []byte(value), []byte(id))}, nil
}

func (r ring) open(id string, e entry) (string, error) {
	i := slices.IndexFunc(r.Keys, func(k key) bool { return k.ID == e.Key })
	if i < 0 {
		return "", ErrLocked
	}
	box, err := gcm(r.Keys[i])
	if err != nil {
		return "", err
	}
	if len(e.Nonce) != box.NonceSize() {
		return "", ErrLocked
	}
	value, err := box.Open(nil, e.Nonce, e.Box, []byte(id))
	if err != nil {
		return "", ErrLocked
	}
	return string(value), nil
}

func gcm(k key) (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.Bytes)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// readJSON fills v from a file of ours. One that is not there changes nothing.
func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is not as we wrote it: move it away and enter the secrets again", path)
	}
	return nil
}

// inside reports whether a path is a directory or below it.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
