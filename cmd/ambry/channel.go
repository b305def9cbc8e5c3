package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/app"
)

func (p *program) channelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "channel",
		Short: "Write to the memory from a chat app",
		Long: `Channel connects Ambry with a service on which you write to it: it answers from
your memory, and remembers what you tell it. Nobody is answered but those who
have sent a code that is shown here. Answers go over the service, which can read
them unless it is your own.`,
		Example: `  ambry channel list
  ambry channel connect telegram
  ambry channel pair telegram
  ambry channel disconnect telegram`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		p.channelListCommand(), p.channelConnectCommand(), p.channelDisconnectCommand(),
		p.channelPairCommand(), p.channelPeersCommand(), p.channelUnpairCommand(),
	)
	return cmd
}

// completeChannel completes the name of a channel.
func completeChannel(cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return app.ChannelProviders(), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func (p *program) channelListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "Show what can be connected, and how what is connected is",
		Long:    `List shows every service on which people can write to Ambry, and how it is.`,
		Example: `  ambry channel list --json`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.listChannels(cmd.Context()) },
	}
}

func (p *program) listChannels(ctx context.Context) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	definitions, err := c.ChannelDefinitions(ctx)
	if err != nil {
		return err
	}
	connected, err := c.ChannelConnections(ctx)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(struct {
			Channels    []ambry.ChannelDefinition `json:"channels"`
			Connections []ambry.ChannelConnection `json:"connections"`
		}{definitions.Channels, connected.Connections})
	}
	for _, d := range definitions.Channels {
		status := ""
		i := slices.IndexFunc(connected.Connections, func(c ambry.ChannelConnection) bool { return c.Provider == d.ID })
		switch {
		case !d.Enabled:
			status = "cannot be connected: " + d.Reason
		case i >= 0:
			status = connectedAs(connected.Connections[i])
		}
		p.printf("%s  %s\n", p.style().bold(fmt.Sprintf("%-10s", d.ID)), flat(strings.TrimSpace(fmt.Sprintf("%-10s %s", d.Name, status))))
	}
	return nil
}

// connectedAs says how a channel is.
func connectedAs(c ambry.ChannelConnection) string {
	text := fmt.Sprintf("%s as %s, %s paired", c.Status, c.DisplayName, counted(int64(len(c.Peers)), "person", "people"))
	if c.LastError != "" {
		text += ": " + c.LastError
	}
	return text
}

// checkChannels looks at what was connected.
func checkChannels(ctx context.Context, c *client.Client) []check {
	connected, err := c.ChannelConnections(ctx)
	if ambry.KindOf(err) == ambry.NotFound {
		return nil // a service that is older than this command
	}
	if err != nil {
		return []check{{Name: "channels", Verdict: fail, Message: err.Error()}}
	}
	var all []check
	for _, l := range connected.Connections {
		one := check{Name: l.Provider, Verdict: good, Message: ambry.Plain(connectedAs(l))}
		switch l.Status {
		case ambry.ChannelConnected:
		case ambry.ChannelExpired:
			one.Verdict, one.Hint = fail, fmt.Sprintf("%q connects it anew", "ambry channel connect "+l.Provider)
		default:
			one.Verdict = warn
		}
		all = append(all, one)
	}
	return all
}

func (p *program) channelConnectCommand() *cobra.Command {
	var given []string
	cmd := &cobra.Command{
		Use:   "connect CHANNEL",
		Short: "Connect a channel",
		Long: `Connect asks for what the service needs, as its definition says, asks the service
whether that is right, and keeps it: secrets in the keychain of the system or an
encrypted file. Then it shows a code: whoever sends that to the bot within ten
minutes may write to it.

What is given by --field is not asked for. A secret is not taken as it stands,
where other programs and the history of the shell would see it: KEY=env:NAME
takes it from a variable of this command. Without a terminal, secrets are read
from standard input, a line for each, in the order of the definition.`,
		Example: `  ambry channel connect telegram
  ambry channel connect ntfy --field token=env:NTFY_TOKEN
  pass show telegram-bot | ambry channel connect telegram`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.connectChannel(cmd.Context(), args[0], given) },
	}
	cmd.Flags().StringArrayVar(&given, "field", nil, "`KEY=VALUE` of a field; of a secret KEY=env:NAME")
	return completeChannel(cmd)
}

func (p *program) connectChannel(ctx context.Context, id string, given []string) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := c.ChannelDefinitions(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all.Channels, func(d ambry.ChannelDefinition) bool { return d.ID == id })
	if i < 0 {
		return withHint(ambry.NotFound.Errorf("there is no channel %q", id), `"ambry channel list" shows them`)
	}
	d := all.Channels[i]
	if !d.Enabled {
		return ambry.Conflict.Errorf("%s cannot be connected: %s", d.Name, d.Reason)
	}
	fields, err := p.channelFields(d, given)
	if err != nil {
		return err
	}
	opened, err := c.ConnectChannel(ctx, id, fields)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(opened)
	}
	p.printf("%s is connected as %s.\n", d.Name, p.style().bold(flat(opened.DisplayName)))
	if opened.PairingCode != "" {
		p.printCode(opened.PairingCode, *opened.ExpiresAt)
	}
	return nil
}

func (p *program) printCode(code string, until time.Time) {
	p.printf("Send this code to it before %s, and you may write to it: %s\n", until.Local().Format("15:04"), p.style().bold(code))
}

// channelFields are the fields that were given, and those that are asked for.
func (p *program) channelFields(d ambry.ChannelDefinition, given []string) (map[string]string, error) {
	fields := map[string]string{}
	for _, g := range given {
		key, value, ok := strings.Cut(g, "=")
		i := slices.IndexFunc(d.Fields, func(f ambry.ChannelField) bool { return f.Key == key })
		if !ok || i < 0 {
			return nil, usagef("--field %s: there are %s", key, fieldKeys(d))
		}
		if d.Fields[i].Kind == "secret" {
			name, ok := strings.CutPrefix(value, "env:")
			if !ok {
				return nil, usagef("--field takes no secret as it stands, where others would see it; use %s=env:NAME, or leave it out and be asked", key)
			}
			if value = p.getenv(name); value == "" {
				return nil, usagef("the variable %s is not set", name)
			}
		}
		fields[key] = value
	}
	in := bufio.NewReader(io.LimitReader(p.in, maxFields))
	for _, f := range d.Fields {
		if _, ok := fields[f.Key]; ok {
			continue
		}
		if !p.asks(f) {
			if f.Required && f.Default == "" {
				return nil, usagef("%s is missing: give it as --field %s=…", f.Key, f.Key)
			}
			continue
		}
		value, err := p.askField(in, f)
		if err != nil {
			return nil, err
		}
		if value != "" {
			fields[f.Key] = value
		}
	}
	return fields, nil
}

// maxFields is how much is read of what is asked for.
const maxFields = 64 << 10

func fieldKeys(d ambry.ChannelDefinition) string {
	var keys []string
	for _, f := range d.Fields {
		keys = append(keys, f.Key)
	}
	return strings.Join(keys, ", ")
}

// terminal returns the terminal at which somebody can be asked.
func (p *program) terminal() (fd int, ok bool) {
	f, ok := p.in.(*os.File)
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// asks reports whether a field that was not given is asked for: at a terminal
// each one, else what is required and a secret.
func (p *program) asks(f ambry.ChannelField) bool {
	_, ok := p.terminal()
	return ok || f.Required && f.Kind == "secret"
}

func (p *program) askField(in *bufio.Reader, f ambry.ChannelField) (string, error) {
	fd, terminal := p.terminal()
	if terminal {
		label := f.Label
		if f.Description != "" {
			label += " (" + f.Description + ")"
		}
		switch {
		case f.Kind == "secret":
			label += "; it is not shown"
		case f.Default != "":
			label += "; " + f.Default + " if empty"
		case !f.Required:
			label += "; may be empty"
		}
		fmt.Fprintf(p.err, "%s: ", flat(label))
		if f.Kind == "secret" {
			value, err := term.ReadPassword(fd)
			fmt.Fprintln(p.err)
			return strings.TrimSpace(string(value)), err
		}
	}
	text, err := in.ReadString('\n')
	if text = strings.TrimSpace(text); text == "" && err != nil && f.Required {
		return "", usagef("%s is missing: give it on a line of standard input, or as --field %s=env:NAME", f.Key, f.Key)
	}
	return text, nil
}

func (p *program) channelDisconnectCommand() *cobra.Command {
	return completeChannel(&cobra.Command{
		Use:     "disconnect CHANNEL",
		Short:   "End a channel, and forget what belongs to it",
		Long:    `Disconnect ends a channel. Its secrets are deleted, and nobody is paired any more.`,
		Example: `  ambry channel disconnect telegram`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.DisconnectChannel(cmd.Context(), args[0]); err != nil {
				return err
			}
			if p.json {
				return p.printJSON(map[string]bool{"ok": true})
			}
			p.printf("%s is not connected any more.\n", flat(args[0]))
			return nil
		},
	})
}

func (p *program) channelPairCommand() *cobra.Command {
	return completeChannel(&cobra.Command{
		Use:   "pair CHANNEL",
		Short: "Show a code by which somebody may be paired",
		Long: `Pair draws a code. Whoever sends it to the bot within ten minutes may write to it,
and with that ask the whole memory. It is good once; the code before is void.`,
		Example: `  ambry channel pair telegram`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			code, err := c.PairChannel(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(code)
			}
			p.printCode(code.PairingCode, code.ExpiresAt)
			return nil
		},
	})
}

func (p *program) channelPeersCommand() *cobra.Command {
	return completeChannel(&cobra.Command{
		Use:     "peers CHANNEL",
		Short:   "Show who may write",
		Long:    `Peers shows who was paired on a channel, by the ids of its service.`,
		Example: `  ambry channel peers telegram`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := c.ChannelConnections(cmd.Context())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(all.Connections, func(c ambry.ChannelConnection) bool { return c.Provider == args[0] })
			if i < 0 {
				return ambry.NotFound.Errorf("%s is not connected", args[0])
			}
			peers := all.Connections[i].Peers
			if p.json {
				return p.printJSON(peers)
			}
			if len(peers) == 0 {
				p.printf("Nobody is paired; \"ambry channel pair %s\" shows a code.\n", flat(args[0]))
			}
			for _, peer := range peers {
				p.printf("%s  %s, since %s\n", p.style().bold(flat(peer.ID)), flat(peer.Name), peer.PairedAt.Local().Format(time.DateOnly))
			}
			return nil
		},
	})
}

func (p *program) channelUnpairCommand() *cobra.Command {
	return completeChannel(&cobra.Command{
		Use:     "unpair CHANNEL ID",
		Short:   "Take somebody's permission to write",
		Long:    `Unpair takes somebody's permission to write, by the id that "ambry channel peers" shows.`,
		Example: `  ambry channel unpair telegram 123456789`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.UnpairChannel(cmd.Context(), args[0], args[1]); err != nil {
				return err
			}
			if p.json {
				return p.printJSON(map[string]bool{"ok": true})
			}
			p.printf("%s may not write any more.\n", flat(args[1]))
			return nil
		},
	})
}
