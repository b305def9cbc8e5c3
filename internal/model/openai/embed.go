package openai

import (
	"context"
	"net/http"
	"slices"

	"ambry.dev/ambry/internal/model"
)

type embedRequest struct {
	Model  string   `json:"model"`
	Input  []string `json:"input"`
	Format string   `json:"encoding_format"`
}

type embedAnswer struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
	Usage *usage `json:"usage"`
}

// newEmbedder returns a model behind /embeddings.
func (v vendor) newEmbedder(a model.Access) model.Embedder {
	call := func(ctx context.Context, texts []string, _ model.Purpose) ([][]float32, error) {
		var out embedAnswer
		in := embedRequest{Model: a.Model, Input: texts, Format: "float"}
		if err := a.Post(ctx, "/embeddings", header(a), in, &out); err != nil {
			return nil, err
		}
		a.Count(out.Usage.usage())
		vectors := make([][]float32, len(texts))
		for _, d := range out.Data {
			if d.Index < 0 || d.Index >= len(texts) || vectors[d.Index] != nil {
				return nil, &model.Failure{Reason: model.NotAModel, Status: http.StatusOK}
			}
			vectors[d.Index] = d.Embedding
		}
		return vectors, nil
	}
	if v.ownEmbedding {
		call = minimaxEmbed(a)
	}
	return model.NewEmbedder(v.space+":"+a.Model, v.batch, call)
}

// MiniMax has embeddings of its own kind, which tell questions from texts.
type minimaxRequest struct {
	Model string   `json:"model"`
	Texts []string `json:"texts"`
	Type  string   `json:"type"`
}

type minimaxAnswer struct {
	Vectors     [][]float32 `json:"vectors"`
	TotalTokens int64       `json:"total_tokens"`
}

func minimaxEmbed(a model.Access) model.EmbedBatch {
	return func(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
		in := minimaxRequest{Model: a.Model, Texts: slices.Clone(texts), Type: "db"}
		if p == model.ForSearching {
			in.Type = "query"
		}
		var out minimaxAnswer
		if err := a.Post(ctx, "/embeddings", header(a), in, &out); err != nil {
			return nil, err
		}
		a.Count(model.Usage{Input: out.TotalTokens})
		return out.Vectors, nil
	}
}
