// Package model is the contract of the language models that a person may let
// Ambry use: a [Provider] offers a [Chat], which answers in words, and an
// [Embedder], which turns texts into vectors. It has what calls of all of them
// share: limits, retries, streams, and which addresses may be called. Who
// offers models is in the folders below. It is not for what is done with the
// answers, nor for who may spend how much, which is package broker's part.
package model

import "context"

// Purpose says what a text is embedded for; some models treat the two apart.
type Purpose int

// The purposes.
const (
	ForSearching Purpose = iota // what is asked
	ForStoring                  // what is searched
)

// Embedder turns texts into vectors of one length, such that texts of like
// meaning lie close by their cosine. It may be used by several goroutines.
type Embedder interface {
	// Space names the model, its version and its settings: vectors of different
	// spaces must not be compared.
	Space() string
	// Dims is how many numbers a vector has; 0 until the first answer has told.
	Dims() int
	// Embed returns a vector of length 1 for each text, in their order. A text
	// that says nothing to the model gets a vector of zeros.
	Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error)
}
