package meaning

import (
	"container/list"
	"context"
	"sync"
	"time"

	"ambry.dev/ambry/internal/model"
)

// Numbers of questions to a model that is elsewhere.
const (
	maxQuestions  = 256 // that are remembered
	questionWait  = 250 * time.Millisecond
	questionLimit = 30 * time.Second // for an answer that nobody waits for any more
)

// question returns the vector of what is asked, nil if there is none in time. An
// answer that comes late is there for the next time.
func (m *Meaning) question(ctx context.Context, text string) []float32 {
	if !m.slow {
		return m.embedQuestion(ctx, text)
	}
	q, fresh := m.asked.get(text)
	if fresh {
		if m.resting() {
			m.asked.drop(q)
			return nil
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionLimit)
			defer cancel()
			if q.vector = m.embedQuestion(ctx, text); q.vector == nil {
				m.asked.drop(q)
			}
			close(q.done)
		}()
	}
	timer := time.NewTimer(questionWait)
	defer timer.Stop()
	select {
	case <-q.done:
		return q.vector
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

func (m *Meaning) embedQuestion(ctx context.Context, text string) []float32 {
	all, err := m.embedder.Embed(ctx, []string{text}, model.ForSearching)
	if err != nil || len(all) != 1 {
		if ctx.Err() == nil {
			m.log.Warn("embed a question", "err", err)
		}
		return nil
	}
	for _, x := range all[0] {
		if x != 0 {
			return all[0]
		}
	}
	return nil
}

// resting reports whether the model failed lately and is left alone.
func (m *Meaning) resting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.retryAt)
}

// questions remembers the latest questions with their vectors. The zero value is
// ready.
type questions struct {
	mu     sync.Mutex // guards the rest
	known  map[string]*list.Element
	recent *list.List // of *asked, the last one at the front
}

type asked struct {
	text   string
	done   chan struct{} // closed once vector is set
	vector []float32
}

// get returns the question with a text; fresh says that nobody asked it before.
func (qs *questions) get(text string) (q *asked, fresh bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.known == nil {
		qs.known, qs.recent = map[string]*list.Element{}, list.New()
	}
	if e := qs.known[text]; e != nil {
		qs.recent.MoveToFront(e)
		return e.Value.(*asked), false
	}
	q = &asked{text: text, done: make(chan struct{})}
	qs.known[text] = qs.recent.PushFront(q)
	if qs.recent.Len() > maxQuestions {
		delete(qs.known, qs.recent.Remove(qs.recent.Back()).(*asked).text)
	}
	return q, true
}

// drop forgets a question that got no answer.
func (qs *questions) drop(q *asked) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if e := qs.known[q.text]; e != nil && e.Value == q {
		qs.recent.Remove(e)
		delete(qs.known, q.text)
	}
}
