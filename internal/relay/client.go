package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model"
)

// Dial makes a connection; the runtime's may lead to loopback only.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Client is the runtime's side. Its methods may be called at the same time; an
// error that the service answered has its kind.
type Client struct {
	access Access
	http   *http.Client
}

// New returns a client of the service that has given access.
func New(access Access, dial Dial) *Client {
	return &Client{access, &http.Client{
		Transport:     &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the connections that are open.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// maxAnswer is how much of an answer is read: 256 vectors of the longest kind.
const maxAnswer = 32 << 20

// batch is how many texts are sent at a time. The service stores what a call has
// used when it has ended; small calls lose little when the runtime is stopped.
const batch = 64

// Embedder returns the model for embeddings that the person has chosen, nil if
// that is the built-in one. Texts for storing are a call in the background: they
// are refused with [ambry.Forbidden] while the person allows none, and with
// [ambry.RateLimited] when the day's budget is spent.
func (c *Client) Embedder() model.Embedder {
	if c.access.Space == "" {
		return nil
	}
	call := func(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
		in := embedRequest{Space: c.access.Space, Texts: texts, Purpose: "storing"}
		if p == model.ForSearching {
			in.Purpose = "searching"
		}
		var out embedAnswer
		if err := c.call(ctx, embedPath, in, &out); err != nil {
			return nil, err
		}
		vectors := make([][]float32, len(out.Vectors))
		for i, data := range out.Vectors {
			v, ok := unpack(data)
			if !ok {
				return nil, ambry.UpstreamFailed.Errorf("the service answers vectors of half numbers")
			}
			vectors[i] = v
		}
		return vectors, nil
	}
	return model.NewEmbedder(c.access.Space, batch, call)
}

// Chat returns the model for a kind of call, [ambry.UsageSummary] or
// [ambry.UsageEvolution]; nil if there is none to be used in the background.
// Errors are as of [Client.Embedder].
func (c *Client) Chat(kind string) model.Chat {
	if !c.access.Chat {
		return nil
	}
	return chat{c, kind}
}

type chat struct {
	client *Client
	kind   string
}

// Chat asks the model. The answer comes in one piece.
func (c chat) Chat(ctx context.Context, r model.Request, each func(string) error) (reply model.Reply, err error) {
	in := chatRequest{Kind: c.kind, System: r.System, Messages: r.Messages, MaxTokens: r.MaxTokens}
	if err := c.client.call(ctx, chatPath, in, &reply); err != nil {
		return model.Reply{}, err
	}
	if each != nil {
		err = each(reply.Text)
	}
	return reply, err
}

func (c *Client) call(ctx context.Context, path string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.access.BaseURL+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set(TokenHeader, c.access.Token)
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the service for a model: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("ask the service for a model: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp, answer)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return ambry.UpstreamFailed.Errorf("the service answers what is not for us: %w", err)
	}
	return nil
}

// refusal is the error that the service answered.
func refusal(resp *http.Response, answer []byte) error {
	var said struct {
		Error struct {
			Code    ambry.Kind `json:"code"`
			Message string     `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(answer, &said) != nil || !said.Error.Code.Valid() {
		return ambry.UpstreamFailed.Errorf("the service answers %d", resp.StatusCode)
	}
	e := &ambry.Error{Kind: said.Error.Code, Message: said.Error.Message}
	_, _ = fmt.Sscan(resp.Header.Get("Retry-After"), &e.RetryAfter) // 0 if it says nothing
	return e
}
