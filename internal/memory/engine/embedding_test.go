package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/meaning"
	"ambry.dev/ambry/internal/memory/static"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/redact"
)

// withModel runs f with an engine that embeds, on a clock of its own.
func withModel(t *testing.T, by model.Embedder, f func(t *testing.T, e *engine.Engine)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "memory.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), store.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		m := meaning.New(meaning.Config{Store: s, Embedder: by})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx) }()
		defer func() {
			cancel()
			<-done
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(t, engine.New(engine.Config{Store: s, Meaning: m}))
	})
}

func remember(t *testing.T, e *engine.Engine, text string) string {
	t.Helper()
	m, err := e.Add(t.Context(), redact.CleanNote(ambry.Note{Content: text, Project: "/work/shop"}), "")
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// rest lets the work in the background go on.
func rest() {
	time.Sleep(10 * time.Minute)
	synctest.Wait()
}

func first(t *testing.T, e *engine.Engine, q ambry.Query) string {
	t.Helper()
	a, err := e.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Hits) == 0 {
		return ""
	}
	return a.Hits[0].ID
}

func builtIn(t *testing.T) model.Embedder {
	t.Helper()
	e, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAQuestionInAnotherLanguageFindsItsAnswer(t *testing.T) {
	withModel(t, builtIn(t), func(t *testing.T, e *engine.Engine) {
		remember(t, e, "the checkout page times out because the payment provider is slow")
		login := remember(t, e, "登录失败，因为密码里有特殊字符")
		migration := remember(t, e, "die Migration der Datenbank bricht mit einem Fehler ab")
		remember(t, e, "we use tabs and not spaces in this repository")
		rest()
		if got := first(t, e, ambry.Query{Query: "login fails with some passwords"}); got != login {
			t.Errorf("english → chinese: first is %q", got)
		}
		if got := first(t, e, ambry.Query{Query: "数据库迁移出错"}); got != migration {
			t.Errorf("chinese → german: first is %q", got)
		}
		if got := first(t, e, ambry.Query{Query: "数据库迁移出错 project:elsewhere"}); got != "" {
			t.Errorf("another project's memory was found: %q", got)
		}
		if got := first(t, e, ambry.Query{Query: "数据库迁移出错 -Migration"}); got == migration {
			t.Error("a memory was found that has a word which was excluded")
		}
		if _, err := e.Forget(t.Context(), migration, ""); err != nil {
			t.Fatal(err)
		}
		if got := first(t, e, ambry.Query{Query: "数据库迁移出错"}); got == migration {
			t.Error("what was forgotten is found")
		}
	})
}

func TestProcessingSaysWhatWaitsForAModel(t *testing.T) {
	withModel(t, builtIn(t), func(t *testing.T, e *engine.Engine) {
		rest()
		id := remember(t, e, "the staging cluster is in Frankfurt")
		rest()
		p, err := e.Processing(t.Context(), []string{id})
		if err != nil || len(p.Items) != 1 || p.Items[0].State != ambry.Ready {
			t.Errorf("processing %+v, %v", p.Items, err)
		}
		h, err := e.Status(t.Context())
		if err != nil || h.Embedding == nil || h.Embedding.Ready != 1 || h.Embedding.Pending != 0 || h.Embedding.Reason != "" {
			t.Errorf("status %+v, %v", h.Embedding, err)
		}
	})
}

// broken is a model that never answers.
type broken struct{}

func (broken) Space() string { return "broken" }
func (broken) Dims() int     { return 0 }

func (broken) Embed(context.Context, []string, model.Purpose) ([][]float32, error) {
	return nil, errors.New("connection refused")
}

func TestWithoutAnAnswerOfTheModelWordsAreEnough(t *testing.T) {
	withModel(t, broken{}, func(t *testing.T, e *engine.Engine) {
		id := remember(t, e, "the staging cluster is in Frankfurt")
		rest()
		if got := first(t, e, ambry.Query{Query: "where is the staging cluster"}); got != id {
			t.Errorf("first is %q", got)
		}
		p, err := e.Processing(t.Context(), []string{id})
		if err != nil || p.Items[0].State != ambry.EmbeddingPending || p.Items[0].ErrorMessage == nil {
			t.Errorf("processing %+v, %v", p.Items, err)
		}
		h, err := e.Status(t.Context())
		if err != nil || h.Embedding == nil || h.Embedding.Pending != 1 || h.Embedding.Reason == "" || h.Embedding.RetryAt == nil {
			t.Errorf("status %+v, %v", h.Embedding, err)
		}
	})
}

// during is told of the beginning of an export, and holds it until do returns.
type during struct{ do func() }

func (d *during) Write(p []byte) (int, error) {
	if d.do != nil {
		d.do()
		d.do = nil
	}
	return len(p), nil
}

func TestEmbeddingMakesWayForAnExport(t *testing.T) {
	withModel(t, builtIn(t), func(t *testing.T, e *engine.Engine) {
		pending := func() int64 {
			h, err := e.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return h.Embedding.Pending
		}
		remember(t, e, "the tide turns at nine")
		rest()
		if n := pending(); n != 0 {
			t.Fatalf("%d memories wait before the export", n)
		}
		err := e.Export(t.Context(), &during{func() {
			remember(t, e, "the ferry leaves at ten")
			rest()
			if n := pending(); n != 1 {
				t.Errorf("%d memories wait during the export, not the new one", n)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		rest()
		if n := pending(); n != 0 {
			t.Errorf("%d memories wait after the export", n)
		}
	})
}
