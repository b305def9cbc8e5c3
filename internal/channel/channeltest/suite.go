// Package channeltest is what every provider of channels must show, against the
// real service or one that speaks its protocol. It holds no expectations of one
// provider.
package channeltest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// The people and places that every world has. A direct conversation with
// somebody is a place that has their name.
const (
	Ann = "ann"
	Ben = "ben"

	// Harbour and Basin are groups that both are in, and we are.
	Harbour = "harbour"
	Basin   = "basin"
)

// Line is something that is written.
type Line struct {
	From    string // Ann or Ben
	In      string // a group, or "" to us alone
	Mention bool   // in a group: we are spoken to, as the service wants it
	Text    string // without the mention
	Bot     bool   // it is a bot that writes, which has any name
}

// Sent is something that we have written, as people see it.
type Sent struct {
	In   string // a group, or who it was written to
	Text string // as it is read: what only protects it on the way is taken away

	// Live names what the service would take in it for more than text, for example a
	// mention that rings or a link that is fetched; it is "" if all is well.
	Live string
}

// World is a service that a test runs, with us and the people in it. What is nil
// or empty, unless it is said to be needed, the service does not have.
type World struct {
	Values map[string]string // needed: what the fields are to be
	Wrong  map[string]string // the same with credentials that the service refuses

	// New makes the link, if it is not as in the provider: with another address of
	// the service, say.
	New func(channel.Access) (channel.Link, error)

	// Say is needed. It returns when the service has taken the line.
	Say func(Line)
	// Hear is needed. It waits for the next thing that we have written; each is
	// heard once, in the order of its place. It is false when the time is over.
	Hear func(within time.Duration) (Sent, bool)

	Cut   func() // ends each connection that we have, without a word
	Again func() // delivers once more what was said last

	NoGroups  bool
	Bots      bool // the service tells bots from people
	Anonymous bool // the service does not tell who writes
	Remembers bool // it delivers what was said while we were away

	Long      int      // characters of a long answer, 0 for ten thousand
	Libraries []string // import paths of libraries of which no goroutine may be left
}

// patience is how long something may take that has to happen. It is only waited
// for when it does not.
const patience = time.Minute

var validID = regexp.MustCompile(`^[a-z][a-z0-9-]{1,31}$`)

// Run runs the suite on a provider. Each case opens a world of its own. No other
// test of the provider may go on beside it.
func Run(t *testing.T, p channel.Provider, open func(t *testing.T) World) {
	t.Helper()
	describes(t, p)
	for _, c := range []struct {
		name  string
		check func(*table)
	}{
		{"check", checks},
		{"wrong", refuses},
		{"unreachable", unreachable},
		{"direct", direct},
		{"people", people},
		{"groups", groups},
		{"bots", bots},
		{"long", long},
		{"plain", plain},
		{"cut", cut},
		{"again", again},
		{"away", away},
		{"taken", taken},
		{"fails", fails},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := lay(t, p, open(t))
			c.check(b)
			b.clear()
		})
	}
}

// describes is about the provider as data.
func describes(t *testing.T, p channel.Provider) {
	t.Helper()
	if !validID.MatchString(p.ID) || p.Name == "" || p.New == nil || p.Unsupported != "" {
		t.Errorf("%q, named %q, cannot be connected", p.ID, p.Name)
	}
	if !slices.Contains(p.Capabilities, channel.Direct) {
		t.Errorf("it can do %q only", p.Capabilities)
	}
	seen := map[string]bool{}
	for _, f := range p.Fields {
		if f.Key == "" || seen[f.Key] || f.Label == "" || f.Description == "" {
			t.Errorf("the field %+v is there twice, or does not say what it is", f)
		}
		if !slices.Contains([]string{"text", "secret", "url"}, f.Kind) || f.Kind == "secret" && f.Default != "" || f.Required && f.Default != "" {
			t.Errorf("the field %+v is of a kind that there is not", f)
		}
		seen[f.Key] = true
	}
}

func checks(b *table) {
	for range 2 {
		who, err := b.link().Check(b.Context())
		if err != nil || who.ID == "" || who.Name == "" {
			b.Fatalf("asked who we are, it says %+v, %v", who, err)
		}
	}
	// A check beside a running link changes nothing for it, and nothing that people
	// see: the first thing that is heard is what we answer.
	b.run()
	if _, err := b.link().Check(b.Context()); err != nil {
		b.Errorf("beside a running link: %v", err)
	}
	b.Say(Line{From: Ann, Text: "is the gate open?"})
	b.answer(b.receive(), "it is")
	b.hears(Ann, "it is")
}

// refuses is about credentials that the service does not take.
func refuses(b *table) {
	if b.Wrong == nil {
		b.Skip("the service has no credentials")
	}
	b.values = b.Wrong
	if _, err := b.link().Check(b.Context()); ambry.KindOf(err) != ambry.Unauthorized {
		b.Errorf("Check answers %v (%v)", err, ambry.KindOf(err))
	}
	b.start()
	if err := b.ended(); ambry.KindOf(err) != ambry.Unauthorized {
		b.Errorf("Run ends with %v (%v)", err, ambry.KindOf(err))
	}
}

// unreachable is about a service that cannot be called.
func unreachable(b *table) {
	b.deaf = true
	for name, ask := range map[string]func() error{
		"Check": func() error { _, err := b.link().Check(b.Context()); return err },
		"Run":   func() error { b.start(); return b.ended() },
	} {
		if err := ask(); ambry.KindOf(err) != ambry.UpstreamFailed {
			b.Errorf("%s answers %v (%v)", name, err, ambry.KindOf(err))
		}
	}
}

// texts are as people write them. None of them is a command of a service.
var texts = []string{
	"when does the gate close?",
	`5 < 6 && 7 > 6; "quoted" & 'single' 100%`,
	"夜里十二点关门吗？ – «naïve» 😀",
	"a *star* and an _underline_ and `code` and ~that~",
}

func direct(b *table) {
	b.run()
	ids := map[string]bool{}
	for i, text := range texts {
		before := time.Now()
		b.Say(Line{From: Ann, Text: text})
		m := b.receive()
		if m.Text != text || m.Group || m.ID == "" || ids[m.ID] || m.Chat == "" || m.Sender == "" {
			b.Errorf("said was %q, received %+v", text, m.Message)
		}
		if m.At.Before(before.Add(-time.Minute)) || m.At.After(time.Now().Add(time.Minute)) {
			b.Errorf("received now, it is said to be of %v", m.At)
		}
		ids[m.ID] = true
		reply := text + " – answer " + string(rune('a'+i))
		b.answer(m, reply)
		b.hears(Ann, reply)
	}
}

func people(b *table) {
	b.run()
	b.Say(Line{From: Ann, Text: "I am Ann"})
	first := b.receive()
	b.Say(Line{From: Ann, Text: "still Ann"})
	second := b.receive()
	if first.Sender != second.Sender || first.Chat != second.Chat {
		b.Errorf("the same person is %+v and %+v", first.Message, second.Message)
	}
	if b.Anonymous {
		return
	}
	b.Say(Line{From: Ben, Text: "I am Ben"})
	other := b.receive()
	if other.Sender == first.Sender || other.Chat == first.Chat {
		b.Errorf("two people are %+v and %+v", first.Message, other.Message)
	}
	// Answers go where the question was, in whatever order they come.
	b.answer(other, "hello Ben")
	b.hears(Ben, "hello Ben")
	b.answer(first, "hello Ann")
	b.hears(Ann, "hello Ann")
}

func groups(b *table) {
	if b.NoGroups {
		if slices.Contains(b.provider.Capabilities, channel.Groups) {
			b.Error("the provider says that it has groups")
		}
		b.Skip("the service has no groups")
	}
	if !slices.Contains(b.provider.Capabilities, channel.Groups) {
		b.Error("the provider does not say that it has groups")
	}
	b.run()
	b.Say(Line{From: Ann, In: Harbour, Text: "nobody is asked"})
	b.Say(Line{From: Ann, In: Harbour, Mention: true, Text: "when does the gate close?"})
	m := b.receive()
	if m.Text == "nobody is asked" {
		if m.Mentioned || !m.Group {
			b.Errorf("what is said to others is received as %+v", m.Message)
		}
		m = b.receive()
	}
	if m.Text != "when does the gate close?" || !m.Group || !m.Mentioned || m.ID == "" {
		b.Fatalf("received %+v", m.Message)
	}
	b.Say(Line{From: Ben, In: Basin, Mention: true, Text: "and here?"})
	other := b.receive()
	b.Say(Line{From: Ann, Text: "only you"})
	alone := b.receive()
	if other.Chat == m.Chat || alone.Chat == m.Chat || alone.Group || other.Sender == m.Sender || alone.Sender != m.Sender {
		b.Errorf("three places are %+v, %+v, and %+v", m.Message, other.Message, alone.Message)
	}
	b.answer(other, "at one")
	b.hears(Basin, "at one")
	b.answer(m, "at noon")
	b.hears(Harbour, "at noon")
	b.answer(alone, "never")
	b.hears(Ann, "never")
}

// bots is about what must not be passed on: what bots write, and what we do.
func bots(b *table) {
	b.run()
	b.Say(Line{From: Ann, Text: "the first"})
	b.answer(b.receive(), "an answer that comes back")
	b.hears(Ann, "an answer that comes back")
	if b.Bots {
		b.Say(Line{From: Ben, Bot: true, Text: "a bot speaks"})
		if !b.NoGroups {
			b.Say(Line{From: Ben, In: Harbour, Mention: true, Bot: true, Text: "a bot speaks"})
		}
	}
	b.Say(Line{From: Ann, Text: "the second"})
	if m := b.receive(); m.Text != "the second" {
		b.Errorf("passed on is %+v", m.Message)
	}
}

func long(b *table) {
	b.run()
	length := b.Long
	if length == 0 {
		length = 10_000
	}
	var text strings.Builder
	for n := 0; text.Len() < length; n++ {
		text.WriteString(strings.Repeat("wörter ", n%9) + "nummer" + string(rune('a'+n%26)) + string(rune('a'+n/26%26)))
		text.WriteString([]string{" ", " ", ". ", "\n", " 門 ", " 😀 ", "\n\n"}[n%7])
	}
	b.Say(Line{From: Ann, Text: "tell me everything"})
	m := b.receive()
	sent := make(chan error, 1)
	go func() { sent <- m.send(b.Context(), text.String()) }()
	want := strings.Fields(text.String())
	var got []string
	parts := 0
	for len(got) < len(want) {
		s, ok := b.Hear(patience)
		if !ok {
			b.Fatalf("of %d words %d are heard", len(want), len(got))
		}
		if s.In != Ann || s.Live != "" || strings.TrimSpace(s.Text) == "" {
			b.Errorf("heard is %+v", s)
		}
		got = append(got, strings.Fields(s.Text)...)
		parts++
	}
	if !slices.Equal(got, want) {
		b.Errorf("in %d parts it is not heard as it was sent", parts)
	}
	if err := <-sent; err != nil {
		b.Error(err)
	}
}

// lively are answers in which services could see more than text.
var lively = []string{
	"@everyone @here @channel <!everyone> <!channel> <@U0000001> <@&1234> @ann @all <at user_id=\"all\"></at>",
	"**bold** __under__ _it_ ~~gone~~ `code` ||hidden|| > quoted # heading",
	"<b>bold</b> <script>alert(1)</script> &amp; &lt; <https://example.com|click here> [click](https://example.com)",
	"/quit /me does",
	"!command $(date) \\escaped\\ {json: \"true\"} %s %d",
	"1. one\n2. two\n- three\n/nick other\nQUIT :bye",
}

func plain(b *table) {
	b.run()
	for _, text := range lively {
		b.Say(Line{From: Ann, Text: "say something"})
		b.answer(b.receive(), text)
		want := strings.Join(strings.Fields(text), " ")
		for got := ""; got != want; {
			s, ok := b.Hear(patience)
			got = strings.TrimSpace(got + " " + strings.Join(strings.Fields(s.Text), " "))
			if !ok || !strings.HasPrefix(want, got) || s.In != Ann || s.Live != "" {
				b.Errorf("sent is %q, heard %+v", text, s)
				break
			}
		}
	}
}

// cut is about connections that end.
func cut(b *table) {
	if b.Cut == nil {
		b.Skip("the service keeps no connection")
	}
	b.run()
	seen := map[string]bool{} // what was taken as the connection ended may come again
	fresh := func() received {
		m := b.receive()
		for seen[m.ID] {
			m = b.receive()
		}
		seen[m.ID] = true
		return m
	}
	for n := range 2 {
		b.Say(Line{From: Ann, Text: "before"})
		before := fresh()
		b.Cut()
		if b.restarts = b.Remembers; !b.Remembers {
			b.back() // what is said before is lost
		}
		text := "after cut " + string(rune('a'+n))
		b.Say(Line{From: Ann, Text: text})
		m := fresh()
		if m.Text != text || m.Chat != before.Chat || m.Sender != before.Sender {
			b.Errorf("received %+v, before %+v", m.Message, before.Message)
		}
		b.answer(m, "heard "+text)
		b.hears(Ann, "heard "+text)
	}
}

// again is about messages that a service delivers twice.
func again(b *table) {
	if b.Again == nil {
		b.Skip("the service delivers nothing twice")
	}
	b.run()
	b.Say(Line{From: Ann, Text: "once"})
	first := b.receive()
	b.Again()
	b.Say(Line{From: Ann, Text: "then"})
	for {
		m := b.receive()
		if m.Text == "then" && m.ID != first.ID {
			return
		}
		if m.ID != first.ID || m.Text != first.Text || m.Chat != first.Chat || m.Sender != first.Sender {
			b.Fatalf("delivered again, %+v is %+v", first.Message, m.Message)
		}
	}
}

// taken is about answers that are quick: none goes out before it is kept, or told the
// service, that its message was received. If we were killed then, the message would come
// again and be answered twice.
func taken(b *table) {
	if b.Again == nil && !b.Remembers {
		b.Skip("the service delivers nothing twice")
	}
	b.run()
	sent := b.host.hurry()
	b.Say(Line{From: Ann, Text: "be quick"})
	b.receive()
	b.hears(Ann, "at once")
	if err := b.clean(<-sent); err != nil {
		b.Error(err)
	}
	if b.host.hurried() {
		b.Error("it was answered before it was taken")
	}
}

// away is about what is said while nobody listens.
func away(b *table) {
	b.run()
	b.Say(Line{From: Ann, Text: "first"})
	first := b.receive()
	b.stop()
	if err := first.send(b.Context(), "too late"); err == nil {
		b.Error("an answer after the end is sent, it is said")
	}
	if b.Remembers {
		b.Say(Line{From: Ann, Text: "meanwhile"})
	}
	b.run()
	b.Say(Line{From: Ann, Text: "last"})
	want := []string{"last"}
	if b.Remembers {
		want = []string{"meanwhile", "last"}
	}
	for len(want) > 0 {
		m := b.receive()
		if m.ID == first.ID {
			continue // it is not known how far the service was read
		}
		if m.Text != want[0] {
			b.Fatalf("received %+v, want %q", m.Message, want[0])
		}
		want = want[1:]
	}
}

// fails is about a host that cannot take a message: the link ends, and tells the
// service by nothing that it was taken.
func fails(b *table) {
	b.run()
	b.host.refuse(true)
	b.Say(Line{From: Ann, Text: "for later"})
	if err := b.ended(); err == nil || ambry.KindOf(err) == ambry.Unauthorized {
		b.Errorf("Run ends with %v", err)
	}
	b.host.refuse(false)
	b.run()
	if b.Remembers {
		if m := b.receive(); m.Text != "for later" {
			b.Errorf("received %+v", m.Message)
		}
	}
	b.Say(Line{From: Ann, Text: "now"})
	if m := b.receive(); m.Text != "now" {
		b.Errorf("received %+v", m.Message)
	}
}
