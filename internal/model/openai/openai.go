// Package openai speaks the wire of OpenAI's chat completions and embeddings,
// which most providers offer too. What sets each of them apart is in vendors.go.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"ambry.dev/ambry/internal/model"
)

// chat is a model behind /chat/completions.
type chat struct {
	model.Access
	vendor vendor
}

var _ model.Chat = chat{}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type request struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Stream              bool           `json:"stream,omitempty"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// answer is a whole answer, or a part of one that comes piece by piece.
type answer struct {
	Model   string `json:"model"`
	Choices []struct {
		Message      said   `json:"message"`
		Delta        said   `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

type said struct {
	Content string `json:"content"`
}

type usage struct {
	PromptTokens        int64 `json:"prompt_tokens"`
	CompletionTokens    int64 `json:"completion_tokens"`
	TotalTokens         int64 `json:"total_tokens"`
	PromptTokensDetails *struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	PromptCacheHitTokens int64 `json:"prompt_cache_hit_tokens"` // DeepSeek's name for the same
}

func (u *usage) usage() model.Usage {
	if u == nil {
		return model.Usage{}
	}
	out := model.Usage{Input: u.PromptTokens, Output: u.CompletionTokens, CachedInput: u.PromptCacheHitTokens}
	if d := u.PromptTokensDetails; d != nil && d.CachedTokens > 0 {
		out.CachedInput = d.CachedTokens
	}
	if out.Input == 0 && out.Output == 0 {
		out.Input = u.TotalTokens // MiniMax's embeddings have no other number
	}
	return out
}

// Chat asks the model.
func (c chat) Chat(ctx context.Context, r model.Request, each func(string) error) (model.Reply, error) {
	in := request{Model: c.Model, Messages: messages(r)}
	if c.vendor.newLimit {
		in.MaxCompletionTokens = r.MaxTokens
	} else {
		in.MaxTokens = max(r.MaxTokens, c.vendor.minTokens)
	}
	if each != nil {
		in.Stream, in.StreamOptions = true, &streamOptions{IncludeUsage: true}
	}
	out, err := c.ask(ctx, in, each)
	if adapted, again := adapt(in, err); again {
		out, err = c.ask(ctx, adapted, each)
	}
	if err != nil {
		return model.Reply{}, err
	}
	c.Count(out.Usage)
	return out, nil
}

// adapt changes a request that was refused for the name of a field which not
// every model and server knows.
func adapt(in request, err error) (request, bool) {
	f, failed := errors.AsType[*model.Failure](err)
	if !failed || f.Reason != model.Refused {
		return in, false
	}
	switch {
	case in.MaxTokens > 0 && strings.Contains(f.Says, "max_completion_tokens"):
		in.MaxCompletionTokens, in.MaxTokens = in.MaxTokens, 0
	case in.StreamOptions != nil && strings.Contains(f.Says, "stream_options"):
		in.StreamOptions = nil
	default:
		return in, false
	}
	return in, true
}

func (c chat) ask(ctx context.Context, in request, each func(string) error) (model.Reply, error) {
	if each == nil {
		var out answer
		if err := c.Post(ctx, chatPath, header(c.Access), in, &out); err != nil {
			return model.Reply{}, err
		}
		if len(out.Choices) == 0 {
			return model.Reply{}, &model.Failure{Reason: model.NotAModel, Status: http.StatusOK}
		}
		first := out.Choices[0]
		return model.Reply{Text: first.Message.Content, Model: out.Model, Cut: first.FinishReason == "length", Usage: out.Usage.usage()}, nil
	}
	return c.stream(ctx, in, each)
}

func (c chat) stream(ctx context.Context, in request, each func(string) error) (model.Reply, error) {
	var reply model.Reply
	var text strings.Builder
	finished := false
	begun := func() bool { return text.Len() > 0 }
	part := func(data []byte) error {
		if string(data) == "[DONE]" {
			return model.Done()
		}
		var p answer
		if json.Unmarshal(data, &p) != nil {
			return &model.Failure{Reason: model.NotAModel, Status: http.StatusOK}
		}
		if p.Usage != nil {
			reply.Usage = p.Usage.usage()
		}
		if p.Model != "" {
			reply.Model = p.Model
		}
		if len(p.Choices) == 0 {
			return nil
		}
		first := p.Choices[0]
		if first.FinishReason != "" {
			finished, reply.Cut = true, first.FinishReason == "length"
		}
		piece := first.Delta.Content
		if text.Len() == 0 && piece == "" {
			piece = first.Message.Content // it did not come in pieces; MiniMax repeats the whole at the end
		}
		if piece == "" {
			return nil
		}
		text.WriteString(piece)
		return each(piece)
	}
	err := c.Stream(ctx, chatPath, header(c.Access), in, model.Events, begun, part)
	if f, ok := errors.AsType[*model.Failure](err); ok && f.Reason == model.CutOff && finished {
		err = nil // some end without the mark at the end
	}
	reply.Text = text.String()
	return reply, err
}

const chatPath = "/chat/completions"

func messages(r model.Request) (all []message) {
	if r.System != "" {
		all = append(all, message{"system", r.System})
	}
	for _, m := range r.Messages {
		all = append(all, message{string(m.Role), m.Text})
	}
	return all
}

func header(a model.Access) http.Header {
	h := http.Header{}
	if a.Key != "" {
		h.Set("Authorization", "Bearer "+a.Key)
	}
	return h
}
