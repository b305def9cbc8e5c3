package gateway

import (
	"context"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	maxWaiting = 8   // messages of one conversation
	maxChats   = 100 // that are being answered
	answerWait = 90 * time.Second
	sendWait   = 3 * time.Minute // services want some to be slow
)

// chat is a conversation in which something is being done.
type chat struct {
	waiting []job
	leftOut int
}

// job is something to be answered, or just to be said.
type job struct {
	send     channel.Send
	say      string
	question *channel.Message
}

// post has a job done after those of the same conversation that are there.
func (c *connection) post(id string, j job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.chats[id]; t != nil {
		if len(t.waiting) >= maxWaiting {
			t.leftOut++
			return
		}
		t.waiting = append(t.waiting, j)
		return
	}
	if len(c.chats) >= maxChats {
		return
	}
	c.chats[id] = &chat{waiting: []job{j}}
	c.workers.Add(1)
	go func() {
		defer c.workers.Done()
		for {
			j, ok := c.next(id)
			if !ok {
				return
			}
			c.do(j)
		}
	}()
}

// next takes the next job of a conversation; without one the conversation ends.
func (c *connection) next(id string) (job, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.chats[id]
	if len(t.waiting) == 0 || c.ended() {
		delete(c.chats, id)
		return job{}, false
	}
	j := t.waiting[0]
	t.waiting = t.waiting[1:]
	if t.leftOut > 0 && len(t.waiting) == 0 {
		t.waiting = append(t.waiting, job{send: j.send, say: sayLeftOut(t.leftOut)})
		t.leftOut = 0
	}
	return j, true
}

func (c *connection) ended() bool { return c.ctx.Err() != nil }

// do does a job. What goes wrong ends here: the answer is lost.
func (c *connection) do(j job) {
	text, m := j.say, j.question
	leave := false
	if m != nil {
		select {
		case c.gateway.answers <- struct{}{}:
		case <-c.ctx.Done():
			return
		}
		answering, cancel := context.WithTimeout(c.ctx, answerWait)
		a := c.gateway.Answer(answering, Question{
			Provider: c.provider.ID, Text: m.Text, Group: m.Group,
			Chat: digest(c.id, m.Chat)[:32], Person: digest(c.id, m.Sender)[:32], ID: digest(c.id, m.ID)[:32],
		})
		cancel()
		<-c.gateway.answers
		text, leave = a.Text, a.Leave
	}
	if leave {
		if err := c.gateway.Unpair(c.ctx, c.provider.ID, m.Sender); err != nil && ambry.KindOf(err) != ambry.NotFound {
			c.gateway.Log.Error("somebody wants to be paired no longer", "channel", c.provider.ID, "err", err)
			return
		}
	}
	if text == "" {
		return
	}
	sending, cancel := context.WithTimeout(c.ctx, sendWait)
	defer cancel()
	if err := j.send(sending, text); err != nil && c.ctx.Err() == nil {
		c.gateway.Log.Warn("an answer was not sent", "channel", c.provider.ID, "kind", string(ambry.KindOf(err)))
	}
}
