// Package static is the embedding that is built in: each known word has a vector,
// and a text is the sum of its words. It knows English, Chinese, Japanese, German
// and words of code, in one space, so that a question finds what was said in
// another language. It needs no network and no more than a table; what it does
// not know is the order of words. The table is made by scripts/embedding.
package static

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"ambry.dev/ambry/internal/model"
)

//go:embed words.bin
var table string

// digest is the beginning of the SHA-256 of the table. It is written down, since
// reading the whole table at each start would take its room in memory.
const digest = "6b1d186c554f"

// Embedder is the built-in model.
type Embedder struct {
	vocabulary *vocabulary
	space      string
}

var _ model.Embedder = (*Embedder)(nil)

// vocabulary is a table of words; its strings and codes stay where they are.
type vocabulary struct {
	dims   int
	words  wordList
	scales []float32
	codes  string // signed bytes, dims a row
}

// load reads the table once.
var load = sync.OnceValues(func() (*Embedder, error) {
	v, err := parse(table)
	if err != nil {
		return nil, fmt.Errorf("the table of words: %w", err)
	}
	return &Embedder{vocabulary: v, space: "static-" + digest}, nil
})

// New returns the built-in model.
func New() (*Embedder, error) { return load() }

// magic begins a table.
const magic = "AMBRYEMB"

// parse reads a table: magic; how many words, how many numbers a word, how many
// bytes of words (uint32 each); the words, with a line feed between them; a
// factor for each (float32); the numbers (int8). Everything is little endian.
func parse(data string) (*vocabulary, error) {
	const head = len(magic) + 12
	if len(data) < head || data[:len(magic)] != magic {
		return nil, fmt.Errorf("it does not begin as one")
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint32([]byte(data[at : at+4]))) }
	n, dims, bytes := number(len(magic)), number(len(magic)+4), number(len(magic)+8)
	if n < 0 || dims <= 0 || bytes < 0 || dims > 1<<16 || head+bytes+4*n+n*dims != len(data) {
		return nil, fmt.Errorf("it has %d bytes, which is not what %d words of %d numbers need", len(data), n, dims)
	}
	v := &vocabulary{dims: dims, scales: make([]float32, n), codes: data[head+bytes+4*n:]}
	var ok bool
	if v.words, ok = newWordList(data[head:head+bytes], n); !ok {
		return nil, fmt.Errorf("it does not name %d words", n)
	}
	for i := range v.scales {
		v.scales[i] = math.Float32frombits(uint32(number(head + bytes + 4*i)))
	}
	return v, nil
}

// Space names the table by its digest.
func (e *Embedder) Space() string { return e.space }

// Dims is how many numbers a vector has.
func (e *Embedder) Dims() int { return e.vocabulary.dims }

// Rest gives back the memory that the table takes. It comes again, from the file
// of the program, with the words that are looked up next.
func (*Embedder) Rest() { rest(table) }

// Embed returns a vector for each text. It does not look at the purpose, and
// fails only when ctx ends.
func (e *Embedder) Embed(ctx context.Context, texts []string, _ model.Purpose) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = e.vocabulary.sum(text)
	}
	return out, nil
}

// sum adds up the words of a text, and makes the sum one long.
func (v *vocabulary) sum(text string) []float32 {
	out := make([]float32, v.dims)
	n := 0
	v.cut(text, func(row int, share float32) bool {
		factor := share * v.scales[row]
		codes := v.codes[row*v.dims : (row+1)*v.dims]
		for i := range out {
			out[i] += factor * float32(int8(codes[i]))
		}
		n++
		return n < maxWords
	})
	length := 0.0
	for _, x := range out {
		length += float64(x) * float64(x)
	}
	if length == 0 {
		return out
	}
	r := float32(1 / math.Sqrt(length))
	for i := range out {
		out[i] *= r
	}
	return out
}
