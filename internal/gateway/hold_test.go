package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/gateway"
)

// A connection that is lost is tried again, less and less often.
func TestALostConnectionIsTriedAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		w.connect()
		w.service.failing(ambry.UpstreamFailed.Errorf("nobody there"))
		w.service.lose(errors.New("cut"))
		time.Sleep(time.Hour)
		synctest.Wait()
		tries := w.service.tries[1:]
		if n := len(tries); n < 14 || n > 32 {
			t.Errorf("in an hour it was tried %d times", n)
		}
		for i := 1; i < len(tries); i++ {
			if gap := tries[i].Sub(tries[i-1]); gap > 5*time.Minute || i > 10 && gap < 2*time.Minute {
				t.Errorf("try %d came after %v", i, gap)
			}
		}
		if c := w.connection(); c.Status != ambry.ChannelRestarting || !c.Running || c.LastError != "nobody there" {
			t.Errorf("it is %+v", c)
		}
		w.service.failing(nil)
		w.up()
		synctest.Wait()
		if c := w.connection(); c.Status != ambry.ChannelConnected || c.LastError != "" || c.DisplayName != "memory bot" {
			t.Errorf("it is %+v", c)
		}
		var states []string
		for _, e := range w.told {
			states = append(states, string(e.Status))
		}
		if got := strings.Join(states, " "); got != "starting connected restarting restarting connected" {
			t.Errorf("told is %s", got)
		}
		// One that held for long is tried again at once.
		time.Sleep(time.Hour)
		before := time.Now()
		w.service.lose(errors.New("cut"))
		w.up()
		if took := time.Since(before); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Credentials that a service takes no more are not tried again.
func TestExpired(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		w.connect()
		w.service.lose(ambry.Unauthorized.Errorf("the service does not take %s", right))
		time.Sleep(24 * time.Hour)
		if c := w.connection(); c.Status != ambry.ChannelExpired || c.Running || w.service.count() != 1 || strings.Contains(c.LastError, right) {
			t.Errorf("it is %+v after %d tries", c, w.service.count())
		}
		w.connect()
	})
}

func TestAServiceThatWantsToWait(t *testing.T) {
	inBubble(t, func(w *world) {
		w.connect()
		before := time.Now()
		w.service.lose(&ambry.Error{Kind: ambry.UpstreamFailed, Message: "slower", RetryAfter: 100})
		w.up()
		if took := time.Since(before); took < 100*time.Second {
			w.t.Errorf("it took %v", took)
		}
	})
}

// A library that breaks down takes nothing else with it.
func TestAPanicIsALostConnection(t *testing.T) {
	inBubble(t, func(w *world) {
		w.connect()
		w.service.failing(errBroken)
		w.service.lose(errors.New("cut"))
		time.Sleep(time.Minute)
		if c := w.connection(); c.Status != ambry.ChannelRestarting {
			w.t.Errorf("it is %+v", c)
		}
		w.service.failing(nil)
		w.up()
	})
}

// In local-only mode nothing is tried until it ends.
func TestLocalOnlyMode(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		elsewhere := map[string]string{"token": right, "server": "https://elsewhere.example"}
		if _, err := w.Connect(t.Context(), "one", elsewhere); err != nil {
			t.Fatal(err)
		}
		w.up()
		local := func(on bool) {
			w.mu.Lock()
			w.local = on
			w.mu.Unlock()
		}
		local(true)
		w.service.lose(errors.New("cut"))
		time.Sleep(24 * time.Hour)
		if c := w.connection(); c.Status != ambry.ChannelRestarting || !strings.Contains(c.LastError, "local-only mode is on") || w.service.count() != 2 {
			t.Errorf("it is %+v after %d tries", c, w.service.count())
		}
		if _, err := w.Connect(t.Context(), "one", elsewhere); ambry.KindOf(err) != ambry.Forbidden {
			t.Errorf("got %v", err)
		}
		local(false)
		w.Retry()
		w.up()
	})
}

func TestWhatIsNotAnswered(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		w.service.say(t, w.pairedAnn())
		w.hears("ann", paired)
		twice := message("ann", "twice")
		old := message("ann", "old")
		old.At = time.Now().Add(-61 * time.Minute)
		empty := message("ann", " \n")
		nameless := message("ann", "no id")
		nameless.ID = ""
		for _, m := range []channel.Message{twice, twice, old, empty, nameless} {
			w.service.say(t, m)
		}
		synctest.Wait()
		w.service.lose(errors.New("cut"))
		w.up()
		w.service.say(t, twice)
		w.hears("ann", "re: twice")
		synctest.Wait()
		w.silent()
		// Whoever writes too fast is told so once.
		time.Sleep(time.Minute)
		for range 60 {
			w.service.say(t, message("ann", "fast"))
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if n, answers := len(w.asked), len(w.service.heard); n > 14 || answers != n {
			t.Errorf("%d are answered, %d asked", answers, n)
		}
	})
}

// Each conversation is answered in its order; of all, four at a time.
func TestOrder(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		w.connect()
		var busy, most atomic.Int32
		w.answer = func(ctx context.Context, q gateway.Question) gateway.Answer {
			most.Store(max(most.Load(), busy.Add(1)))
			defer busy.Add(-1)
			_ = channel.Pause(ctx, time.Second)
			return gateway.Answer{Text: q.Text}
		}
		people := []string{"a", "b", "c", "d", "e", "f", "g"}
		for _, p := range people {
			code, err := w.Pair(t.Context(), "one")
			if err != nil {
				t.Fatal(err)
			}
			w.service.say(t, message(p, code.PairingCode))
			w.hears(p, paired)
		}
		for n := range 5 {
			for _, p := range people {
				w.service.say(t, message(p, fmt.Sprint(n)))
			}
		}
		next := map[string]int{}
		for range 5 * len(people) {
			got := <-w.service.heard
			if got.text != fmt.Sprint(next[got.chat]) {
				t.Errorf("heard is %+v, want %d", got, next[got.chat])
			}
			next[got.chat]++
		}
		if most.Load() != 4 {
			t.Errorf("%d are answered at a time", most.Load())
		}
	})
}

// What is more than can be answered is left out, and that is said. An answer
// that does not come is waited for, but not for ever, and not at the end.
func TestTooMuchAndTooLong(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.t
		w.service.say(t, w.pairedAnn())
		w.hears("ann", paired)
		w.answer = func(ctx context.Context, q gateway.Question) gateway.Answer {
			<-ctx.Done()
			return gateway.Answer{Text: q.Text}
		}
		for n := range 10 {
			w.service.say(t, message("ann", fmt.Sprint(n)))
			synctest.Wait()
		}
		for n := range 9 {
			w.hears("ann", fmt.Sprint(n))
		}
		if got := <-w.service.heard; !strings.Contains(got.text, "left out 1 ") {
			t.Errorf("heard is %+v", got)
		}
		time.Sleep(time.Minute)
		w.service.say(t, message("ann", "at the end"))
		synctest.Wait()
		before := time.Now()
		w.stop()
		if took := time.Since(before); took > time.Second {
			t.Errorf("it ends after %v", took)
		}
	})
}
