package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/model/modeltest"
	"ambry.dev/ambry/internal/model/openai"
)

func TestConformance(t *testing.T) {
	for _, p := range openai.Providers() {
		t.Run(p.ID, func(t *testing.T) { modeltest.Run(t, p, filepath.Join("testdata", p.ID+".txtar")) })
	}
}

func provider(t *testing.T, id string) model.Provider {
	t.Helper()
	for _, p := range openai.Providers() {
		if p.ID == id {
			return p
		}
	}
	t.Fatalf("no provider %s", id)
	return model.Provider{}
}

// A field that a model or server does not know by its name is sent otherwise.
func TestRequestsAreAdapted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in map[string]any
		_ = json.Unmarshal(body, &in)
		w.Header().Set("Content-Type", "application/json")
		for name, complaint := range map[string]string{
			"max_tokens":     "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
			"stream_options": "unknown field stream_options",
		} {
			if in[name] != nil && strings.Contains(r.URL.Path, name) {
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": complaint}})
				return
			}
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()
	for _, path := range []string{"max_tokens", "stream_options"} {
		a := model.Access{BaseURL: server.URL + "/" + path + "/chat/completions", Model: "m", HTTP: server.Client()}
		c := provider(t, "openai_compatible").NewChat(a)
		r := model.Request{Messages: []model.Message{{Role: model.User, Text: "?"}}, MaxTokens: 5}
		got, err := c.Chat(t.Context(), r, func(string) error { return nil })
		if err != nil || got.Text != "yes" {
			t.Errorf("%s: got %+v, %v", path, got, err)
		}
	}
}

func TestMiniMaxTellsQuestionsFromTexts(t *testing.T) {
	var kind string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Type string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		kind = in.Type
		_, _ = io.WriteString(w, `{"vectors":[[1,0]]}`)
	}))
	defer server.Close()
	e := provider(t, "minimax").NewEmbedder(model.Access{BaseURL: server.URL, Model: "embo-01", HTTP: server.Client()})
	for purpose, want := range map[model.Purpose]string{model.ForSearching: "query", model.ForStoring: "db"} {
		if _, err := e.Embed(t.Context(), []string{"x"}, purpose); err != nil || kind != want {
			t.Errorf("got %s, %v; want %s", kind, err, want)
		}
	}
}

// Many texts are sent in parts that the provider takes, and come back in order.
func TestManyTextsAreSentInParts(t *testing.T) {
	parts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		parts++
		type item struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var data []item
		for i, text := range in.Input {
			data = append(data, item{i, []float32{float32(len(text)), 1}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	defer server.Close()
	var texts []string
	for i := range 25 {
		texts = append(texts, strings.Repeat("x", i))
	}
	got, err := provider(t, "qwen").NewEmbedder(model.Access{BaseURL: server.URL, Model: "m", HTTP: server.Client()}).Embed(t.Context(), texts, model.ForStoring)
	if err != nil || len(got) != 25 || parts != 3 {
		t.Fatalf("got %d vectors in %d parts, %v", len(got), parts, err)
	}
	for i, v := range got {
		if ratio := v[0] / v[1]; ratio < float32(i)-0.01 || ratio > float32(i)+0.01 {
			t.Errorf("vector %d is %v", i, v)
		}
	}
}
