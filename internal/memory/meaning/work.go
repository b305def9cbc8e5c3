package meaning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/model"
)

// Numbers of the background work.
const (
	batchTexts = 64
	loadBatch  = 2048
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Run embeds what is due until ctx ends. It makes way for an export.
func (m *Meaning) Run(ctx context.Context) {
	defer m.index.close()
	step, retry := m.prepare, firstRetry
	for ctx.Err() == nil {
		if m.outdated() {
			step = m.prepare
		}
		if m.makeWay(ctx) != nil {
			return
		}
		began := time.Now()
		n, err := step(ctx)
		rest := time.Since(began) // what else the machine does goes on meanwhile
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			rest, retry = max(retry, wanted(err)), min(2*retry, lastRetry)
			m.note(err, rest)
		default:
			m.note(nil, 0)
			step, retry = m.batch, firstRetry
			if n == 0 {
				select {
				case <-ctx.Done():
				case <-m.wake:
				}
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
}

// makeWay waits while something goes on that a person asked for, and gives back
// meanwhile what the embedder can do without.
func (m *Meaning) makeWay(ctx context.Context) error {
	if e, ok := m.embedder.(interface{ Rest() }); ok && m.store.Busy() {
		e.Rest()
	}
	return m.store.Calm(ctx)
}

// outdated reports, once, that the vectors have to be read again.
func (m *Meaning) outdated() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.stale
	m.stale = false
	return was
}

// wanted is how long an error asks to be left alone, at most an hour.
func wanted(err error) time.Duration {
	var e *ambry.Error
	if !errors.As(err, &e) {
		return 0
	}
	return min(time.Duration(e.RetryAfter)*time.Second, time.Hour)
}

// prepare makes room for vectors and reads those that are there.
func (m *Meaning) prepare(ctx context.Context) (int, error) {
	if err := m.store.UseSpace(ctx, m.stored()); err != nil {
		return 0, fmt.Errorf("prepare for vectors: %w", err)
	}
	return 1, m.load(ctx)
}

// note remembers how the last batch went.
func (m *Meaning) note(err error, rest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.failed, m.retryAt = "", time.Time{}
		return
	}
	if m.failed == "" {
		m.log.Warn("embed memories; it is tried again", "err", err)
	}
	m.failed, m.retryAt = "the embedding model does not answer", time.Now().Add(rest)
	if k := ambry.KindOf(err); k != ambry.Internal {
		m.failed = err.Error()
	}
}

// load reads the vectors that are on the disk, and sorts them as they come.
func (m *Meaning) load(ctx context.Context) error {
	for after := int64(0); ; {
		some, err := m.store.Vectors(ctx, after, loadBatch)
		if err != nil {
			return fmt.Errorf("load vectors: %w", err)
		}
		if len(some) == 0 {
			break
		}
		after = some[len(some)-1].Row
		for few := range slices.Chunk(some, atOnce) {
			m.mu.Lock()
			for _, p := range few {
				if !m.touched[p.Row] {
					m.put(p)
				}
			}
			m.mu.Unlock()
		}
		m.index.arrange(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.touched = nil
	return nil
}

// batch sorts memories, or embeds the next ones and returns how many.
func (m *Meaning) batch(ctx context.Context) (int, error) {
	if m.index.arrange(ctx) {
		return 1, nil
	}
	due, err := m.store.DueVectors(ctx, batchTexts)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	texts := make([]string, len(due))
	for i, t := range due {
		texts[i] = passage(t)
	}
	vectors, err := m.embed(ctx, texts)
	if err != nil {
		return 0, err
	}
	out := make([]store.EmbeddedText, len(due))
	for i, t := range due {
		v := store.NewVector(vectors[i])
		v.Script = store.ScriptOf(texts[i])
		out[i] = store.EmbeddedText{Row: t.Row, Version: t.Version, Vector: v}
	}
	m.setStoring(len(out))
	defer m.setStoring(0)
	return len(due), m.store.PutVectors(ctx, m.stored(), out)
}

func (m *Meaning) setStoring(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.storing = int64(n)
}

// embed has texts embedded. When the model refuses them, it is asked one by one,
// and what it refuses alone says nothing to it.
func (m *Meaning) embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := m.embedder.Embed(ctx, texts, model.ForStoring)
	if err == nil && len(vectors) != len(texts) {
		return nil, ambry.UpstreamFailed.Errorf("the embedding model answered %d of %d texts", len(vectors), len(texts))
	}
	if !refused(err) {
		return vectors, err
	}
	vectors = make([][]float32, len(texts))
	good := 0
	for i, text := range texts {
		one, err := m.embedder.Embed(ctx, []string{text}, model.ForStoring)
		switch {
		case err == nil && len(one) == 1:
			vectors[i] = one[0]
			good++
		case refused(err):
		default:
			return nil, err
		}
	}
	dims := m.embedder.Dims()
	if good == 0 || dims == 0 {
		return nil, err // it refuses everything; that is no fault of the texts
	}
	for i := range vectors {
		if vectors[i] == nil {
			vectors[i] = make([]float32, dims)
		}
	}
	return vectors, nil
}

// refused reports whether an error says that the texts are at fault.
func refused(err error) bool {
	k := ambry.KindOf(err)
	return err != nil && (k == ambry.InvalidArgument || k == ambry.PayloadTooLarge)
}

// Bytes of a memory that are embedded: what it is about stands at the beginning.
const (
	maxRequest = 1500
	maxReply   = 1500
)

// passage is the text of a memory that is embedded: what was asked and what was
// answered, without the outputs of tools.
func passage(t store.Text) string {
	if len(t.Said) == 0 {
		return strings.TrimSpace(t.Title + "\n" + clip(t.Body, maxRequest+maxReply))
	}
	var request, reply strings.Builder
	for _, s := range t.Said {
		out, limit := &reply, maxReply
		if s.Role == ambry.User {
			out, limit = &request, maxRequest
		}
		if left := limit - out.Len(); left > 0 && s.Text != "" {
			out.WriteString(clip(s.Text, left))
			out.WriteByte('\n')
		}
	}
	if text := strings.TrimSpace(request.String() + reply.String()); text != "" {
		return text
	}
	return t.Title
}

// clip returns the beginning of text, on whole characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
