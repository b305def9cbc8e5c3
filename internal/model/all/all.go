// Package all lists the providers of models that are built in. It holds nothing
// else.
package all

import (
	"slices"

	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/model/anthropic"
	"ambry.dev/ambry/internal/model/google"
	"ambry.dev/ambry/internal/model/ollama"
	"ambry.dev/ambry/internal/model/openai"
)

// Providers returns every provider, in the order in which people see them.
func Providers() []model.Provider {
	return slices.Concat(
		openai.Providers(),
		[]model.Provider{
			anthropic.Provider(),
			google.Provider(),
			ollama.Provider(),
		},
	)
}
