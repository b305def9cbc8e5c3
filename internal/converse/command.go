package converse

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

// confirmWait is how long a deletion waits to be confirmed.
const confirmWait = 2 * time.Minute

// remember adds a note.
func (t *turn) remember(ctx context.Context, text string) string {
	if text == "" {
		return t.say.rememberWhat
	}
	n := ambry.Note{Content: text, Source: "channel:" + t.line.Channel}
	m, err := t.memory.Add(ctx, redact.CleanNote(n), t.key())
	if err != nil {
		return t.failed("remember", err)
	}
	t.added, t.shown[m.ID] = m.ID, true
	said := fmt.Sprintf(t.say.remembered, line(m.Title, 120))
	if t.secret {
		said += "\n" + t.say.secretLeftOut
	}
	return said
}

// key makes a write the same when its line comes again.
func (t *turn) key() string { return "channel-" + t.line.ID }

// confirmations are how people say yes.
var confirmations = []string{"yes", "y", "ja", "是", "是的", "确认", "好"}

// forget deletes a memory, once that is confirmed. Only what was shown can be
// named.
func (t *turn) forget(ctx context.Context, what string) string {
	pending := t.pending
	t.pending = nil
	switch {
	case what == "":
		return t.say.forgetWhat
	case slices.Contains(confirmations, strings.ToLower(what)):
		if pending == nil || t.all.Now().After(pending.until) {
			return t.say.nothingPending
		}
		return t.delete(ctx, *pending)
	}
	found, said := t.meant(ctx, what)
	if said != "" {
		return said
	}
	t.pending = &deletion{found.id, found.name(), t.all.Now().Add(confirmWait)}
	return fmt.Sprintf(t.say.forgetThis, found.name(), found.origin())
}

// delete deletes what was confirmed.
func (t *turn) delete(ctx context.Context, d deletion) string {
	_, err := t.memory.Forget(ctx, d.id, t.key())
	if err != nil && ambry.KindOf(err) != ambry.NotFound {
		return t.failed("forget", err)
	}
	delete(t.shown, d.id)
	t.sources = slices.DeleteFunc(t.sources, func(s source) bool { return s.id == d.id })
	if t.added == d.id {
		t.added = ""
	}
	t.last = nil // it may hold what is gone
	return fmt.Sprintf(t.say.forgotten, d.title)
}

// meant finds the memory that somebody means: the last one, a number of the
// sources, an id that was shown, or else the best one for some words. Said is
// what is answered if there is none.
func (t *turn) meant(ctx context.Context, what string) (found source, said string) {
	id := what
	n, err := strconv.Atoi(strings.Trim(what, "[]"))
	switch {
	case err == nil && 1 <= n && n <= len(t.sources):
		return t.sources[n-1], ""
	case slices.Contains([]string{"last", "最后", "上一条"}, strings.ToLower(what)):
		switch {
		case t.added != "":
			id = t.added
		case len(t.sources) > 0:
			return t.sources[0], ""
		default:
			return source{}, t.say.nothingShown
		}
	case !t.shown[what]:
		best, err := t.search(ctx, what, 1)
		if err != nil {
			return source{}, t.failed("search", err)
		}
		if len(best) == 0 {
			return source{}, t.say.nothing
		}
		t.shown[best[0].id] = true
		return best[0], ""
	}
	d, err := t.memory.Get(ctx, id)
	if ambry.KindOf(err) == ambry.NotFound {
		return source{}, t.say.nothingShown
	}
	if err != nil {
		return source{}, t.failed("get", err)
	}
	return source{d.ID, d.Title, d.Body, d.Agent, d.Project, d.CreatedAt}, ""
}

// name is a memory in a few words.
func (s source) name() string {
	if s.title != "" && !strings.HasPrefix(s.snippet, s.title) {
		return line(s.title+": "+s.snippet, maxSnippet)
	}
	return line(s.snippet, maxSnippet)
}

// listSources shows where the last answer is from.
func (t *turn) listSources() string {
	if len(t.sources) == 0 {
		return t.say.nothingShown
	}
	var lines []string
	for i, s := range t.sources {
		lines = append(lines, fmt.Sprintf("[%d] %s\n%s\n%s", i+1, s.origin(), s.name(), s.id))
	}
	return strings.Join(lines, "\n\n")
}

// status says how the memory is.
func (t *turn) status(ctx context.Context) string {
	h, err := t.memory.Status(ctx)
	if err != nil {
		return t.failed("status", err)
	}
	said := fmt.Sprintf(t.say.status, h.Memories, h.Sessions)
	if !h.Writable {
		said += "\n" + t.say.readOnly
	}
	return said
}
