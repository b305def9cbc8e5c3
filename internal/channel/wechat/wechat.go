// Package wechat says why nobody can write to Ambry on WeChat. It connects to
// nothing.
package wechat

import "ambry.dev/ambry/internal/channel"

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "wechat", Name: "WeChat",
		Unsupported: "WeChat lets programs speak for official accounts only, and delivers what people write to a public web address, which a program on a person's own machine does not have; ways around that break its terms.",
	}
}
