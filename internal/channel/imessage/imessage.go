// Package imessage says why nobody can write to Ambry on iMessage. It connects
// to nothing.
package imessage

import "ambry.dev/ambry/internal/channel"

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "imessage", Name: "iMessage",
		Unsupported: "Apple offers programs no way to receive messages; reading them out of the database of its application would need access to the whole disk.",
	}
}
