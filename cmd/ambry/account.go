package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
)

func (p *program) accountCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "account",
		Short: "Log in to an account, which is optional",
		Long: `Account gives what you do a name, for exports and for working with others. Nothing
needs one. Codes are sent by mail: by the mail server of account.smtp, or by the
account service of a team that account.url names; "ambry config explain" shows
both.`,
		Example: `  ambry account login me@example.org
  ambry account status
  ambry account logout`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.accountLoginCommand(), p.accountStatusCommand(), p.accountLogoutCommand())
	return cmd
}

func (p *program) accountLoginCommand() *cobra.Command {
	var code, locale string
	cmd := &cobra.Command{
		Use:   "login ADDRESS",
		Short: "Get a code by mail and log in with it",
		Long: `Login sends a code to a mail address and asks for it. With --code it sends none, and
logs in with one that was sent before.`,
		Example: `  ambry account login me@example.org
  ambry account login me@example.org --code 123456`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.logIn(cmd.Context(), args[0], code, locale) },
	}
	cmd.Flags().StringVar(&code, "code", "", "the code, if it is there already")
	cmd.Flags().StringVar(&locale, "locale", "", "language of the mail: en or zh (default that of the environment)")
	return cmd
}

func (p *program) logIn(ctx context.Context, address, code, locale string) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if code == "" {
		if locale == "" {
			locale, _, _ = strings.Cut(p.getenv("LANG"), ".")
		}
		if _, err := c.SendCode(ctx, ambry.CodeRequest{Channel: "email", Email: address, Locale: locale}); err != nil {
			return err
		}
		fmt.Fprintf(p.err, "A code is on its way, if the address exists. Code: ")
		if code, err = line(p.in); err != nil {
			return err
		}
	}
	s, err := c.VerifyCode(ctx, ambry.CodeAnswer{Channel: "email", Email: address, VerificationCode: code})
	if err != nil {
		return err
	}
	return p.printSession(s)
}

// line reads one line, without the spaces around it.
func line(r io.Reader) (string, error) {
	const longest = 1024
	text, err := bufio.NewReader(io.LimitReader(r, longest)).ReadString('\n')
	if text = strings.TrimSpace(text); text == "" && err != nil {
		return "", fmt.Errorf("read the code: %w", err)
	}
	return text, nil
}

func (p *program) accountStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show who is logged in",
		Long:    `Status shows who is logged in. An account service elsewhere is asked.`,
		Example: `  ambry account status --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			s, err := c.AccountSession(cmd.Context())
			if err != nil {
				return err
			}
			return p.printSession(s)
		},
	}
}

func (p *program) printSession(s ambry.AccountSession) error {
	switch {
	case p.json:
		return p.printJSON(s)
	case !s.Authenticated || s.Profile == nil:
		p.printf("Nobody is logged in.\n")
		return nil
	}
	p.printf("%s  %s\n", p.style().bold(flat(s.Profile.Email)), s.Profile.UserID)
	if s.ExpiresAt != nil {
		p.printf("until %s\n", s.ExpiresAt.Local().Format(time.DateOnly))
	}
	if s.Unconfirmed {
		p.printf("the account service does not answer now\n")
	}
	return nil
}

func (p *program) accountLogoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "logout",
		Short:   "Log out",
		Long:    `Logout ends the session. It works offline, and if nobody is logged in.`,
		Example: `  ambry account logout`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.Logout(cmd.Context()); err != nil {
				return err
			}
			return p.printSession(ambry.AccountSession{})
		},
	}
}
