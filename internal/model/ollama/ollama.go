// Package ollama speaks the wire of Ollama, which runs models on the person's
// own machine.
package ollama

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"ambry.dev/ambry/internal/model"
)

// batch is how many texts are embedded at a time.
const batch = 32

// Provider returns Ollama.
func Provider() model.Provider {
	return model.Provider{
		ID: "ollama", Name: "Ollama", BaseURL: "http://localhost:11434", Local: true,
		NewChat: func(a model.Access) model.Chat { return chat{below(a)} },
		NewEmbedder: func(a model.Access) model.Embedder {
			a = below(a)
			return model.NewEmbedder("ollama:"+a.Model, batch, embed(a))
		},
	}
}

// below takes from the address what belongs to its other wires.
func below(a model.Access) model.Access {
	a.BaseURL = strings.TrimRight(a.BaseURL, "/")
	for _, end := range []string{"/v1", "/api"} {
		a.BaseURL = strings.TrimSuffix(a.BaseURL, end)
	}
	return a
}

type chat struct{ model.Access }

var _ model.Chat = chat{}

type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Stream   bool      `json:"stream"`
	Options  struct {
		NumPredict int `json:"num_predict"`
	} `json:"options"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// answer is a whole answer or a part of it.
type answer struct {
	Model      string   `json:"model"`
	Message    *message `json:"message"`
	Done       bool     `json:"done"`
	DoneReason string   `json:"done_reason"`
	Prompt     int64    `json:"prompt_eval_count"`
	Eval       int64    `json:"eval_count"`
}

// Chat asks the model.
func (c chat) Chat(ctx context.Context, r model.Request, each func(string) error) (model.Reply, error) {
	in := request{Model: c.Model, Stream: each != nil}
	in.Options.NumPredict = r.MaxTokens
	if r.System != "" {
		in.Messages = append(in.Messages, message{"system", r.System})
	}
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

func (a answer) end(r *model.Reply) {
	r.Model, r.Cut = a.Model, a.DoneReason == "length"
	r.Usage = model.Usage{Input: a.Prompt, Output: a.Eval}
}

func (c chat) whole(ctx context.Context, in request, _ func(string) error) (reply model.Reply, err error) {
	var out answer
	if err := c.Post(ctx, "/api/chat", header(c.Access), in, &out); err != nil {
		return reply, err
	}
	if out.Message == nil || !out.Done {
		return reply, &model.Failure{Reason: model.NotAModel, Status: http.StatusOK}
	}
	out.end(&reply)
	reply.Text = out.Message.Content
	return reply, nil
}

func (c chat) stream(ctx context.Context, in request, each func(string) error) (reply model.Reply, err error) {
	var text strings.Builder
	err = c.Stream(ctx, "/api/chat", header(c.Access), in, model.Lines, func() bool { return text.Len() > 0 }, func(data []byte) error {
		var out answer
		if json.Unmarshal(data, &out) != nil {
			return &model.Failure{Reason: model.NotAModel, Status: http.StatusOK}
		}
		if out.Message != nil && out.Message.Content != "" {
			text.WriteString(out.Message.Content)
			if err := each(out.Message.Content); err != nil {
				return err
			}
		}
		if out.Done {
			out.end(&reply)
			return model.Done()
		}
		return nil
	})
	reply.Text = text.String()
	return reply, err
}

type embedRequest struct {
	Model string   `json:"model"`
	Input []string `json:"input"`
}

type embedAnswer struct {
	Embeddings [][]float32 `json:"embeddings"`
	Prompt     int64       `json:"prompt_eval_count"`
}

func embed(a model.Access) model.EmbedBatch {
	return func(ctx context.Context, texts []string, _ model.Purpose) ([][]float32, error) {
		var out embedAnswer
		if err := a.Post(ctx, "/api/embed", header(a), embedRequest{a.Model, texts}, &out); err != nil {
			return nil, err
		}
		a.Count(model.Usage{Input: out.Prompt})
		return out.Embeddings, nil
	}
}

// header is that of a proxy with a key before Ollama, which asks for none.
func header(a model.Access) http.Header {
	h := http.Header{}
	if a.Key != "" {
		h.Set("Authorization", "Bearer "+a.Key)
	}
	return h
}
