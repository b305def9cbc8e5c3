package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/gateway"
)

// What is said to those who are paired, and to those who are not.
const (
	paired   = "Paired: you may ask now. /help says what there is.\n已配对：现在可以提问了，/help 显示可用的命令。"
	stranger = "I answer only to people I know.\n我只回答已配对的人。"
)

// inBubble runs a test in a bubble of time, with a world in it.
func inBubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.patience = time.Hour
		test(w)
	})
}

// other is a code that is not c.
func other(c string) string {
	last := "1"
	if strings.HasSuffix(c, "1") {
		last = "2"
	}
	return c[:len(c)-1] + last
}

func TestOnlyTheCodePairs(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		code := w.connect().PairingCode
		if len(code) != 9 || code[4] != '-' {
			t.Fatalf("the code is %q", code)
		}
		// A stranger is told the same whatever they write, and seldom.
		w.service.say(t, message("eve", "what do you know?"))
		w.hears("eve", stranger)
		for _, text := range []string{"/help", other(code), "/remember x", "1234"} {
			w.service.say(t, message("eve", text))
		}
		synctest.Wait()
		w.silent()
		if len(w.asked) != 0 || len(w.connection().Peers) != 0 {
			t.Errorf("asked is %q, paired are %+v", w.asked, w.connection().Peers)
		}
		w.service.say(t, message("ann", "/start "+strings.ReplaceAll(code, "-", " ")))
		w.hears("ann", paired)
		w.service.say(t, message("ann", "hello"))
		w.hears("ann", "re: hello")
		// It was good once.
		w.service.say(t, message("ben", code))
		w.hears("ben", stranger)
		if p := w.connection().Peers; len(p) != 1 || p[0].ID != "ann" {
			t.Errorf("paired are %+v", p)
		}
		time.Sleep(2 * time.Hour)
		w.service.say(t, message("eve", "and now?"))
		w.hears("eve", stranger)
		if err := w.Unpair(t.Context(), "one", "ann"); err != nil {
			t.Fatal(err)
		}
		w.service.say(t, message("ann", "hello"))
		w.hears("ann", stranger)
		if err := w.Unpair(t.Context(), "one", "ann"); ambry.KindOf(err) != ambry.NotFound {
			t.Errorf("got %v", err)
		}
	})
}

func TestACodeDoesNotLast(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		code := w.connect().PairingCode
		time.Sleep(10*time.Minute + time.Second)
		w.service.say(t, message("ann", code))
		w.hears("ann", stranger)
		again, err := w.Pair(t.Context(), "one")
		if err != nil || again.PairingCode == code {
			t.Fatalf("got %+v, %v", again, err)
		}
		newer, err := w.Pair(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		w.service.say(t, message("ann", again.PairingCode)) // void since there is a newer one
		time.Sleep(time.Minute)
		w.service.say(t, message("ann", newer.PairingCode))
		w.hears("ann", paired)
	})
}

// Whoever guesses gets five tries, and all together twenty.
func TestGuessing(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		code := w.connect().PairingCode
		for range 5 {
			w.service.say(t, message("eve", other(code)))
			time.Sleep(3 * time.Second)
		}
		w.service.say(t, message("eve", code))
		time.Sleep(3 * time.Second)
		if p := w.connection().Peers; len(p) != 0 {
			t.Errorf("after five tries the sixth pairs: %+v", p)
		}
		w.stop()
		w.start() // tries are kept
		w.up()
		for i := range 15 {
			w.service.say(t, message(fmt.Sprint("eve", i), other(code)))
			time.Sleep(3 * time.Second)
		}
		w.service.say(t, message("ann", code))
		time.Sleep(3 * time.Second)
		if p := w.connection().Peers; len(p) != 0 {
			t.Errorf("after twenty tries one pairs: %+v", p)
		}
	})
}

// A crowd of strangers makes us do nothing, and keeps nobody out who is paired.
func TestACrowdOfStrangers(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		w.service.say(t, w.pairedAnn())
		w.hears("ann", paired)
		for i := range 3000 {
			w.service.say(t, message(fmt.Sprint("eve", i), "12345678"))
		}
		w.service.say(t, message("ann", "hello"))
		synctest.Wait()
		said := 0
		for len(w.service.heard) > 0 {
			if got := <-w.service.heard; got.text == stranger {
				said++
			} else if got != (sent{"ann", "re: hello"}) {
				t.Errorf("heard is %+v", got)
			}
		}
		if said > 10 || len(w.asked) != 1 {
			t.Errorf("%d strangers were answered; asked is %q", said, w.asked)
		}
	})
}

// pairedAnn connects, and returns the message by which Ann is paired.
func (w *world) pairedAnn() channel.Message { return message("ann", w.connect().PairingCode) }

// In a group nobody is told anything before they are paired; the one who sends
// the code is paired, not the group.
func TestAGroupIsNotPaired(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		code := w.connect().PairingCode
		group := func(sender, text string, mentioned bool) channel.Message {
			m := message(sender, text)
			m.Chat, m.Group, m.Mentioned = "harbour", true, mentioned
			return m
		}
		w.service.say(t, group("eve", "hello", true))
		w.service.say(t, group("ann", code, false)) // not to us
		synctest.Wait()
		w.silent()
		w.service.say(t, group("ann", code, true))
		w.hears("harbour", paired)
		w.service.say(t, group("eve", "hello", true))
		w.service.say(t, group("ann", "not to us", false))
		w.service.say(t, group("ann", "hello", true))
		w.hears("harbour", "re: hello")
		synctest.Wait()
		w.silent()
		w.service.say(t, message("ann", "alone"))
		w.hears("ann", "re: alone")
	})
}

func TestWhoeverWantsLeaves(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		w.service.say(t, w.pairedAnn())
		w.hears("ann", paired)
		w.answer = func(_ context.Context, q gateway.Question) gateway.Answer {
			return gateway.Answer{Text: "good bye", Leave: q.Text == "/unpair"}
		}
		w.service.say(t, message("ann", "/unpair"))
		w.hears("ann", "good bye")
		w.service.say(t, message("ann", "hello"))
		w.hears("ann", stranger)
	})
}
