package upstream_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// offering makes servers for requests, whose sessions end with the test: who is cut
// off while it begins one cannot end it.
func offering(t *testing.T) func(*http.Request) *mcp.Server {
	var mu sync.Mutex // guards made
	var made []*mcp.Server
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range made {
			for session := range s.Sessions() {
				_ = session.Close()
			}
		}
	})
	return func(*http.Request) *mcp.Server {
		mu.Lock()
		defer mu.Unlock()
		made = append(made, everything())
		return made[len(made)-1]
	}
}
