package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"ambry.dev/ambry/internal/memory/meaning"
	"ambry.dev/ambry/internal/memory/static"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/model"
	models "ambry.dev/ambry/internal/model/all"
)

// The embedding models that can be measured.
const (
	noModel     = "off"
	staticModel = "static"
)

// keyVariable holds the key of a provider.
const keyVariable = "QUALITY_MODEL_KEY" //nolint:gosec // the name of a variable, not a key

// embedder returns a model by its name, nil for none. One of a provider is named
// like ollama:nomic-embed-text; url is where it is, if not where it usually is.
func embedder(name, url string) (model.Embedder, error) {
	switch name {
	case noModel:
		return nil, nil //nolint:nilnil // no model is a choice
	case staticModel:
		return static.New()
	}
	id, of, _ := strings.Cut(name, ":")
	for _, p := range models.Providers() {
		if p.ID == id && p.NewEmbedder != nil && of != "" {
			noRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			return p.NewEmbedder(model.Access{
				BaseURL: cmp.Or(url, p.BaseURL), Model: of, Key: os.Getenv(keyVariable), HTTP: &http.Client{CheckRedirect: noRedirects},
			}), nil
		}
	}
	return nil, fmt.Errorf("-embedding is %s, %s or PROVIDER:MODEL, not %q", noModel, staticModel, name)
}

// pollEvery is how often it is asked whether all memories are embedded.
const pollEvery = 10 * time.Millisecond

// startModel has all memories of a store embedded, and returns their meaning; stop
// ends it.
func startModel(ctx context.Context, s *store.Store, by model.Embedder) (m *meaning.Meaning, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	m = meaning.New(meaning.Config{Store: s, Embedder: by})
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	return m, func() { cancel(); <-done }
}

// embedded waits until nothing is due.
func embedded(ctx context.Context, m *meaning.Meaning) error {
	for {
		state, err := m.State(ctx)
		switch {
		case err != nil:
			return err
		case state.Reason != "":
			return fmt.Errorf("embed the memories: %s", state.Reason)
		case state.Loaded && state.Due == 0:
			return nil
		}
		time.Sleep(pollEvery)
	}
}
