package irc

import (
	"context"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	// maxLine is how many bytes a server takes and passes on, with the end of line.
	maxLine = 512

	// ownMask is how long our user@host may be as others see it. What a server
	// makes of it we do not always learn.
	ownMask = len("!") + 12 + len("@") + 63

	writeWait = 20 * time.Second
)

// say writes a text to somebody or into a channel, as slowly as servers want it.
// What a line begins with is hidden from other bots when they read along. The
// texts of two answers are not mixed.
func (s *session) say(ctx context.Context, target, address, text string) error {
	select {
	case s.saying <- struct{}{}:
		defer func() { <-s.saying }()
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended.Done():
		return errEnded
	}
	for i, part := range s.parts(target, address, text) {
		if i == 0 {
			part = address + part
		} else if address != "" {
			part = harmless(part)
		}
		if err := s.write(ctx, "PRIVMSG "+target+" :"+part, true); err != nil {
			return err
		}
	}
	return nil
}

var errEnded = ambry.UpstreamFailed.Errorf("the connection has ended")

// quote stands before what other bots could take for a command.
const quote = "› "

// parts are the lines of a text. None of them holds a character that steers the
// protocol or a client.
func (s *session) parts(target, address, text string) (all []string) {
	limit := maxLine - len(":"+s.own()+" PRIVMSG "+target+" :\r\n") - ownMask - max(len(address), len(quote))
	for l := range strings.SplitSeq(ambry.Plain(strings.ReplaceAll(text, "\r", "\n")), "\n") {
		l = strings.ReplaceAll(l, "\t", " ")
		all = append(all, channel.Split(l, max(limit, 100), channel.Bytes)...)
	}
	return all
}

// harmless is a line in a channel that bots there do not take for a command.
func harmless(part string) string {
	if strings.IndexByte("!.@~&%+$?\\/^;,:=<>`", part[0]) >= 0 {
		return quote + part
	}
	return part
}

// write sends a line. What is not in a hurry waits its turn.
func (s *session) write(ctx context.Context, text string, paced bool) error {
	if paced {
		if err := s.wait(ctx); err != nil {
			return err
		}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.ended.Err() != nil {
		return errEnded
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return errEnded
	}
	if ctx.Err() != nil { // it may have ended before the deadline was set
		return ctx.Err()
	}
	// Nothing that comes here has an end of line in it; should it ever, it ends there.
	if end := strings.IndexAny(text, "\x00\r\n"); end >= 0 {
		text = text[:end]
	}
	if _, err := s.conn.Write([]byte(text + "\r\n")); err != nil {
		return ambry.UpstreamFailed.Wrap(err, "the connection has ended")
	}
	return nil
}

// wait returns when a line may be sent that does not belong to the talk with the
// server itself.
func (s *session) wait(ctx context.Context) error {
	r := s.limit.Reserve()
	t := time.NewTimer(r.Delay())
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		r.Cancel()
		return ctx.Err()
	case <-s.ended.Done():
		return errEnded
	}
}
