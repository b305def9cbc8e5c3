// Package google speaks the wire of Google's Gemini.
package google

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"ambry.dev/ambry/internal/model"
)

// batch is how many texts are embedded at a time.
const batch = 100

// Provider returns Google.
func Provider() model.Provider {
	return model.Provider{
		ID: "google", Name: "Google Gemini", BaseURL: "https://generativelanguage.googleapis.com",
		NewChat: func(a model.Access) model.Chat { return chat{below(a)} },
		NewEmbedder: func(a model.Access) model.Embedder {
			a = below(a)
			return model.NewEmbedder("google:"+a.Model, batch, embed(a))
		},
	}
}

// below takes from the address and the name what people copy with it.
func below(a model.Access) model.Access {
	a.BaseURL = strings.TrimSuffix(strings.TrimRight(a.BaseURL, "/"), "/v1beta")
	a.Model = strings.TrimPrefix(a.Model, "models/")
	return a
}

func path(a model.Access, method string) string {
	return "/v1beta/models/" + url.PathEscape(a.Model) + ":" + method
}

func header(a model.Access) http.Header {
	h := http.Header{}
	if a.Key != "" {
		h.Set("X-Goog-Api-Key", a.Key)
	}
	return h
}

type chat struct{ model.Access }

var _ model.Chat = chat{}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought,omitempty"` // what it thought on the way
}

type request struct {
	System   *content  `json:"systemInstruction,omitempty"`
	Contents []content `json:"contents"`
	Config   struct {
		MaxOutputTokens int `json:"maxOutputTokens"`
	} `json:"generationConfig"`
}

// answer is a whole answer or a part of it: both look the same.
type answer struct {
	Candidates []struct {
		Content      content `json:"content"`
		FinishReason string  `json:"finishReason"`
	} `json:"candidates"`
	Prompt struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage        *usage `json:"usageMetadata"`
	ModelVersion string `json:"modelVersion"`
}

type usage struct {
	Prompt     int64 `json:"promptTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
}

// add puts what an answer says into the reply, and returns the text of it.
func (a answer) add(r *model.Reply) (text string, finished bool, err error) {
	if a.Prompt.BlockReason != "" {
		return "", false, &model.Failure{Reason: model.Refused, Status: http.StatusOK, Says: "the prompt is blocked"}
	}
	if a.Usage != nil {
		r.Usage = model.Usage{Input: a.Usage.Prompt, Output: a.Usage.Candidates + a.Usage.Thoughts, CachedInput: a.Usage.Cached}
	}
	if a.ModelVersion != "" {
		r.Model = a.ModelVersion
	}
	if len(a.Candidates) == 0 {
		return "", false, nil
	}
	first := a.Candidates[0]
	for _, p := range first.Content.Parts {
		if !p.Thought {
			text += p.Text
		}
	}
	r.Cut = first.FinishReason == "MAX_TOKENS"
	return text, first.FinishReason != "", nil
}

// Chat asks the model.
func (c chat) Chat(ctx context.Context, r model.Request, each func(string) error) (model.Reply, error) {
	var in request
	in.Config.MaxOutputTokens = r.MaxTokens
	if r.System != "" {
		in.System = &content{Parts: []part{{Text: r.System}}}
	}
	for _, m := range r.Messages {
		role := map[model.Role]string{model.User: "user", model.Assistant: "model"}[m.Role]
		in.Contents = append(in.Contents, content{role, []part{{Text: m.Text}}})
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

func (c chat) whole(ctx context.Context, in request, _ func(string) error) (reply model.Reply, err error) {
	var out answer
	if err := c.Post(ctx, path(c.Access, "generateContent"), header(c.Access), in, &out); err != nil {
		return reply, err
	}
	if reply.Text, _, err = out.add(&reply); err == nil && len(out.Candidates) == 0 {
		err = &model.Failure{Reason: model.NotAModel, Status: http.StatusOK}
	}
	return reply, err
}

func (c chat) stream(ctx context.Context, in request, each func(string) error) (reply model.Reply, err error) {
	var text strings.Builder
	finished := false
	err = c.Stream(ctx, path(c.Access, "streamGenerateContent?alt=sse"), header(c.Access), in, model.Events,
		func() bool { return text.Len() > 0 },
		func(data []byte) error {
			var out answer
			if json.Unmarshal(data, &out) != nil {
				return &model.Failure{Reason: model.NotAModel, Status: http.StatusOK}
			}
			piece, last, err := out.add(&reply)
			finished = finished || last
			if err != nil || piece == "" {
				return err
			}
			text.WriteString(piece)
			return each(piece)
		})
	// Nothing marks the end but the reason for it, in the last part.
	if f, ok := errors.AsType[*model.Failure](err); ok && f.Reason == model.CutOff && finished {
		err = nil
	}
	reply.Text = text.String()
	return reply, err
}

type embedRequest struct {
	Requests []embedOne `json:"requests"`
}

type embedOne struct {
	Model   string  `json:"model"`
	Content content `json:"content"`
	Task    string  `json:"taskType"`
}

type embedAnswer struct {
	Embeddings []struct {
		Values []float32 `json:"values"`
	} `json:"embeddings"`
}

// charsPerToken is a guess, for the provider does not say what embeddings use.
const charsPerToken = 4

func embed(a model.Access) model.EmbedBatch {
	return func(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
		task := map[model.Purpose]string{model.ForSearching: "RETRIEVAL_QUERY", model.ForStoring: "RETRIEVAL_DOCUMENT"}[p]
		var in embedRequest
		size := 0
		for _, t := range texts {
			in.Requests = append(in.Requests, embedOne{"models/" + a.Model, content{Parts: []part{{Text: t}}}, task})
			size += len(t)
		}
		var out embedAnswer
		if err := a.Post(ctx, path(a, "batchEmbedContents"), header(a), in, &out); err != nil {
			return nil, err
		}
		a.Count(model.Usage{Input: int64(size/charsPerToken + 1)})
		var vectors [][]float32
		for _, e := range out.Embeddings {
			vectors = append(vectors, e.Values)
		}
		return vectors, nil
	}
}
