package model

import (
	"context"
	"net/http"
	"time"
)

// Provider is somebody who offers models, as data. What is nil is not offered.
type Provider struct {
	ID      string // as in the settings
	Name    string // as people write it
	BaseURL string // where it usually is
	Local   bool   // it runs on the person's own machine, where there is no key

	NewChat     func(Access) Chat
	NewEmbedder func(Access) Embedder
}

// Access is how a model is called: where, which one, as whom and within what.
// What is made from it is cheap to make, and may be used by several goroutines.
type Access struct {
	BaseURL string // the scheme, host and port, and the path before that of the wire
	Model   string
	Key     string       // empty where none is needed
	HTTP    *http.Client // its transport decides who may be called; it must not follow redirects
	Limits  Limits
	Used    func(Usage) // told what each call has used; may be nil
}

// Limits is how much a call may take. A field that is zero has the value named
// beside it.
type Limits struct {
	Attempts int           // 4: a call that fails for a while is made so often
	MaxBytes int64         // 32 MiB of an answer
	Idle     time.Duration // 1 min until the answer begins, and from one part of it to the next
	Pause    time.Duration // 0.5 s before the second attempt, then twice as much each time
	MaxPause time.Duration // 30 s: whoever asks for a longer pause gets no further attempt
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field   *time.Duration
		initial time.Duration
	}{{&l.Idle, time.Minute}, {&l.Pause, 500 * time.Millisecond}, {&l.MaxPause, 30 * time.Second}} {
		if *f.field == 0 {
			*f.field = f.initial
		}
	}
	if l.Attempts == 0 {
		l.Attempts = 4
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = 32 << 20
	}
	return l
}

// Usage is the tokens of a call, as the provider counts them.
type Usage struct {
	Input, Output int64
	CachedInput   int64 // of Input, read from the provider's cache
	CacheCreation int64 // of Input, written to it
}

// Role is who says something.
type Role string

// The roles of a conversation.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is something that was said.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text"`
}

// Request is what a model is asked.
type Request struct {
	System    string    `json:"system,omitempty"` // what it is told beforehand
	Messages  []Message `json:"messages"`         // begins and ends with the user
	MaxTokens int       `json:"maxTokens"`        // of the answer, above 0
}

// Reply is what a model answers.
type Reply struct {
	Text  string `json:"text"`
	Model string `json:"model,omitempty"` // as it calls itself
	Cut   bool   `json:"cut,omitempty"`   // MaxTokens ended it
	Usage Usage  `json:"usage"`
}

// Chat is a model that answers in words.
type Chat interface {
	// Chat returns the answer to r. With each it is also given piece by piece, as
	// it comes; an error of each ends the call and is returned. A call that gave
	// nothing yet is repeated if that can help. Other errors are a [*Failure].
	Chat(ctx context.Context, r Request, each func(piece string) error) (Reply, error)
}

// Count tells who pays what a call has used.
func (a Access) Count(u Usage) {
	if a.Used != nil {
		a.Used(u)
	}
}
