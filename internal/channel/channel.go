// Package channel is the contract of the services on which people write to
// Ambry: how a connection is checked and held, and what comes in and goes out
// over it. Who may write, what is answered, and when a lost connection is tried
// again are decided by others.
package channel

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"time"

	"ambry.dev/ambry"
)

// Provider is a service on which people can write, as data.
type Provider struct {
	ID           string // as in paths: lower case, without spaces
	Name         string // as people write it
	Capabilities []string
	Fields       []ambry.ChannelField // what [New] needs

	// Unsupported says for people why the service cannot be used; New is nil then.
	Unsupported string

	// New makes a link, and calls nobody. Values that cannot be right are
	// [ambry.InvalidArgument], with the field's key in the details.
	New func(Access) (Link, error)
}

// What a provider may be able to do, see [Provider.Capabilities].
const (
	Direct = "direct" // people write to the bot alone
	Groups = "groups" // it can be mentioned where others read along
)

// Access is what a link has.
type Access struct {
	Values map[string]string // by field; one that was not given has its default
	Log    *slog.Logger      // it is never told what people write, nor secrets

	// HTTP and Dial are the only ways out. They decide at each connection who may
	// be called. HTTP follows no redirects and has no time limit of its own.
	HTTP *http.Client
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Roots *x509.CertPool // who vouches for services that Connect calls; nil means those of the system
}

// Link is a connection to a service, of one person with one set of values. One
// Run goes on at a time, Check may be called beside it.
type Link interface {
	// Check asks the service who we are there. It sends nothing that people see,
	// and leaves nothing behind. [ambry.Unauthorized] says that the service does
	// not take the credentials; whatever else is wrong is [ambry.UpstreamFailed],
	// in words for people and without the credentials.
	Check(ctx context.Context) (Identity, error)

	// Run connects and passes on what people write until ctx ends; it returns nil
	// then. Its errors are as of Check: after [ambry.Unauthorized] it is not tried
	// again. Once it has returned, nothing of it goes on.
	Run(ctx context.Context, h Host) error
}

// Identity is who we are on a service.
type Identity struct {
	ID   string // the service's
	Name string // as people there see it
}

// Host is what a running link passes things on to.
type Host interface {
	// Connected says that people can write now, as often as that begins anew.
	Connected(Identity)

	// Receive takes a message. Once it has returned nil the service may forget the
	// message, and need not deliver it again; one that is delivered again all the
	// same is known by its id. It does not wait for the answer, which goes to send
	// later, from another goroutine, if there is one: after Keep, or what tells the
	// service, see [Line.Taking]. After an error, Run ends.
	Receive(ctx context.Context, m Message, send Send) error

	// Cursor returns what Keep was given last for this connection, "" if nothing:
	// how far a service that remembers messages has been read. It is lost when the
	// person connects anew.
	Cursor() string
	Keep(ctx context.Context, cursor string) error
}

// Send answers in the place where a message came from. The text is plain: the
// link sees to it that the service takes nothing in it for markup, a mention or
// a command, and divides what is too long, see [Split]. It fails when the link
// has ended.
type Send func(ctx context.Context, text string) error

// Message is what somebody has written.
type Message struct {
	ID     string // the same when it is delivered again
	Chat   string // where it was written; different for each conversation
	Sender string // who wrote it, by an id that they cannot choose or change, if the service has one
	Name   string // who wrote it, as people see them
	Text   string // without the mention of us
	At     time.Time

	// Group says that others read along, Mentioned that we are spoken to there.
	// What we have written ourselves, and what other bots write, is never passed on.
	Group, Mentioned bool
}
