// Command ambry-account is an account service that a team can host: it sends
// codes by mail and opens sessions for the members' own services, whose setting
// account.url names it. It keeps nothing but accounts and sessions. What it
// speaks is in docs/reference/account-service.md.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry/internal/account"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/secret"
	"ambry.dev/ambry/internal/state"
	"ambry.dev/ambry/internal/web"
)

// version is set by the linker, see Makefile.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends at once
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run does what args say and returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, out, errs io.Writer) int {
	p := &program{getenv: getenv, out: out, err: errs}
	root := p.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean those of the process
	root.SetOut(out)
	root.SetErr(errs)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(errs, "ambry-account: %v\n", err)
		return 1
	}
	return 0
}

// program is one run of the command line.
type program struct {
	getenv   func(string) string
	out, err io.Writer

	data, keys string
	listen     string
	cert, key  string
	smtp       account.SMTP
	limits     account.Limits
}

// passwordVariable has the password of the mail server: arguments are seen by
// every user of a machine.
const passwordVariable = "AMBRY_ACCOUNT_SMTP_PASSWORD"

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ambry-account",
		Short: "An account service for a team that uses Ambry",
		Long: `Ambry-account sends codes by mail and opens sessions. Members name it with
"ambry config set account.url https://…".`,
		Example: `  ambry-account serve --data /var/lib/ambry-account --smtp-host mail.example.org --smtp-from ambry@example.org
  ambry-account revoke --data /var/lib/ambry-account someone@example.org`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&p.data, "data", "", "directory of the database (needed)")
	root.PersistentFlags().StringVar(&p.keys, "keys", "", "directory of the key of digests and secrets, outside --data (default --data with -keys)")
	root.AddCommand(p.serveCommand(), p.revokeCommand())
	return root
}

func (p *program) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve until a signal comes",
		Long: `Serve answers on --listen. With --cert and --key it speaks TLS; without, it belongs
behind a proxy that does, and listens on this machine only. The password of the
mail server is in ` + passwordVariable + `.`,
		Example: `  ambry-account serve --data /var/lib/ambry-account --smtp-host mail.example.org --smtp-from ambry@example.org`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&p.listen, "listen", "127.0.0.1:8390", "address to listen on")
	f.StringVar(&p.cert, "cert", "", "file with the certificate")
	f.StringVar(&p.key, "key", "", "file with the key of the certificate")
	f.StringVar(&p.smtp.Host, "smtp-host", "", "mail server")
	f.IntVar(&p.smtp.Port, "smtp-port", 0, "its port (default the usual one)")
	f.StringVar(&p.smtp.Security, "smtp-security", account.StartTLS, "starttls, tls or none")
	f.StringVar(&p.smtp.User, "smtp-user", "", "name to log in to it with")
	f.StringVar(&p.smtp.From, "smtp-from", "", "address that mails come from")
	f.IntVar(&p.limits.Codes, "codes-per-hour", 200, "codes for all addresses together")
	f.IntVar(&p.limits.Wrong, "wrong-per-hour", 400, "wrong codes for all addresses together")
	return cmd
}

var smtpPorts = map[string]int{account.ImplicitTLS: 465, account.StartTLS: 587, account.NoTLS: 25}

func (p *program) serve(ctx context.Context) error {
	if smtpPorts[p.smtp.Security] == 0 {
		return errors.New("--smtp-security must be starttls, tls or none")
	}
	if p.limits.Codes < 1 || p.limits.Wrong < 1 {
		return errors.New("limits must be 1 at least")
	}
	p.smtp.Port = cmp.Or(p.smtp.Port, smtpPorts[p.smtp.Security])
	log := slog.New(slog.NewTextHandler(p.err, nil))
	issuer, closeAll, err := p.open(ctx, log)
	if err != nil {
		return err
	}
	defer closeAll()
	ln, err := p.listener(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "ambry-account is running at %s\n", ln.Addr())
	return (&web.Server{Handler: newHandler(issuer, log), Log: log}).Serve(ctx, ln)
}

// listener listens, with TLS if there is a certificate. Without one codes and
// tokens would be readable on the way, so nobody else than this machine gets in.
func (p *program) listener(ctx context.Context) (net.Listener, error) {
	var config *tls.Config
	if p.cert != "" || p.key != "" {
		pair, err := tls.LoadX509KeyPair(p.cert, p.key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate: %w", err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", p.listen)
	if err != nil {
		return nil, err
	}
	if config != nil {
		return tls.NewListener(ln, config), nil
	}
	if at, ok := ln.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		ln.Close()
		return nil, errors.New("without --cert and --key it listens on this machine only, such as 127.0.0.1:8390, behind a proxy that speaks TLS")
	}
	return ln, nil
}

// open opens the database and the secrets, and returns the service on them and
// what closes it.
func (p *program) open(ctx context.Context, log *slog.Logger) (*account.Issuer, func(), error) {
	if p.data == "" {
		return nil, nil, errors.New("--data is needed: the directory of the database")
	}
	home.Umask()
	h, err := home.Open(p.data)
	if err != nil {
		return nil, nil, err
	}
	lock, err := home.AcquireSoon(ctx, h.Lock())
	if err != nil {
		return nil, nil, fmt.Errorf("another one serves this directory, or it cannot be locked: %w", err)
	}
	keys, err := filepath.Abs(cmp.Or(p.keys, h.Dir()+"-keys"))
	if err != nil {
		return nil, nil, errors.Join(err, lock.Release())
	}
	secrets, err := secret.Open(secret.Config{Home: h, KeyDir: keys, Log: log, Now: time.Now})
	if err != nil {
		return nil, nil, errors.Join(err, lock.Release())
	}
	if err := state.SweepParts(h); err != nil {
		log.Warn("half a copy stays", "err", err)
	}
	db, err := state.Open(ctx, h)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Release())
	}
	issuer := &account.Issuer{
		Store: db, Secrets: secrets, Limits: p.limits, Now: time.Now, Log: log,
		Mail: &account.Mailer{
			Settings: func() account.SMTP { return p.smtp }, Password: p.password,
			Dial: new(net.Dialer).DialContext, Unset: "those who run the service have to give --smtp-host and --smtp-from",
		},
	}
	return issuer, func() {
		issuer.Close()
		if err := errors.Join(db.Close(), lock.Release()); err != nil {
			log.Warn("close the directory", "err", err)
		}
	}, nil
}

func (p *program) password(context.Context) (string, error) {
	if password := p.getenv(passwordVariable); password != "" {
		return password, nil
	}
	return "", errors.New(passwordVariable + " is not set")
}

func (p *program) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ADDRESS",
		Short:   "End all sessions of an account",
		Long:    `Revoke ends all sessions of the account with an address, also while the service runs.`,
		Example: `  ambry-account revoke --data /var/lib/ambry-account someone@example.org`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := account.Address(args[0])
			if err != nil {
				return err
			}
			if p.data == "" {
				return errors.New("--data is needed: the directory of the database")
			}
			h, err := home.Existing(p.data)
			if err != nil {
				return err
			}
			db, err := state.Open(cmd.Context(), h)
			if err != nil {
				return err
			}
			defer db.Close()
			n, err := db.RevokeGrants(cmd.Context(), address, time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintf(p.out, "%d revoked\n", n)
			return nil
		},
	}
}
