package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/redact"
)

// pending is the turn that a session is in, between the hook of the prompt and
// that of its end. It has no secrets: it waits on the disk.
type pending struct {
	Told         string              `json:"told,omitempty"` // hash of the answer that was kept
	Conversation redact.Conversation `json:"conversation"`
}

// The most that is kept of a turn, in bytes; the log of the agent has all of it.
const (
	maxQuery  = 256 << 10
	maxAnswer = 512 << 10
)

// twice is how far apart two hooks of one prompt may be, if an agent calls us
// twice.
const twice = 10 * time.Second

// session returns the id of the session. Agents that do not tell have one for
// each project and day, so that projects are not mixed.
func (c *call) session() string {
	if c.said.session != "" || c.said.cwd == "" {
		return c.said.session
	}
	return "hook_" + hash(c.agent.id, c.said.cwd, c.Now().UTC().Format(time.DateOnly))
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:10])
}

func turnsDir(dir string) string { return filepath.Join(dir, "turns") }

func (c *call) pendingPath() string {
	return filepath.Join(turnsDir(c.Dir), hash(c.agent.id, c.session())+".json")
}

// began keeps what was asked until the turn ends.
func (c *call) began(asked string) error {
	p, known, err := c.turn(asked)
	if err != nil || known {
		return err
	}
	return c.setPending(p)
}

// turn returns the turn that begins with what was asked, and whether that is known
// already. A turn before it that never ended is kept as it is.
func (c *call) turn(asked string) (p pending, known bool, err error) {
	if c.session() == "" {
		return pending{}, false, errors.New("the agent names neither a session nor a directory")
	}
	old, ok := c.pending()
	now := c.Now().UTC().Truncate(time.Millisecond)
	about := []string{c.agent.id, c.session(), c.said.turn, asked}
	if c.said.turn == "" {
		about = append(about, now.Truncate(twice).String())
	}
	t := ambry.Turn{ID: "hook_" + hash(about...), At: now, Cwd: c.said.cwd, Model: c.said.model}
	if c.agent.sameTurns && c.said.turn != "" {
		t.ID = c.said.turn
	}
	t.Messages = []ambry.Message{{Role: ambry.User, Text: kept(asked), At: now}}
	if ok {
		before := old.Conversation.Conversation().Turns[0]
		if before.ID == t.ID {
			return old, true, nil
		}
		if old.Told == "" && now.Sub(before.At) > twice {
			if err := keep(c.Dir, old.Conversation, c.Now()); err != nil {
				return pending{}, false, err
			}
		}
	}
	s := ambry.Session{Agent: c.agent.id, ID: c.session(), Cwd: c.said.cwd, Model: c.said.model}
	return pending{Conversation: redact.Clean(ambry.Conversation{Session: s, Turns: []ambry.Turn{t}})}, false, nil
}

// pending reads the turn that the session is in.
func (c *call) pending() (p pending, ok bool) {
	data, err := os.ReadFile(c.pendingPath())
	if err != nil || json.Unmarshal(data, &p) != nil || !complete(p.Conversation) {
		return pending{}, false
	}
	return p, true
}

// complete reports whether a conversation is one turn with what was asked.
func complete(c redact.Conversation) bool {
	clean := c.Conversation()
	return clean.Validate() == nil && len(clean.Turns) == 1 && len(clean.Turns[0].Messages) > 0
}

// asked is what the person asked.
func (p pending) asked() string { return p.Conversation.Conversation().Turns[0].Messages[0].Text }

// kept is what is kept of a prompt.
func kept(prompt string) string {
	clean, _ := redact.Text(shorten(withoutFence(prompt), maxQuery))
	return clean
}

// setPending need not be on the disk for good: what it says is not acknowledged
// before the turn ends.
func (c *call) setPending(p pending) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := makeDir(c.Dir, turnsDir(c.Dir)); err != nil {
		return err
	}
	return write(c.pendingPath(), data, func(*os.File) error { return nil })
}

// makeDir makes a directory in the one of hooks, which must be there: without it
// nothing is permitted.
func makeDir(dir, sub string) error {
	if !permitted(dir) {
		return fs.ErrPermission
	}
	if err := os.Mkdir(sub, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// end keeps the turn that has ended, for the service. When the session ends with
// it, a turn that was kept is not kept again.
func (c *call) end(last bool) {
	if c.session() == "" {
		c.explain("the agent names neither a session nor a directory")
		return
	}
	p, ok := c.pending()
	if asked := strings.TrimSpace(c.said.prompt); asked != "" && !(ok && p.asked() == kept(asked)) {
		var err error
		if p, _, err = c.turn(asked); err != nil {
			c.explain("the turn is not kept: %v", err)
			return
		}
		ok = true
	}
	if !ok {
		c.explain("no prompt was told of in this session, so there is no turn")
		return
	}
	if last {
		defer os.Remove(c.pendingPath())
	}
	answer := c.said.answer
	if last || answer == "" {
		answer = c.written(p.Conversation.Conversation().Turns[0].At)
	}
	answer = shorten(withoutFence(answer), maxAnswer)
	told := hash("answer", answer)
	if p.Told == told || last && p.Told != "" || answer == "" && p.Told != "" {
		c.explain("the turn was kept before")
		return
	}
	clean := p.Conversation.Conversation()
	t := clean.Turns[0]
	t.Messages = t.Messages[:1:1]
	if answer != "" {
		t.Messages = append(t.Messages, ambry.Message{Role: ambry.Assistant, Text: answer, At: c.Now().UTC().Truncate(time.Millisecond)})
	}
	clean.Turns = []ambry.Turn{t}
	p.Conversation = redact.Clean(clean)
	if err := keep(c.Dir, p.Conversation, c.Now()); err != nil {
		c.explain("the turn is not kept: %v", err)
		return
	}
	p.Told = told
	if !last {
		if err := c.setPending(p); err != nil {
			c.explain("that the turn was kept is not noted: %v", err)
		}
	}
	c.explain("the turn is kept for the service")
}

// How long an agent may take to write down what it has just said, and how often
// that is looked for.
const (
	writeWait = 600 * time.Millisecond
	writeLook = 40 * time.Millisecond
)

// written returns the last answer since a time that the agent wrote down. One that
// tells of no file may still be writing it.
func (c *call) written(since time.Time) string {
	path := c.transcript()
	if c.agent.transcript == nil || path == "" {
		return lastAnswer(path, since)
	}
	ctx, cancel := context.WithTimeout(c.ctx, writeWait)
	defer cancel()
	for {
		if answer := lastAnswer(path, since); answer != "" {
			return answer
		}
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(writeLook):
		}
	}
}

// transcript returns the file in which the agent writes the session down, or "".
func (c *call) transcript() string {
	if c.said.transcript == "" && c.said.session != "" && c.agent.transcript != nil {
		return c.agent.transcript(c.Getenv, c.said.session)
	}
	return c.said.transcript
}

func shorten(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// withoutFence takes out what we, or the tools of ours, put into a text: it is
// remembered already.
func withoutFence(s string) string {
	const open, shut = "<recalled_history", "</recalled_history>"
	for {
		from := strings.Index(s, open)
		if from < 0 {
			return s
		}
		to := strings.Index(s[from:], shut)
		if to < 0 {
			return s
		}
		s = strings.TrimSpace(s[:from] + s[from+to+len(shut):])
	}
}

// keep puts a turn into the spool, for good.
func keep(dir string, c redact.Conversation, now time.Time) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("keep a turn: %w", err)
	}
	if err := makeDir(dir, spoolDir(dir)); err != nil {
		return fmt.Errorf("keep a turn: %w", err)
	}
	if err := room(spoolDir(dir), int64(len(data))); err != nil {
		return err
	}
	name := fmt.Sprintf("%020d-%s.json", now.UnixNano(), hash(string(data)))
	if err := write(filepath.Join(spoolDir(dir), name), data, (*os.File).Sync); err != nil {
		return err
	}
	return home.SyncDir(spoolDir(dir))
}

// The bounds of the spool. What does not fit is not taken: what was taken stays.
const (
	maxEntries    = 2000
	maxSpoolBytes = 64 << 20
)

var errFull = errors.New("the spool is full; start the service")

func room(spool string, more int64) error {
	entries, err := os.ReadDir(spool)
	if err != nil {
		return fmt.Errorf("look into the spool: %w", err)
	}
	if len(entries) >= maxEntries {
		return errFull
	}
	size := more
	if len(entries) > maxEntries/20 { // few entries cannot be too many bytes: see maxAnswer
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
	}
	if size > maxSpoolBytes {
		return errFull
	}
	return nil
}
