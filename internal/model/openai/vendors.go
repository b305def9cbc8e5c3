package openai

import (
	"strings"

	"ambry.dev/ambry/internal/model"
)

// vendor is a provider with what is its own.
type vendor struct {
	id, name, base string
	local          bool

	newLimit  bool // it calls the limit of an answer max_completion_tokens
	minTokens int  // it refuses a smaller limit

	batch        int    // texts that it embeds at a time, 0 if it embeds none
	space        string // names its vectors
	ownEmbedding bool
}

// As the documentation of each provider says; see docs/models.md.
var vendors = []vendor{
	{id: "openai_compatible", name: "OpenAI-compatible", base: "http://localhost:8080/v1", batch: 32, space: "openai"},
	{id: "openai", name: "OpenAI", base: "https://api.openai.com/v1", newLimit: true, batch: 64, space: "openai"},
	{id: "deepseek", name: "DeepSeek", base: "https://api.deepseek.com"},
	{id: "zhipu", name: "Zhipu", base: "https://open.bigmodel.cn/api/paas/v4", batch: 64, space: "zhipu"},
	{id: "qwen", name: "Qwen", base: "https://dashscope.aliyuncs.com/compatible-mode/v1", batch: 10, space: "qwen"},
	{id: "kimi", name: "Kimi", base: "https://api.moonshot.cn/v1"},
	{id: "minimax", name: "MiniMax", base: "https://api.minimax.chat/v1", batch: 32, space: "minimax", ownEmbedding: true},
	{id: "baidu", name: "Baidu", base: "https://qianfan.baidubce.com/v2", minTokens: 2, batch: 16, space: "baidu"},
	{id: "doubao", name: "Doubao", base: "https://ark.cn-beijing.volces.com/api/v3", batch: 16, space: "doubao"},
	{id: "lmstudio", name: "LM Studio", base: "http://localhost:1234/v1", local: true, batch: 32, space: "lmstudio"},
}

// Providers returns those who speak this wire.
func Providers() []model.Provider {
	var all []model.Provider
	for _, v := range vendors {
		p := model.Provider{
			ID: v.id, Name: v.name, BaseURL: v.base, Local: v.local,
			NewChat: func(a model.Access) model.Chat { return chat{below(a), v} },
		}
		if v.batch > 0 {
			p.NewEmbedder = func(a model.Access) model.Embedder { return v.newEmbedder(below(a)) }
		}
		all = append(all, p)
	}
	return all
}

// below takes from the address what people copy with it from examples.
func below(a model.Access) model.Access {
	a.BaseURL = strings.TrimRight(a.BaseURL, "/")
	for _, end := range []string{chatPath, "/embeddings"} {
		a.BaseURL = strings.TrimSuffix(a.BaseURL, end)
	}
	return a
}
