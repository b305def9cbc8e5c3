package ntfy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	// silence is how long the server may say nothing: it says that it is there
	// every 45 seconds.
	silence = 80 * time.Second

	// maxMessage is how many bytes a message may have; the server makes a file of a
	// longer one.
	maxMessage = 4000

	// ownTag marks what we write, so that we do not answer ourselves.
	ownTag = "ambry"

	// everybody is who writes: a topic does not tell.
	everybody = "anyone"
)

var errSilent = errors.New("nothing was heard for more than a minute")

// Run follows the topic.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watch.Stop()
	var line channel.Line
	defer line.Cut()
	err := l.follow(ctx, h, &line, func() { watch.Reset(silence) })
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return l.unreachable(errSilent)
	case ctx.Err() != nil:
		return nil
	}
	return err
}

// follow passes on what comes until the connection ends, calls alive whenever
// something does, and answers on out.
func (l *link) follow(ctx context.Context, h channel.Host, out *channel.Line, alive func()) error {
	path := "/" + l.topic + "/json"
	if since := h.Cursor(); since != "" {
		path += "?since=" + url.QueryEscape(since)
	}
	answer, err := l.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		alive()
		e, err := readEvent(lines.Bytes())
		if err != nil {
			return err
		}
		if err := out.Taking(func() error { return l.take(ctx, h, out, e) }); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return l.unreachable(err)
	}
	return ambry.UpstreamFailed.Errorf("%s has ended the connection", l.server.Host)
}

// take does what an event of the server asks for.
func (l *link) take(ctx context.Context, h channel.Host, out *channel.Line, e event) error {
	switch e.Event {
	case "open":
		if h.Cursor() == "" { // what comes from now on is not missed
			if err := h.Keep(ctx, strconv.FormatInt(e.at().Unix(), 10)); err != nil {
				return err
			}
		}
		h.Connected(l.identity())
		return nil
	case "message":
	default:
		return nil // that it is there, or something that we do not know
	}
	if e.ID == "" {
		return nil
	}
	if text := strings.TrimSpace(e.Message); text != "" && e.Attachment == nil && !slices.Contains(e.Tags, ownTag) {
		err := h.Receive(ctx, channel.Message{
			ID: e.ID, Chat: everybody, Sender: everybody, Name: "anyone who knows the topic", Text: text, At: e.at(),
		}, l.sender(out))
		if err != nil {
			return err
		}
	}
	return h.Keep(ctx, e.ID)
}

// sender returns what answers until out is cut.
func (l *link) sender(out *channel.Line) channel.Send {
	return func(ctx context.Context, text string) error {
		return out.Send(ctx, func(ctx context.Context) error {
			for _, part := range channel.Split(text, maxMessage, channel.Bytes) {
				if err := l.publish(ctx, part); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// publish writes a message, and waits if the server wants that.
func (l *link) publish(ctx context.Context, text string) error {
	// The server takes twice the bytes of a message, so nothing may become more than
	// two: by itself JSON makes six of each < and &.
	var body bytes.Buffer
	out := json.NewEncoder(&body)
	out.SetEscapeHTML(false)
	if err := out.Encode(published{Topic: l.topic, Title: "Ambry", Message: text, Tags: []string{ownTag}}); err != nil {
		return err
	}
	return channel.Patiently(ctx, func(ctx context.Context) error {
		answer, err := l.ask(ctx, http.MethodPost, "/", bytes.NewReader(body.Bytes()))
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
}
