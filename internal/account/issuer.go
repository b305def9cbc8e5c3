package account

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
)

// The limits of codes and sessions.
const (
	CodeAge     = 10 * time.Minute // and of tries with an address that has no code
	ResendAfter = time.Minute
	MaxTries    = 5 // wrong ones, then the code is void
	SessionAge  = 90 * 24 * time.Hour
	window      = time.Hour // of the limits over all
	pepperID    = "account-pepper"
	pepperBytes = 32
)

// Limits hold over all addresses together, within an hour.
type Limits struct {
	Codes int // asked for, delivered or not
	Wrong int // codes that were not the right one
}

// OwnLimits are those of the service that is embedded: one person's.
func OwnLimits() Limits { return Limits{Codes: 10, Wrong: 20} }

// Store keeps what an [Issuer] knows. What it has returned from without an error
// is there after a crash.
type Store interface {
	// ChangeCodes has edit change what is known of an address and of the time
	// since; no other change comes between. The address is a digest.
	ChangeCodes(ctx context.Context, address []byte, since time.Time, edit func(*ambry.AccountCodes)) error

	// AddUser returns the account with an address: p, if there was none.
	AddUser(ctx context.Context, p ambry.AccountProfile, at time.Time) (who ambry.AccountProfile, isNew bool, err error)

	AddGrant(ctx context.Context, g ambry.AccountGrant) error
	Grant(ctx context.Context, digest []byte) (ambry.AccountGrant, error) // [ambry.NotFound] if there is none
	RevokeGrant(ctx context.Context, digest []byte, at time.Time) error   // of what is not there is no error
}

// Secrets keeps secrets by id, as [ambry.dev/ambry/internal/secret.Store] does.
type Secrets interface {
	Set(ctx context.Context, id, value string) error
	Get(ctx context.Context, id string) (string, error)
	Delete(ctx context.Context, id string) error
}

// Issuer is an account service: it sends codes by mail and opens sessions.
// All its fields but Failed and Grace are needed.
type Issuer struct {
	Store   Store
	Secrets Secrets // has the key of the digests of codes and addresses
	Mail    *Mailer
	Limits  Limits
	Now     func() time.Time
	Log     *slog.Logger
	Failed  func(reason string) // told when the mail server did not take a mail

	// Grace is how long mails may take once Close was called; 5 seconds if zero.
	Grace time.Duration

	pepper sync.Mutex // held while the key is read or made
	mails  sync.WaitGroup

	mu    sync.Mutex // guards what follows
	talks map[*talk]struct{}
}

var _ Service = (*Issuer)(nil)

// Where is empty: it is here.
func (i *Issuer) Where() string { return "" }

// Close waits for the mails on their way, and ends those that take too long. Nobody
// may call Send any more.
func (i *Issuer) Close() {
	late := time.AfterFunc(cmp.Or(i.Grace, 5*time.Second), func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		for t := range i.talks {
			t.conn.Close()
		}
	})
	defer late.Stop()
	i.mails.Wait()
}

// Send sends a code to an address and returns after which time another one can
// be asked for. Whether there is an account makes no difference, and what the
// mail server thinks of the address none in the answer either: the mail is
// handed over after Send has returned.
func (i *Issuer) Send(ctx context.Context, address, locale string) (time.Duration, error) {
	address, err := Address(address)
	if err != nil {
		return 0, err
	}
	key, err := i.key(ctx)
	if err != nil {
		return 0, err
	}
	code, err := newCode()
	if err != nil {
		return 0, err
	}
	now, refused := i.Now(), error(nil)
	err = i.Store.ChangeCodes(ctx, mac(key, "address", address), now.Add(-window), func(c *ambry.AccountCodes) {
		if refused = i.maySend(c, now); refused != nil {
			return
		}
		c.Digest, c.ExpiresAt, c.SentAt = mac(key, "code", address, code), now.Add(CodeAge), now
		c.Tries, c.TriesUntil = 0, time.Time{}
		c.Sent = append(c.Sent, now)
	})
	if err != nil {
		return 0, err
	}
	if refused != nil {
		return 0, refused
	}
	conn, err := i.Mail.open(ctx)
	if err != nil {
		return 0, err
	}
	i.note(conn, true)
	i.mails.Go(func() {
		defer conn.close()
		defer i.note(conn, false)
		if err := conn.send(address, letter(code, locale)); err != nil {
			i.Log.Error("the mail server did not take a code", "err", mask(err, address, code))
			if i.Failed != nil {
				i.Failed("the mail server did not take the mail; the log has its answer")
			}
		}
	})
	return ResendAfter, nil
}

// note keeps the open talks.
func (i *Issuer) note(t *talk, open bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.talks == nil {
		i.talks = map[*talk]struct{}{}
	}
	if open {
		i.talks[t] = struct{}{}
		return
	}
	delete(i.talks, t)
}

// mask returns what an error says, without what must not be logged.
func mask(err error, address, code string) string {
	return strings.NewReplacer(address, "…", code, "…").Replace(err.Error())
}

func (i *Issuer) maySend(c *ambry.AccountCodes, now time.Time) error {
	if wait := c.SentAt.Add(ResendAfter).Sub(now); wait > 0 {
		return slower(wait, "a code was asked for just now")
	}
	if wait := full(c.Sent, i.Limits.Codes, now); wait > 0 {
		return slower(wait, "too many codes were asked for within an hour")
	}
	return nil
}

// full returns after which time there is room among the events of the last hour.
func full(events []time.Time, limit int, now time.Time) time.Duration {
	if len(events) < limit {
		return 0
	}
	return events[len(events)-limit].Add(window).Sub(now)
}

func slower(wait time.Duration, message string) error {
	seconds := max(int((wait+time.Second-1)/time.Second), 1)
	return &ambry.Error{Kind: ambry.RateLimited, Message: fmt.Sprintf("%s; try again in %d s", message, seconds), RetryAfter: seconds}
}

// Verify opens a session for the right code, which is void then. An address that
// never got a code is answered as one that did.
func (i *Issuer) Verify(ctx context.Context, address, code string) (ambry.AccountLogin, error) {
	address, err := Address(address)
	if err != nil {
		return ambry.AccountLogin{}, err
	}
	if err := checkCode(code); err != nil {
		return ambry.AccountLogin{}, err
	}
	key, err := i.key(ctx)
	if err != nil {
		return ambry.AccountLogin{}, err
	}
	now, refused := i.Now(), error(nil)
	given := mac(key, "code", address, code)
	err = i.Store.ChangeCodes(ctx, mac(key, "address", address), now.Add(-window), func(c *ambry.AccountCodes) {
		refused = i.judge(c, given, now)
	})
	if err != nil {
		return ambry.AccountLogin{}, err
	}
	if refused != nil {
		return ambry.AccountLogin{}, refused
	}
	return i.login(ctx, address, now)
}

// judge says whether a code is the right one, and writes down that it was given.
func (i *Issuer) judge(c *ambry.AccountCodes, given []byte, now time.Time) error {
	if !now.Before(c.TriesUntil) {
		c.Tries = 0
	}
	if c.Tries >= MaxTries {
		return tooOften(c.TriesUntil.Sub(now))
	}
	if wait := full(c.Wrong, i.Limits.Wrong, now); wait > 0 {
		return tooOften(wait)
	}
	right := hmac.Equal(given, c.Digest) // of no code it never is
	if right && now.Before(c.ExpiresAt) {
		c.Digest, c.Tries, c.TriesUntil = nil, 0, time.Time{}
		return nil
	}
	if c.Tries == 0 {
		c.TriesUntil = now.Add(CodeAge)
	}
	c.Tries++
	c.Wrong = append(c.Wrong, now)
	if c.Tries >= MaxTries {
		c.Digest, c.TriesUntil = nil, now.Add(CodeAge)
		return tooOften(CodeAge)
	}
	left := MaxTries - c.Tries
	return &ambry.Error{
		Kind: ambry.VerificationFailed, Message: fmt.Sprintf("this is not the code, or it is older than %d minutes; tries left: %d", int(CodeAge.Minutes()), left),
		Extra: map[string]any{attemptsLeft: left},
	}
}

// attemptsLeft is the member of a problem that says how often a person can try.
const attemptsLeft = "attemptsLeft"

func tooOften(wait time.Duration) error {
	return slower(wait, "a wrong code was given too often")
}

// login opens a session.
func (i *Issuer) login(ctx context.Context, address string, now time.Time) (ambry.AccountLogin, error) {
	nickname, _, _ := strings.Cut(address, "@")
	who, isNew, err := i.Store.AddUser(ctx, ambry.AccountProfile{UserID: "usr_" + strings.ToLower(rand.Text()), Email: address, Nickname: nickname}, now)
	if err != nil {
		return ambry.AccountLogin{}, err
	}
	token := newToken()
	l := ambry.AccountLogin{Token: token, ExpiresAt: now.Add(SessionAge).UTC().Truncate(time.Second), IsNewUser: isNew, Profile: who}
	return l, i.Store.AddGrant(ctx, ambry.AccountGrant{Digest: digest(token), User: who, CreatedAt: now, ExpiresAt: l.ExpiresAt})
}

// Who returns whose session a token opens. One that has expired or was revoked is
// [ambry.Unauthorized].
func (i *Issuer) Who(ctx context.Context, token string) (ambry.AccountProfile, error) {
	g, err := i.Store.Grant(ctx, digest(token))
	if ambry.KindOf(err) == ambry.NotFound || err == nil && (g.RevokedAt != nil || !i.Now().Before(g.ExpiresAt)) {
		return ambry.AccountProfile{}, errEnded
	}
	return g.User, err
}

var errEnded = ambry.Unauthorized.Errorf("the session has ended; log in again")

// Revoke ends a session. One that has ended already is no error.
func (i *Issuer) Revoke(ctx context.Context, token string) error {
	return i.Store.RevokeGrant(ctx, digest(token), i.Now())
}

// key returns the key of the digests. A code has so few digits that a plain hash
// of it would hide nothing; whoever reads the database does not have this.
func (i *Issuer) key(ctx context.Context) ([]byte, error) {
	i.pepper.Lock()
	defer i.pepper.Unlock()
	text, err := i.Secrets.Get(ctx, pepperID)
	if err == nil {
		return base64.RawURLEncoding.DecodeString(text)
	}
	if !lost(err) {
		return nil, reachable(err)
	}
	key := make([]byte, pepperBytes)
	rand.Read(key) // never fails
	return key, i.Secrets.Set(ctx, pepperID, base64.RawURLEncoding.EncodeToString(key))
}

func mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0}) // which is in none of them
	}
	return h.Sum(nil)
}

func digest(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// newToken returns a token of 256 random bits.
func newToken() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// newCode returns six random digits.
func newCode() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%0*d", codeDigits, n), nil
}
