package upstream

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

// The limits of one upstream.
const (
	maxMessage     = 8 << 20  // bytes of one message
	maxText        = 1 << 20  // bytes of text in one answer
	maxDescription = 8 << 10  // bytes of what a tool says of itself
	maxFeature     = 64 << 10 // bytes of a tool with its schema, a prompt or a resource
	maxFeatures    = 1000     // of each kind
	maxPages       = 50       // of each list
	maxLinks       = 32       // connections at a time, one for each session of ours
	maxAsks        = 4        // questions to a client at a time
	maxData        = 64 << 10 // bytes of a log message
	maxMessageText = 2 << 10  // bytes of an error, or of what a progress says
	talkRate       = 200      // notifications a second
	talkBurst      = 1000     // at once
	talkDropped    = 5000     // of which were too many, and the connection is cut
	maxValues      = 100      // of a completion
)

// Timing is how long things may take. A field that is zero has the value named
// beside it.
type Timing struct {
	Connect time.Duration // 60 s from the start to the first lists; npx downloads
	Grace   time.Duration // 2 s from the end of its input until a program is killed
	Backoff time.Duration // 0.5 s from a first failure to the next start; it doubles
	Longest time.Duration // 60 s, to which it doubles
	Stable  time.Duration // 30 s of health, and earlier failures no longer count
	Rest    time.Duration // 1 s from one look at the lists to the next
	Settle  time.Duration // 3 s that a list waits for upstreams that were never there yet
	Idle    time.Duration // 15 min until a connection that nobody uses is closed
}

func (t Timing) withDefaults() Timing {
	for _, f := range []struct {
		field   *time.Duration
		initial time.Duration
	}{
		{&t.Connect, time.Minute},
		{&t.Grace, 2 * time.Second},
		{&t.Backoff, time.Second / 2},
		{&t.Longest, time.Minute},
		{&t.Stable, 30 * time.Second},
		{&t.Rest, time.Second},
		{&t.Settle, 3 * time.Second},
		{&t.Idle, 15 * time.Minute},
	} {
		if *f.field == 0 {
			*f.field = f.initial
		}
	}
	return t
}

// plainName is what a tool or a prompt may be called: what every agent takes.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,96}$`) })

// short makes text of an upstream harmless to a terminal and at most so long.
func short(text string, bytes int) string {
	text = ambry.Plain(text)
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}

// fits reports whether v as JSON has at most so many bytes.
func fits(v any, bytes int) bool {
	data, err := json.Marshal(v)
	return err == nil && len(data) <= bytes
}

// budget is how much text of an answer may still be passed on.
type budget int

// take makes text harmless, and cuts what is too much.
func (b *budget) take(text string) string {
	text = ambry.Plain(text)
	if left := int(*b); len(text) > left {
		text = strings.ToValidUTF8(text[:left], "") + fmt.Sprintf("\n[cut here: %d bytes more are too many]", len(text)-left)
		*b = 0
		return text
	}
	*b -= budget(len(text))
	return text
}

// content cuts the text in content.
func (b *budget) content(content mcp.Content) {
	switch c := content.(type) {
	case *mcp.TextContent:
		c.Text = b.take(c.Text)
	case *mcp.ResourceLink:
		c.Name, c.Title, c.Description = short(c.Name, maxMessageText), short(c.Title, maxMessageText), short(c.Description, maxDescription)
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			c.Resource.Text = b.take(c.Resource.Text)
		}
	}
}

// trim cuts what a tool answered to size.
func trim(res *mcp.CallToolResult) {
	left := budget(maxText)
	for _, c := range res.Content {
		left.content(c)
	}
	if res.StructuredContent != nil && !fits(res.StructuredContent, maxText) {
		res.StructuredContent = nil
		res.IsError = true
		res.Content = append(res.Content, &mcp.TextContent{Text: fmt.Sprintf("[the structured answer is left out: more than %d bytes are too many]", maxText)})
	}
}
