package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/account"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/state"
)

// accounts are the account of the person and the services that it may be of.
type accounts struct {
	service *service
	account *account.Account
	issuer  *account.Issuer // the one that is embedded

	mu     sync.Mutex      // guards what follows
	remote *account.Remote // the one elsewhere that was named last, nil if none was
}

func (s *service) newAccounts(bus *event.Bus) *accounts {
	a := &accounts{service: s, issuer: &account.Issuer{
		Store: s.db, Secrets: s.secrets, Limits: account.OwnLimits(), Now: now, Log: s.log,
		Mail: &account.Mailer{
			Settings: s.smtp, Password: s.smtpPassword, Dial: s.dialAccount,
			Unset: "set account.smtp.host and account.smtp.from, or account.url of a team's account service (ambry config set)",
		},
		Failed: func(reason string) { bus.Publish(ambry.AccountDeliveryFailed{Reason: reason}) },
	}}
	a.account = &account.Account{
		Service: a.current, Secrets: s.secrets, Bus: bus, Now: now, Log: s.log,
		Ended: func(ctx context.Context) { leaveAccountMode(ctx, s, bus) },
	}
	return a
}

// leaveAccountMode takes the mode back that needs somebody who is logged in.
func leaveAccountMode(ctx context.Context, s *service, bus *event.Bus) {
	left := false
	_, err := s.db.AppSettings.Change(context.WithoutCancel(ctx), func(v *ambry.AppSettings) error {
		if left = v.UserMode == "account"; left {
			v.UserMode = ambry.DefaultAppSettings().UserMode
		}
		return nil
	})
	if err != nil {
		s.log.Error("leave the mode of accounts", "err", err)
	} else if left {
		bus.Publish(ambry.SettingsChanged{Section: "app", Fields: []string{"userMode"}})
	}
}

// current is the service that the settings name now.
func (a *accounts) current() account.Service {
	if r := a.elsewhere(); r != nil {
		return r
	}
	return a.issuer
}

// elsewhere is the service elsewhere that the settings name now, nil if none.
func (a *accounts) elsewhere() *account.Remote {
	base := a.service.config.get().Account.URL
	a.mu.Lock()
	defer a.mu.Unlock()
	if base == "" {
		return nil
	}
	if a.remote == nil || a.remote.Where() != base {
		a.remote = account.NewRemote(base, a.service.dialAccount)
	}
	return a.remote
}

// health is how the service elsewhere is, as far as is known without asking.
func (a *accounts) health() ambry.HealthState {
	switch r := a.elsewhere(); {
	case r == nil:
		return ambry.HealthOff
	case r.Up():
		return ambry.HealthOK
	}
	return ambry.HealthUnavailable
}

// smtpPorts are the usual ports, by how a connection is protected.
var smtpPorts = map[string]int{account.ImplicitTLS: 465, account.StartTLS: 587, account.NoTLS: 25}

func (s *service) smtp() account.SMTP {
	set := s.config.get().Account.SMTP
	if set.Port == 0 {
		set.Port = smtpPorts[set.Security]
	}
	return account.SMTP{Host: set.Host, Port: set.Port, Security: set.Security, User: set.User, From: set.From}
}

func (s *service) smtpPassword(ctx context.Context) (string, error) {
	return s.secrets.Password(ctx, s.config.get().Account.SMTP.Password)
}

// dialAccount connects to a mail server or an account service, if that is
// allowed.
func (s *service) dialAccount(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := s.outgoing.DialContext(ctx, network, address)
	if errors.Is(err, errLocalOnly) {
		return nil, fmt.Errorf("%w: %w", account.ErrLocalOnly, err)
	}
	return conn, err
}

var _ account.Store = (*state.DB)(nil)
