package irc

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"mellium.im/sasl"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// login is how far we are with letting the server know who we are.
type login struct {
	offered  []string // what the server can do, while it says so
	accounts bool     // it tells who has which account
	client   *sasl.Negotiator
	scram    bool
	part     string // of a challenge that comes in several lines
	done     bool   // we are logged in
}

// wanted is what we ask a server to do.
var wanted = []string{"account-tag", "message-tags", "server-time"}

// register says who we are.
func (s *session) register(ctx context.Context) error {
	lines := []string{"CAP LS 302"}
	if s.link.serverKey != "" {
		lines = append(lines, "PASS :"+s.link.serverKey)
	}
	lines = append(lines, "NICK "+s.link.nick, "USER ambry 0 * :Ambry")
	for _, l := range lines {
		if err := s.write(ctx, l, false); err != nil {
			return err
		}
	}
	return nil
}

// registering is about what a server says before it lets us in.
func (s *session) registering(ctx context.Context, l line) error {
	switch l.command {
	case "CAP":
		return s.capabilities(ctx, l)
	case "AUTHENTICATE":
		return s.authenticate(ctx, l.param(0))
	case "903":
		// One that does not know the password cannot end SCRAM as it has to be.
		if c := s.login.client; c == nil || s.login.scram && c.State()&sasl.StepMask != sasl.ValidServerResponse {
			return ambry.UpstreamFailed.Wrap(errAuth, s.link.host+" does not let us log in")
		}
		s.login.done = true
		return s.write(ctx, "CAP END", false)
	case "902", "904", "905", "906":
		return ambry.Unauthorized.Errorf("%s does not take the account and its password", s.link.host)
	case "464":
		return errServerKey(s.link.host)
	case "465":
		return ambry.UpstreamFailed.Errorf("%s has banned us: %s", s.link.host, words(l.last()))
	case "432":
		return ambry.UpstreamFailed.Errorf("%s does not allow the nickname", s.link.host)
	case "433", "436", "437":
		return s.nextNick(ctx)
	case "001":
		if s.link.password != "" && !s.login.done {
			return errNoSASL(s.link.host)
		}
		s.welcome = true
		s.setOwn(l.param(0))
	}
	return nil
}

func errServerKey(host string) error {
	return ambry.Unauthorized.Errorf("%s does not take the password of the server", host)
}

func errNoSASL(host string) error {
	return ambry.UpstreamFailed.Errorf("%s has no SASL, by which the password of the account could be given", host)
}

// manyTries is how many nicknames are tried.
const manyTries = 5

func (s *session) nextNick(ctx context.Context) error {
	if s.tries++; s.tries > manyTries {
		return ambry.UpstreamFailed.Errorf("on %s the nickname is taken, and those like it", s.link.host)
	}
	// Servers cut what is too long, so the difference comes before that.
	s.setOwn(s.link.nick[:min(len(s.link.nick), 9-s.tries)] + strings.Repeat("_", s.tries))
	return s.write(ctx, "NICK "+s.own(), false)
}

// capabilities settles what the server does for us.
func (s *session) capabilities(ctx context.Context, l line) error {
	switch strings.ToUpper(l.param(1)) {
	case "LS":
		s.login.offered = append(s.login.offered, strings.Fields(l.last())...)
		if len(s.login.offered) > 1000 {
			return ambry.UpstreamFailed.Errorf("%s does not speak IRC", s.link.host)
		}
		if l.param(2) == "*" && len(l.params) > 3 {
			return nil // more follows
		}
		return s.request(ctx)
	case "ACK":
		agreed := strings.Fields(l.last())
		s.login.accounts = slices.Contains(agreed, "account-tag")
		if slices.Contains(agreed, "sasl") {
			return s.authenticateBy(ctx)
		}
		return s.write(ctx, "CAP END", false)
	case "NAK":
		if s.link.password != "" {
			return errNoSASL(s.link.host)
		}
		return s.write(ctx, "CAP END", false)
	}
	return nil
}

func (s *session) request(ctx context.Context) error {
	var names, ask []string
	for _, o := range s.login.offered {
		name, _, _ := strings.Cut(o, "=")
		names = append(names, name)
	}
	for _, name := range wanted {
		if slices.Contains(names, name) {
			ask = append(ask, name)
		}
	}
	if s.link.password != "" {
		if !slices.Contains(names, "sasl") {
			return errNoSASL(s.link.host)
		}
		ask = append(ask, "sasl")
	}
	if len(ask) == 0 {
		return s.write(ctx, "CAP END", false)
	}
	return s.write(ctx, "CAP REQ :"+strings.Join(ask, " "), false)
}

// authenticateBy begins to log in, in the best way that the server has.
func (s *session) authenticateBy(ctx context.Context) error {
	mechanism := sasl.Plain
	for _, o := range s.login.offered {
		if list, found := strings.CutPrefix(o, "sasl="); found {
			switch ways := strings.Split(list, ","); {
			case slices.Contains(ways, "SCRAM-SHA-256"):
				mechanism, s.login.scram = sasl.ScramSha256, true
			case !slices.Contains(ways, "PLAIN"):
				return errNoSASL(s.link.host)
			}
		}
	}
	s.login.client = sasl.NewClient(mechanism, sasl.Credentials(func() (user, password, identity []byte) {
		return []byte(s.link.account), []byte(s.link.password), nil
	}))
	return s.write(ctx, "AUTHENTICATE "+mechanism.Name, false)
}

// chunk is how much of an answer fits on a line.
const chunk = 400

var errAuth = errors.New("what the server says while we log in makes no sense")

// authenticate answers a challenge.
func (s *session) authenticate(ctx context.Context, text string) error {
	if s.login.client == nil || len(s.login.part) > 8*chunk {
		return ambry.UpstreamFailed.Wrap(errAuth, s.link.host+" does not let us log in")
	}
	if text != "+" {
		s.login.part += text
	}
	if len(text) == chunk {
		return nil // more follows
	}
	challenge, err := base64.StdEncoding.DecodeString(s.login.part)
	s.login.part = ""
	answer, err2 := s.step(challenge)
	if err = errors.Join(err, err2); err != nil {
		return ambry.UpstreamFailed.Wrap(err, s.link.host+" does not let us log in")
	}
	text = base64.StdEncoding.EncodeToString(answer)
	for ; len(text) >= chunk; text = text[chunk:] {
		if err := s.write(ctx, "AUTHENTICATE "+text[:chunk], false); err != nil {
			return err
		}
	}
	if text == "" {
		text = "+"
	}
	return s.write(ctx, "AUTHENTICATE "+text, false)
}

func (s *session) step(challenge []byte) ([]byte, error) {
	switch s.login.client.State() & sasl.StepMask {
	case sasl.Initial:
		challenge = nil
	case sasl.AuthTextSent:
		if err := channel.CheckScram(challenge); err != nil {
			return nil, err
		}
	case sasl.ValidServerResponse:
		return nil, errAuth
	}
	_, answer, err := s.login.client.Step(challenge)
	return answer, err
}
