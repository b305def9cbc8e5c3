package main

import (
	"strings"
	"testing"

	"ambry.dev/ambry"
)

var chosenModel = ambry.ModelConfig{
	ModelView: ambry.ModelView{Provider: "openai", BaseURL: "https://api.openai.com/v1", ModelID: "gpt-5-mini", HasAPIKey: true, APIKeyMasked: "sk-p••••wxyz"},
	Embedding: ambry.EmbeddingView{Mode: "local"},
	Memory: ambry.MemoryModels{
		Summary:   ambry.ModelView{Provider: "ollama", BaseURL: "http://localhost:11434", ModelID: "qwen3:8b"},
		Evolution: ambry.ModelView{Provider: "openai", BaseURL: "https://api.openai.com/v1", ModelID: "gpt-5-mini"},
	},
}

const configRoute = "PUT /api/app/model-config"

func modelService(t *testing.T) *service {
	return fakeService(t, map[string]any{
		"GET /api/app/model-config":             chosenModel,
		configRoute:                             chosenModel,
		"GET /api/app/byok-token-usage/summary": ambry.UsageOverview{UsageTotals: ambry.UsageTotals{Calls: 3, TotalTokens: 1234}},
		"POST /api/app/model-config/test":       ambry.ModelTested{OK: true, LatencyMs: 12},
	})
}

func TestModelShow(t *testing.T) {
	s := modelService(t)
	ambryIn(t, s.home, "model", "show").check(t, 0, "model  gpt-5-mini of openai", "key sk-p••••wxyz", "summary  qwen3:8b of ollama", "embedding  built in", "3 calls, 1,234 tokens", "background never")
	ambryIn(t, s.home, "model", "show", "--json").check(t, 0, `"modelId": "gpt-5-mini"`, `"totalTokens": 1234`)
}

// What is sent is what was asked for and what there was, and no key that is not
// given.
func TestModelSet(t *testing.T) {
	const rest = `"memory":{"summary":{"provider":"ollama","baseUrl":"http://localhost:11434","modelId":"qwen3:8b"}}}`
	for _, tt := range []struct{ args, in, want string }{
		{"--model gpt-5", "", `{"provider":"openai","baseUrl":"https://api.openai.com/v1","modelId":"gpt-5",` + rest},
		{"--provider ollama --model m", "", `{"provider":"ollama","baseUrl":"http://localhost:11434","modelId":"m",` + rest},
		{"--url https://x.example/v1", "", `{"provider":"openai","baseUrl":"https://x.example/v1","modelId":"gpt-5-mini",` + rest},
		{"--key -", " piped\n", `{"provider":"openai","baseUrl":"https://api.openai.com/v1","modelId":"gpt-5-mini","apiKey":"piped",` + rest},
		{"--key env:X_API_KEY", "", `{"provider":"openai","baseUrl":"https://api.openai.com/v1","modelId":"gpt-5-mini","apiKey":"env:X_API_KEY",` + rest},
		{"--key none", "", `{"provider":"openai","baseUrl":"https://api.openai.com/v1","modelId":"gpt-5-mini","apiKey":null,` + rest},
		{
			"--embedding --provider ollama --model bge-m3", "",
			`{"provider":"openai","baseUrl":"https://api.openai.com/v1","modelId":"gpt-5-mini","embedding":{"mode":"custom","provider":"ollama","baseUrl":"http://localhost:11434","modelId":"bge-m3"},` + rest,
		},
		{"--embedding --local", "", `{"provider":"openai","baseUrl":"https://api.openai.com/v1","modelId":"gpt-5-mini",` + rest},
	} {
		s := modelService(t)
		args := append([]string{"model", "set", "--home", s.home}, strings.Fields(tt.args)...)
		ambryWith(t.Context(), t, tt.in, args...).check(t, 0, "model  gpt-5-mini")
		if got := s.sent(configRoute); len(got) != 1 || got[0] != configRoute+" "+tt.want {
			t.Errorf("%s sends\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}

func TestModelSetRefuses(t *testing.T) {
	for _, args := range []string{"--key sk-in-the-open", "--key -", "--local"} {
		s := modelService(t)
		got := ambryWith(t.Context(), t, "", append([]string{"model", "set", "--home", s.home}, strings.Fields(args)...)...)
		got.check(t, exitUsage)
		if strings.Contains(got.err, "sk-in-the-open") || len(s.sent(configRoute)) != 0 {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestModelTest(t *testing.T) {
	s := modelService(t)
	const route = "POST /api/app/model-config/test"
	ambryIn(t, s.home, "model", "test").check(t, 0, "gpt-5-mini answers, after 12 ms")
	ambryIn(t, s.home, "model", "test", "--embedding").check(t, 0, "calls nobody")
	if got := s.sent(route); len(got) != 1 || strings.Contains(got[0], "apiKey") {
		t.Errorf("sent is %q", got)
	}
	s.answers[route] = ambry.ModelTested{Message: "the key is refused (HTTP 401)"}
	ambryIn(t, s.home, "model", "test").check(t, 1, "does not answer: the key is refused")
	ambryIn(t, s.home, "model", "test", "--json").check(t, 1, `"ok": false`)
	s.answers["GET /api/app/model-config"] = ambry.ModelConfig{Embedding: ambry.EmbeddingView{Mode: "local"}}
	ambryIn(t, s.home, "model", "test").check(t, 1, "no model is chosen", "ambry model set")
	ambryIn(t, s.home, "model", "show").check(t, 0, "No model is chosen")
}
