// Package anthropic speaks the wire of Anthropic's Messages.
package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"ambry.dev/ambry/internal/model"
)

// Provider returns Anthropic. It offers no embeddings.
func Provider() model.Provider {
	return model.Provider{
		ID: "anthropic", Name: "Anthropic", BaseURL: "https://api.anthropic.com",
		NewChat: func(a model.Access) model.Chat {
			a.BaseURL = strings.TrimSuffix(strings.TrimRight(a.BaseURL, "/"), "/v1")
			return chat{a}
		},
	}
}

const (
	version = "2023-06-01" // of the wire
	path    = "/v1/messages"
)

type chat struct{ model.Access }

var _ model.Chat = chat{}

type request struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	System    string    `json:"system,omitempty"`
	Messages  []message `json:"messages"`
	Stream    bool      `json:"stream,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type answer struct {
	Type       string  `json:"type"`
	Model      string  `json:"model"`
	Content    []block `json:"content"`
	StopReason string  `json:"stop_reason"`
	Usage      usage   `json:"usage"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// usage counts what was read from the cache, and written to it, apart from the
// other input.
type usage struct {
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
}

func (u usage) usage() model.Usage {
	return model.Usage{
		Input: u.Input + u.CacheRead + u.CacheCreation, Output: u.Output,
		CachedInput: u.CacheRead, CacheCreation: u.CacheCreation,
	}
}

// Chat asks the model.
func (c chat) Chat(ctx context.Context, r model.Request, each func(string) error) (model.Reply, error) {
	in := request{Model: c.Model, MaxTokens: r.MaxTokens, System: r.System, Stream: each != nil}
	for _, m := range r.Messages {
		in.Messages = append(in.Messages, message{string(m.Role), m.Text})
	}
	ask := c.whole
	if each != nil {
		ask = c.stream
	}
	reply, err := ask(ctx, in, each)
	if err != nil {
		return model.Reply{}, err
	}
	c.Count(reply.Usage)
	return reply, nil
}

func (c chat) whole(ctx context.Context, in request, _ func(string) error) (model.Reply, error) {
	var out answer
	if err := c.Post(ctx, path, c.header(), in, &out); err != nil {
		return model.Reply{}, err
	}
	if out.Type != "message" || out.Content == nil {
		return model.Reply{}, &model.Failure{Reason: model.NotAModel, Status: http.StatusOK}
	}
	reply := model.Reply{Model: out.Model, Cut: out.StopReason == "max_tokens", Usage: out.Usage.usage()}
	for _, b := range out.Content {
		reply.Text += b.Text
	}
	return reply, nil
}

// event is a part of an answer that comes piece by piece.
type event struct {
	Type    string `json:"type"`
	Message answer `json:"message"`
	Delta   struct {
		Text       string `json:"text"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage   *usage  `json:"usage"`
	Content []block `json:"content"` // of an answer that did not come in pieces
}

func (c chat) stream(ctx context.Context, in request, each func(string) error) (model.Reply, error) {
	var reply model.Reply
	var text strings.Builder
	var used usage
	give := func(piece string) error {
		if piece == "" {
			return nil
		}
		text.WriteString(piece)
		return each(piece)
	}
	part := func(data []byte) error {
		var e event
		if json.Unmarshal(data, &e) != nil {
			return &model.Failure{Reason: model.NotAModel, Status: http.StatusOK}
		}
		switch e.Type {
		case "message_start":
			reply.Model, used = e.Message.Model, e.Message.Usage
		case "content_block_delta":
			return give(e.Delta.Text)
		case "message_delta":
			reply.Cut = e.Delta.StopReason == "max_tokens"
			if e.Usage != nil {
				used.Output = e.Usage.Output // the sum so far
			}
		case "message":
			for _, b := range e.Content {
				if err := give(b.Text); err != nil {
					return err
				}
			}
			if e.Usage != nil {
				used = *e.Usage
			}
			return model.Done()
		case "message_stop":
			return model.Done()
		}
		return nil
	}
	err := c.Stream(ctx, path, c.header(), in, model.Events, func() bool { return text.Len() > 0 }, part)
	reply.Text, reply.Usage = text.String(), used.usage()
	return reply, err
}

func (c chat) header() http.Header {
	h := http.Header{}
	h.Set("Anthropic-Version", version)
	if c.Key != "" {
		h.Set("X-Api-Key", c.Key)
	}
	return h
}
