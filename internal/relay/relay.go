// Package relay lends the service's models to the memory runtime. The runtime
// knows no key and calls nobody but the service, over loopback; the service
// makes the calls, within the budget. Both sides of it are here. It decides
// nothing: what may be called is package broker's part.
package relay

import (
	"context"
	"encoding/binary"
	"math"

	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/web"
)

// TokenHeader carries the token of the runtime, which opens these routes only.
const TokenHeader = "x-app-runtime-token" //nolint:gosec // the name of a header, not a token

// The paths, and how large what is sent may be.
const (
	embedPath = "/api/internal/models/embed"
	chatPath  = "/api/internal/models/chat"
	maxBody   = 8 << 20
)

// Access is what the runtime is told of the service's models: part of its hello.
type Access struct {
	BaseURL string `json:"baseUrl"` // of the service
	Token   string `json:"token"`

	// Space names the vectors of the model for embeddings that the person has
	// chosen. Empty means that the built-in one is to be used.
	Space string `json:"space,omitempty"`
	// Chat says that there is a model to summarise with, and a budget for it.
	Chat bool `json:"chat,omitempty"`
}

// Models are the models that are lent.
type Models interface {
	Embed(ctx context.Context, space string, texts []string, purpose model.Purpose) ([][]float32, error)
	Chat(ctx context.Context, kind string, background bool, r model.Request, each func(string) error) (model.Reply, error)
}

type embedRequest struct {
	Space   string   `json:"space" minLength:"1" maxLength:"500"`
	Texts   []string `json:"texts" minItems:"1" maxItems:"256"`
	Purpose string   `json:"purpose" enum:"searching,storing"`
}

type embedAnswer struct {
	Vectors [][]byte `json:"vectors" doc:"Each the numbers of a vector as little-endian IEEE 754 singles"`
}

type chatRequest struct {
	Kind      string          `json:"kind" enum:"memory_summary,memory_evolution"`
	System    string          `json:"system,omitempty"`
	Messages  []model.Message `json:"messages" minItems:"1" maxItems:"1000"`
	MaxTokens int             `json:"maxTokens" minimum:"1" maximum:"100000"`
}

// Routes are the service's side. They are for the runtime alone.
func Routes(m Models, token string) []web.Route {
	s := side{m}
	runtime := web.Token{Header: TokenHeader, Secret: token}
	return []web.Route{
		web.Post(embedPath, "Vectors for the memory runtime", s.embed).MaxBody(maxBody).WithToken(runtime).Tag("internal"),
		web.Post(chatPath, "An answer of a model for the memory runtime", s.chat).MaxBody(maxBody).WithToken(runtime).Tag("internal"),
	}
}

type side struct{ models Models }

type body[T any] struct{ Body T }

func (s side) embed(ctx context.Context, in *body[embedRequest]) (*web.JSON[embedAnswer], error) {
	purpose := model.ForStoring
	if in.Body.Purpose == "searching" {
		purpose = model.ForSearching
	}
	vectors, err := s.models.Embed(ctx, in.Body.Space, in.Body.Texts, purpose)
	if err != nil {
		return nil, err
	}
	out := embedAnswer{}
	for _, v := range vectors {
		out.Vectors = append(out.Vectors, pack(v))
	}
	return web.Reply(out), nil
}

// chat is always in the background: the runtime asks for nobody.
func (s side) chat(ctx context.Context, in *body[chatRequest]) (*web.JSON[model.Reply], error) {
	r := model.Request{System: in.Body.System, Messages: in.Body.Messages, MaxTokens: in.Body.MaxTokens}
	reply, err := s.models.Chat(ctx, in.Body.Kind, true, r, nil)
	if err != nil {
		return nil, err
	}
	return web.Reply(reply), nil
}

const bytesPerNumber = 4

func pack(v []float32) []byte {
	data := make([]byte, 0, bytesPerNumber*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

func unpack(data []byte) ([]float32, bool) {
	if len(data)%bytesPerNumber != 0 {
		return nil, false
	}
	v := make([]float32, len(data)/bytesPerNumber)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[bytesPerNumber*i:]))
	}
	return v, true
}
