package model

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
)

// EmbedBatch returns a vector for each of some texts, in their order, as the
// provider gives them.
type EmbedBatch func(ctx context.Context, texts []string, p Purpose) ([][]float32, error)

// batched is an [Embedder] over a call that takes so many texts at a time.
type batched struct {
	space string
	size  int
	call  EmbedBatch
	dims  atomic.Int64
}

// NewEmbedder makes an embedder of a call that takes at most size texts. It sees
// to what the contract of [Embedder] promises.
func NewEmbedder(space string, size int, call EmbedBatch) Embedder {
	return &batched{space: space, size: size, call: call}
}

// Space names the model.
func (b *batched) Space() string { return b.space }

// Dims is how many numbers a vector has, once that is known.
func (b *batched) Dims() int { return int(b.dims.Load()) }

// Embed returns a vector for each text.
func (b *batched) Embed(ctx context.Context, texts []string, p Purpose) ([][]float32, error) {
	all := make([][]float32, 0, len(texts))
	for some := range slices.Chunk(texts, b.size) {
		vectors, err := b.call(ctx, some, p)
		if err != nil {
			return nil, err
		}
		if len(vectors) != len(some) {
			return nil, &Failure{Reason: NotAModel}
		}
		for _, v := range vectors {
			if !b.fits(v) {
				return nil, &Failure{Reason: NotAModel}
			}
			Normalize(v)
			all = append(all, v)
		}
	}
	return all, nil
}

// MaxDims is how many numbers a vector may have.
const MaxDims = 16384

// fits reports whether a vector is as long as the ones before, and of numbers.
func (b *batched) fits(v []float32) bool {
	if len(v) == 0 || len(v) > MaxDims {
		return false
	}
	b.dims.CompareAndSwap(0, int64(len(v)))
	return b.dims.Load() == int64(len(v)) && !slices.ContainsFunc(v, func(x float32) bool {
		return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0)
	})
}

// Normalize gives a vector the length 1, unless it has none.
func Normalize(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
}
