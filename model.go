package ambry

import (
	"encoding/json"
	"time"
)

// ModelRef is a model that a person has chosen, as it is kept. Key is not a key
// but the name of one: what package secret keeps, or a reference such as
// env:NAME; empty means none.
type ModelRef struct {
	Provider string `json:"provider"`
	BaseURL  string `json:"baseUrl"`
	ModelID  string `json:"modelId"`
	Key      string `json:"key,omitempty"`
}

// ModelSetup is the models that a person has chosen. What is nil follows the
// rest: no model of one's own for embeddings means the built-in one, and
// Summary and Evolution are then the main model.
type ModelSetup struct {
	Main      ModelRef   `json:"main"`
	Embedding *ModelRef  `json:"embedding,omitempty"`
	Summary   *ModelRef  `json:"summary,omitempty"`
	Evolution *ModelRef  `json:"evolution,omitempty"`
	UpdatedAt *time.Time `json:"updatedAt,omitempty"`
}

// DefaultModelSetup returns the setup of a new home: no model.
func DefaultModelSetup() ModelSetup {
	return ModelSetup{Main: ModelRef{Provider: "openai_compatible", BaseURL: "https://api.openai.com/v1"}}
}

// ModelView is a chosen model as it is shown. A stored key never leaves.
type ModelView struct {
	Provider     string `json:"provider"`
	BaseURL      string `json:"baseUrl"`
	ModelID      string `json:"modelId"`
	HasAPIKey    bool   `json:"hasApiKey"`
	APIKeyMasked string `json:"apiKeyMasked" doc:"The ends of the key, or the reference to it as it was given"`
	APIKey       string `json:"apiKey" doc:"Always empty"`
}

// EmbeddingView is the model that turns texts into vectors.
type EmbeddingView struct {
	Mode         string  `json:"mode" enum:"local,custom" doc:"local is built in and calls nobody"`
	Provider     *string `json:"provider"`
	BaseURL      *string `json:"baseUrl"`
	ModelID      *string `json:"modelId"`
	HasAPIKey    bool    `json:"hasApiKey"`
	APIKeyMasked string  `json:"apiKeyMasked"`
	APIKey       string  `json:"apiKey" doc:"Always empty"`
}

// MemoryModels are the models that work on the memory in the background.
type MemoryModels struct {
	Summary   ModelView `json:"summary"`
	Evolution ModelView `json:"evolution"`
}

// ModelConfig is the chosen models as they are shown.
type ModelConfig struct {
	ModelView
	Embedding EmbeddingView `json:"embedding"`
	Memory    MemoryModels  `json:"memory"`
	UpdatedAt *time.Time    `json:"updatedAt"`
}

// ModelInput is a model to choose.
type ModelInput struct {
	Provider string          `json:"provider" enum:"openai_compatible,openai,anthropic,google,deepseek,zhipu,qwen,kimi,minimax,baidu,doubao,ollama,lmstudio"`
	BaseURL  string          `json:"baseUrl" minLength:"1" maxLength:"2048" doc:"Scheme, host, port and path, as the provider documents it"`
	ModelID  string          `json:"modelId" minLength:"1" maxLength:"256"`
	APIKey   json.RawMessage `json:"apiKey,omitempty" doc:"A key as text, or a reference to one: env:NAME (a variable that ends in _API_KEY), keychain:ID. Absent or empty keeps what is stored, if scheme, host and port stay the same; null clears it."`
}

// EmbeddingInput chooses the model for embeddings.
type EmbeddingInput struct {
	Mode     string          `json:"mode" enum:"local,custom"`
	Provider string          `json:"provider,omitempty" enum:"openai_compatible,openai,google,zhipu,qwen,minimax,baidu,doubao,ollama,lmstudio" doc:"openai_compatible if absent"`
	BaseURL  string          `json:"baseUrl,omitempty" maxLength:"2048"`
	ModelID  string          `json:"modelId,omitempty" maxLength:"256"`
	APIKey   json.RawMessage `json:"apiKey,omitempty" doc:"As above"`
}

// MemoryModelsInput chooses the models that work on the memory.
type MemoryModelsInput struct {
	Summary   *ModelInput `json:"summary,omitempty" doc:"The main model if absent"`
	Evolution *ModelInput `json:"evolution,omitempty" doc:"The main model if absent"`
}

// ModelConfigInput replaces the chosen models, all but the keys that are not
// given.
type ModelConfigInput struct {
	ModelInput
	Embedding *EmbeddingInput    `json:"embedding,omitempty" doc:"local if absent"`
	Memory    *MemoryModelsInput `json:"memory,omitempty" doc:"The main model if absent"`
}

// ModelTest asks whether a model can be used as given. Nothing is kept.
type ModelTest struct {
	ModelInput
	Capability   string `json:"capability,omitempty" enum:"chat,embedding" doc:"chat if absent"`
	SecretTarget string `json:"secretTarget,omitempty" enum:"primary,memory,skill,embedding" doc:"Whose stored key to use if none is given; it goes only to the address that it was stored with"`
}

// ModelTested is how a test ended.
type ModelTested struct {
	OK         bool      `json:"ok"`
	Message    string    `json:"message"`
	LatencyMs  int64     `json:"latencyMs"`
	Model      string    `json:"model,omitempty" doc:"As the provider calls it"`
	Dimensions int       `json:"dimensions,omitempty" doc:"Of the vectors"`
	CheckedAt  time.Time `json:"checkedAt"`
}

// The kinds of calls of models.
const (
	UsageChat      = "agent_chat"
	UsageSummary   = "memory_summary"
	UsageEvolution = "memory_evolution"
	UsageEmbedding = "embedding"
)

// UsageEvent is a call of a model with what it has used.
type UsageEvent struct {
	ID                       string         `json:"id" minLength:"1" maxLength:"200"`
	Kind                     string         `json:"kind" enum:"agent_chat,memory_summary,memory_evolution,embedding"`
	Source                   string         `json:"source" enum:"agent,memory"`
	OperationID              string         `json:"operationId" minLength:"1" maxLength:"200" doc:"The same kind, source and operation is counted once; the last report holds"`
	Model                    string         `json:"model,omitempty" maxLength:"256"`
	InputTokens              int64          `json:"inputTokens" minimum:"0" maximum:"9007199254740992"`
	OutputTokens             int64          `json:"outputTokens" minimum:"0" maximum:"9007199254740992"`
	TotalTokens              int64          `json:"totalTokens" minimum:"0" maximum:"9007199254740992"`
	CachedInputTokens        int64          `json:"cachedInputTokens,omitempty" minimum:"0" maximum:"9007199254740992"`
	CacheCreationInputTokens int64          `json:"cacheCreationInputTokens,omitempty" minimum:"0" maximum:"9007199254740992"`
	Metadata                 map[string]any `json:"metadata,omitempty" doc:"Not kept"`
	RawUsage                 map[string]any `json:"rawUsage,omitempty" doc:"Not kept"`
	CreatedAt                time.Time      `json:"createdAt"`

	Background bool  `json:"-"` // it counts against the budget
	Micros     int64 `json:"-"` // what it cost, in millionths
}

// UsageTotals is what calls have used.
type UsageTotals struct {
	Calls                    int64 `json:"calls"`
	InputTokens              int64 `json:"inputTokens"`
	OutputTokens             int64 `json:"outputTokens"`
	TotalTokens              int64 `json:"totalTokens"`
	CachedInputTokens        int64 `json:"cachedInputTokens"`
	CacheCreationInputTokens int64 `json:"cacheCreationInputTokens"`
	CostMicros               int64 `json:"costMicros" doc:"By the prices in the settings, in millionths"`
}

// UsageOfKind is what the calls of a kind have used.
type UsageOfKind struct {
	Kind string `json:"kind" enum:"agent_chat,memory_summary,memory_evolution,embedding"`
	UsageTotals
}

// UsageOverview is what calls have used since the beginning, and today's budget.
type UsageOverview struct {
	UsageTotals
	ByKind    []UsageOfKind `json:"byKind"`
	Budget    BudgetView    `json:"budget"`
	UpdatedAt *time.Time    `json:"updatedAt"`
}

// Budget is what calls in the background may use in a day. Nothing is allowed
// unless Allowed says so.
type Budget struct {
	Allowed bool
	Calls   int64
	Tokens  int64
	Micros  int64 // 0 means that money is not limited
}

// BudgetView is a budget with what was used of it today.
type BudgetView struct {
	Background       bool      `json:"background" doc:"Whether there are calls in the background at all (model.background)"`
	CallsPerDay      int64     `json:"callsPerDay"`
	CallsToday       int64     `json:"callsToday"`
	TokensPerDay     int64     `json:"tokensPerDay"`
	TokensToday      int64     `json:"tokensToday"`
	CostPerDayMicros int64     `json:"costPerDayMicros" doc:"0 means that money is not limited"`
	CostTodayMicros  int64     `json:"costTodayMicros"`
	ResetsAt         time.Time `json:"resetsAt"`
}
