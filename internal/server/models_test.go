package server_test

import (
	"context"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// models is a [server.Models] that keeps what it is asked.
type models struct {
	set      ambry.ModelConfigInput
	test     ambry.ModelTest
	reported ambry.UsageEvent
	calls    int
	err      error
}

func (m *models) ModelConfig(context.Context) (ambry.ModelConfig, error) {
	return ambry.ModelConfig{ModelView: ambry.ModelView{Provider: "ollama"}, Embedding: ambry.EmbeddingView{Mode: "local"}}, m.err
}

func (m *models) SetModelConfig(ctx context.Context, in ambry.ModelConfigInput) (ambry.ModelConfig, error) {
	m.set, m.calls = in, m.calls+1
	return m.ModelConfig(ctx)
}

func (m *models) TestModel(_ context.Context, in ambry.ModelTest) (ambry.ModelTested, error) {
	m.test, m.calls = in, m.calls+1
	return ambry.ModelTested{Message: "nobody answers at this address"}, m.err
}

func (m *models) TokenUsage(context.Context) (ambry.TokenUsage, error) {
	return ambry.TokenUsage{PlanName: "byok", UsedTokens: 42}, m.err
}

func (m *models) UsageSummary(context.Context) (ambry.UsageOverview, error) {
	return ambry.UsageOverview{ByKind: []ambry.UsageOfKind{}}, m.err
}

func (m *models) RecordUsage(_ context.Context, u ambry.UsageEvent) error {
	m.reported, m.calls = u, m.calls+1
	return m.err
}

func TestModelConfigIsShownAsPeersDo(t *testing.T) {
	a := serve(t)
	status, out := a.ask("GET", "/api/app/model-config", "")
	if status != 200 || out["provider"] != "ollama" || out["hasApiKey"] != false || out["apiKey"] != "" {
		t.Errorf("got %d %v", status, out)
	}
	embedding, _ := out["embedding"].(map[string]any)
	if embedding["mode"] != "local" || embedding["baseUrl"] != nil || embedding["apiKeyMasked"] != "" {
		t.Errorf("the embedding is %v", embedding)
	}
	if _, ok := out["memory"].(map[string]any)["summary"]; !ok {
		t.Errorf("the memory's models are %v", out["memory"])
	}
}

const (
	goodModel = `"provider":"deepseek","baseUrl":"https://api.deepseek.com","modelId":"m"`
	goodUsage = `"id":"1","kind":"agent_chat","source":"agent","operationId":"o","inputTokens":1,"outputTokens":2,"totalTokens":3,"createdAt":"2026-05-01T10:00:00Z"`
)

// A key that is left out, empty, null or given are four things.
func TestKeysArriveAsTheyWereSent(t *testing.T) {
	for sent, want := range map[string]string{``: "", `,"apiKey":null`: "null", `,"apiKey":""`: `""`, `,"apiKey":"env:X_API_KEY"`: `"env:X_API_KEY"`} {
		a := serve(t)
		if status, out := a.ask("PUT", "/api/app/model-config", "{"+goodModel+sent+"}"); status != 200 {
			t.Errorf("%s: got %d %v", sent, status, out)
		}
		if got := string(a.models.set.APIKey); got != want {
			t.Errorf("%s arrives as %q, want %q", sent, got, want)
		}
	}
}

func TestModelsTakeWhatIsDescribedOnly(t *testing.T) {
	for _, tt := range []struct{ method, path, body string }{
		{"PUT", "/api/app/model-config", `{}`},
		{"PUT", "/api/app/model-config", `{` + goodModel + `,"colour":"red"}`},
		{"PUT", "/api/app/model-config", `{` + goodModel + `,"embedding":{"mode":"elsewhere"}}`},
		{"PUT", "/api/app/model-config", `{` + strings.Replace(goodModel, "deepseek", "somebody", 1) + `}`},
		{"PUT", "/api/app/model-config", `{` + goodModel + `,"memory":{"summary":{"provider":"ollama"}}}`},
		{"POST", "/api/app/model-config/test", `{` + goodModel + `,"capability":"image"}`},
		{"POST", "/api/app/model-config/test", `{` + goodModel + `,"secretTarget":"asr"}`},
		{"POST", "/api/app/model-config/test", ``},
		{"POST", "/api/app/byok-token-usage/events", `{}`},
		{"POST", "/api/app/byok-token-usage/events", `{` + strings.Replace(goodUsage, `"inputTokens":1`, `"inputTokens":-1`, 1) + `}`},
		{"POST", "/api/app/byok-token-usage/events", `{` + strings.Replace(goodUsage, `"inputTokens":1`, `"inputTokens":1e300`, 1) + `}`},
		{"POST", "/api/app/byok-token-usage/events", `{` + strings.Replace(goodUsage, `agent_chat`, `gift`, 1) + `}`},
	} {
		a := serve(t)
		if status, out := a.ask(tt.method, tt.path, tt.body); status != 400 || code(out) != "invalid_argument" || a.models.calls != 0 {
			t.Errorf("%s %s %s: got %d %v", tt.method, tt.path, tt.body, status, out)
		}
	}
}

func TestModelRoutesAnswer(t *testing.T) {
	a := serve(t)
	if status, out := a.ask("POST", "/api/app/model-config/test", "{"+goodModel+`,"capability":"chat","secretTarget":"primary"}`); status != 200 || out["ok"] != false || out["message"] == "" {
		t.Errorf("test: got %d %v", status, out)
	}
	if status, out := a.ask("POST", "/api/app/byok-token-usage/events", "{"+goodUsage+`,"metadata":{"a":[1]},"rawUsage":{}}`); status != 200 || out["ok"] != true || a.models.reported.TotalTokens != 3 {
		t.Errorf("events: got %d %v", status, out)
	}
	if status, out := a.ask("GET", "/api/app/token-usage", ""); status != 200 || out["usedTokens"] != 42.0 {
		t.Errorf("token-usage: got %d %v", status, out)
	}
	if status, out := a.ask("GET", "/api/app/byok-token-usage/summary", ""); status != 200 || out["byKind"] == nil {
		t.Errorf("summary: got %d %v", status, out)
	}
	_, boot := a.ask("GET", "/api/app/bootstrap", "")
	if usage, _ := boot["tokenUsage"].(map[string]any); usage["usedTokens"] != 42.0 {
		t.Errorf("bootstrap shows %v", usage)
	}
}
