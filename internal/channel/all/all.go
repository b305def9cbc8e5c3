// Package all lists the services on which people can write to Ambry. It holds
// nothing else.
package all

import (
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/dingtalk"
	"ambry.dev/ambry/internal/channel/discord"
	"ambry.dev/ambry/internal/channel/email"
	"ambry.dev/ambry/internal/channel/feishu"
	"ambry.dev/ambry/internal/channel/imessage"
	"ambry.dev/ambry/internal/channel/irc"
	"ambry.dev/ambry/internal/channel/matrix"
	"ambry.dev/ambry/internal/channel/ntfy"
	"ambry.dev/ambry/internal/channel/slack"
	"ambry.dev/ambry/internal/channel/telegram"
	"ambry.dev/ambry/internal/channel/wechat"
	"ambry.dev/ambry/internal/channel/xmpp"
)

// Providers returns every service, in the order in which people see them.
func Providers() []channel.Provider {
	return []channel.Provider{
		telegram.Provider(),
		discord.Provider(),
		slack.Provider(),
		feishu.Provider(),
		dingtalk.Provider(),
		matrix.Provider(),
		xmpp.Provider(),
		irc.Provider(),
		email.Provider(),
		ntfy.Provider(),
		wechat.Provider(),
		imessage.Provider(),
	}
}
