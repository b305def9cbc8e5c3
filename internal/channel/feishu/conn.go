package feishu

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"ambry.dev/ambry/internal/channel"
)

// conn is a connection that is open.
type conn struct {
	link    *link
	host    channel.Host
	us      string // the bot's open_id
	socket  *channel.Socket
	service int32
	every   chan time.Duration // how often Feishu wants a sign of life, when it says so anew
	line    channel.Line
	parts   parts
}

// run reads until the connection ends.
func (c *conn) run(ctx context.Context, who channel.Identity, every time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		c.live(ctx, every)
	}()
	defer func() {
		stop()
		c.socket.Close()
		<-stopped
		c.line.Cut()
	}()
	c.host.Connected(who)
	for {
		message, _, err := c.socket.Read(ctx)
		if err != nil {
			return err
		}
		f, err := parse(message)
		if err != nil {
			c.link.Log.Warn("Feishu sends something that cannot be read")
			continue
		}
		if err := c.take(ctx, &f); err != nil {
			return err
		}
	}
}

// live gives signs of life as Feishu wants them. That nobody is at the other end
// is noticed by the socket.
func (c *conn) live(ctx context.Context, every time.Duration) {
	ping := frame{service: c.service, method: control, headers: []header{{"type", "ping"}}}
	message := ping.append(nil)
	for {
		if c.socket.Write(ctx, message, false) != nil {
			return // the reader sees it too
		}
		timer := time.NewTimer(every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case every = <-c.every:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// take takes a frame.
func (c *conn) take(ctx context.Context, f *frame) error {
	if f.method == control {
		var config config
		if f.get("type") == "pong" && len(f.payload) > 0 && json.Unmarshal(f.payload, &config) == nil && config.Ping > 0 {
			select {
			case c.every <- config.every():
			default: // one is waiting already, and another will come
			}
		}
		return nil
	}
	if f.method != data || f.get("type") != "event" {
		return nil
	}
	began := time.Now()
	payload, whole := c.parts.add(f)
	if !whole {
		return nil
	}
	return c.line.Taking(func() error {
		code := http.StatusOK
		m, ok := c.read(payload)
		var err error
		if ok {
			if err = c.host.Receive(ctx, m, c.answer(m)); err != nil {
				code = http.StatusInternalServerError // it will be delivered again
			}
		}
		if wrote := c.acknowledge(ctx, f, code, time.Since(began)); err == nil {
			err = wrote
		}
		return err
	})
}

// acknowledge answers a frame with itself, but for what it carries.
func (c *conn) acknowledge(ctx context.Context, f *frame, code int, took time.Duration) error {
	f.payload, _ = json.Marshal(map[string]int{"code": code}) // numbers always can be
	f.headers = append(f.headers, header{"biz_rt", strconv.FormatInt(took.Milliseconds(), 10)})
	return c.socket.Write(ctx, f.append(nil), false)
}

func (c *conn) answer(m channel.Message) channel.Send {
	return func(ctx context.Context, text string) error {
		return c.line.Send(ctx, func(ctx context.Context) error { return c.link.send(ctx, m.ID, m.Chat, text) })
	}
}
