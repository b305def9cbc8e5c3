package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/relay"
	"ambry.dev/ambry/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "the-runtimes-token"

// models are lent, and keep what they are asked.
type models struct {
	space   string
	texts   []string
	purpose model.Purpose
	kind    string
	request model.Request
	vectors func(n int) [][]float32
	err     error
}

func (m *models) Embed(_ context.Context, space string, texts []string, p model.Purpose) ([][]float32, error) {
	m.space, m.texts, m.purpose = space, append(m.texts, texts...), p
	if m.err != nil {
		return nil, m.err
	}
	return m.vectors(len(texts)), nil
}

func (m *models) Chat(_ context.Context, kind string, background bool, r model.Request, _ func(string) error) (model.Reply, error) {
	if !background {
		return model.Reply{}, errors.New("the runtime calls for a person")
	}
	m.kind, m.request = kind, r
	return model.Reply{Text: "a summary", Usage: model.Usage{Input: 7}}, m.err
}

// lend serves the models and returns the runtime's way to them.
func lend(t *testing.T, m *models, a relay.Access) *relay.Client {
	t.Helper()
	ln, err := web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	handler, _ := web.New(web.Config{
		Title: "Test", Version: "1", Token: web.Token{Header: ambry.LocalTokenHeader, Secret: "another"},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}, relay.Routes(m, token))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- (&web.Server{Handler: handler}).Serve(ctx, ln) }()
	a.BaseURL = "http://" + ln.Addr().String()
	c := relay.New(a, new(net.Dialer).DialContext)
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

func ones(n int) (all [][]float32) {
	for i := range n {
		all = append(all, []float32{float32(i), 1, -0.5})
	}
	return all
}

func TestVectorsArriveAsTheyWereMade(t *testing.T) {
	m := &models{vectors: ones}
	e := lend(t, m, relay.Access{Token: token, Space: "openai:e"}).Embedder()
	texts := strings.Split(strings.Repeat("text ", 150), " ")[:150]
	got, err := e.Embed(t.Context(), texts, model.ForStoring)
	if err != nil || len(got) != 150 || len(m.texts) != 150 || m.space != "openai:e" || m.purpose != model.ForStoring {
		t.Fatalf("got %d, %v; asked was %+v", len(got), err, m)
	}
	for _, v := range got {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Fatalf("a vector of length %v", math.Sqrt(sum))
		}
	}
	if e.Space() != "openai:e" || e.Dims() != 3 {
		t.Errorf("got %s, %d", e.Space(), e.Dims())
	}
	if _, err := e.Embed(t.Context(), []string{"?"}, model.ForSearching); err != nil || m.purpose != model.ForSearching {
		t.Errorf("got %v, asked was %+v", err, m.purpose)
	}
}

func TestAnswersArrive(t *testing.T) {
	m := &models{}
	c := lend(t, m, relay.Access{Token: token, Chat: true})
	r := model.Request{System: "be short", Messages: []model.Message{{Role: model.User, Text: "what happened?"}}, MaxTokens: 100}
	var pieces []string
	got, err := c.Chat(ambry.UsageSummary).Chat(t.Context(), r, func(p string) error { pieces = append(pieces, p); return nil })
	if err != nil || got.Text != "a summary" || got.Usage.Input != 7 || strings.Join(pieces, "|") != "a summary" {
		t.Errorf("got %+v, %v, %q", got, err, pieces)
	}
	if m.kind != ambry.UsageSummary || m.request.System != r.System || len(m.request.Messages) != 1 || m.request.MaxTokens != 100 {
		t.Errorf("asked was %s, %+v", m.kind, m.request)
	}
}

func TestRefusalsKeepTheirKind(t *testing.T) {
	for _, want := range []ambry.Kind{ambry.Forbidden, ambry.RateLimited, ambry.Conflict, ambry.UpstreamFailed} {
		m := &models{err: &ambry.Error{Kind: want, Message: "no", RetryAfter: 7}}
		c := lend(t, m, relay.Access{Token: token, Space: "s", Chat: true})
		_, err := c.Embedder().Embed(t.Context(), []string{"x"}, model.ForStoring)
		e, ok := errors.AsType[*ambry.Error](err)
		if !ok || e.Kind != want || e.Message != "no" || e.RetryAfter != 7 {
			t.Errorf("%s arrives as %#v", want, err)
		}
	}
}

func TestOnlyTheRuntimeIsLentTo(t *testing.T) {
	for _, wrong := range []string{"", "another", token + "x"} {
		m := &models{vectors: ones}
		c := lend(t, m, relay.Access{Token: wrong, Space: "s", Chat: true})
		if _, err := c.Embedder().Embed(t.Context(), []string{"x"}, model.ForStoring); ambry.KindOf(err) != ambry.Unauthorized || m.space != "" {
			t.Errorf("token %q: %v", wrong, err)
		}
		if _, err := c.Chat(ambry.UsageSummary).Chat(t.Context(), model.Request{Messages: []model.Message{{}}, MaxTokens: 1}, nil); ambry.KindOf(err) != ambry.Unauthorized {
			t.Errorf("token %q: %v", wrong, err)
		}
	}
}

func TestWhatIsNotLentIsNil(t *testing.T) {
	c := relay.New(relay.Access{}, nil)
	if c.Embedder() != nil || c.Chat(ambry.UsageSummary) != nil {
		t.Error("something is there")
	}
}

func TestVectorsThatAreNone(t *testing.T) {
	for name, vectors := range map[string]func(int) [][]float32{
		"too few":    func(n int) [][]float32 { return ones(n - 1) },
		"too many":   func(n int) [][]float32 { return ones(n + 1) },
		"empty":      func(n int) [][]float32 { return make([][]float32, n) },
		"no numbers": func(n int) [][]float32 { return [][]float32{{float32(math.NaN())}, {1}}[:n] },
		"uneven":     func(int) [][]float32 { return [][]float32{{1}, {1, 2}} },
	} {
		c := lend(t, &models{vectors: vectors}, relay.Access{Token: token, Space: "s"})
		if v, err := c.Embedder().Embed(t.Context(), []string{"a", "b"}, model.ForStoring); err == nil {
			t.Errorf("%s: got %v", name, v)
		}
	}
}
