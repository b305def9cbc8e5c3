package keep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// exported is what a text for people shows of a line.
type exported struct {
	Session *struct {
		ID, Agent, Title, Project, Branch string
		StartedAt                         time.Time
	} `json:"session"`
	Turn *struct {
		Agent, Session, ID string
		At                 time.Time
		Body               struct {
			Messages []ambry.Message
		}
	} `json:"turn"`
	Memory *struct {
		ID, Layer, Status, Agent, Project, Title string
		CreatedAt                                time.Time
		Tags                                     []string
		Body                                     *string
	} `json:"memory"`
}

const folderReadme = `# An export of Ambry

sessions/ has a text for each conversation, notes/ one for each note. Everything that was said stands in fenced blocks, as it
was; nothing in it is loaded or run by showing it. These texts are for reading: "ambry export" without --format makes an archive
that can be read back.
`

// writeMarkdown writes a folder of texts at path.
func (k *Keeper) writeMarkdown(ctx context.Context, path string, told *progress) (m ambry.ExportManifest, err error) {
	if err := os.Mkdir(path, 0o700); err != nil {
		return m, writing(err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(path)
		}
	}()
	b := &book{dir: path, sessions: map[[2]string]string{}, files: map[string]*ambry.ExportedFile{}}
	for _, sub := range []string{"sessions", "notes"} {
		if err := os.Mkdir(filepath.Join(path, sub), 0o700); err != nil {
			return m, writing(err)
		}
	}
	if err := b.append("README.md", folderReadme); err != nil {
		return m, err
	}
	m = ambry.ExportManifest{Format: "ambry-markdown", Version: 1, CreatedAt: k.Now().UTC(), Program: k.Version, Counts: map[string]int64{}}
	err = k.stream(ctx, told, func(kind string, line []byte) error {
		m.Counts[kind]++
		return b.line(kind, line)
	})
	if err != nil {
		return m, err
	}
	return m, errors.Join(writing(home.SyncDir(path)), nil)
}

// book writes texts. A conversation comes turn by turn, among others.
type book struct {
	dir      string
	sessions map[[2]string]string // agent and id → file
	files    map[string]*ambry.ExportedFile
}

func (b *book) line(kind string, line []byte) error {
	switch kind {
	case "session", "turn", "memory":
	default:
		return nil
	}
	var e exported
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("read the export of the memory: %w", err)
	}
	switch {
	case e.Session != nil:
		s := e.Session
		name := "sessions/" + fileName(s.StartedAt, s.Agent, s.Title, s.Agent+"\x00"+s.ID)
		b.sessions[[2]string{s.Agent, s.ID}] = name
		return b.append(name, heading(1, s.Title, "Session of "+s.Agent)+facts(
			"agent", s.Agent, "session", s.ID, "project", s.Project, "branch", s.Branch, "began", stamp(s.StartedAt)))
	case e.Turn != nil:
		name, ok := b.sessions[[2]string{e.Turn.Agent, e.Turn.Session}]
		if !ok {
			return nil
		}
		var text strings.Builder
		text.WriteString(heading(2, stamp(e.Turn.At), "Turn"))
		for _, m := range e.Turn.Body.Messages {
			writeMessage(&text, m)
		}
		return b.append(name, text.String())
	case e.Memory != nil && e.Memory.Body != nil:
		m := e.Memory
		return b.append("notes/"+fileName(m.CreatedAt, m.Layer, m.Title, m.ID), heading(1, m.Title, m.ID)+facts(
			"id", m.ID, "layer", m.Layer, "status", m.Status, "agent", m.Agent, "project", m.Project, "tags", strings.Join(m.Tags, ", "),
			"created", stamp(m.CreatedAt))+fence(*m.Body))
	}
	return nil
}

// append adds text to a file of the folder.
func (b *book) append(name, text string) error {
	f, err := os.OpenFile(filepath.Join(b.dir, filepath.FromSlash(name)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return writing(err)
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return writing(err)
}

func writeMessage(out *strings.Builder, m ambry.Message) {
	if m.Hidden {
		return
	}
	if m.Text != "" {
		out.WriteString(heading(3, string(m.Role), "message"))
		out.WriteString(fence(m.Text))
	}
	for _, c := range m.Calls {
		out.WriteString(heading(4, "tool: "+c.Name, "tool"))
		for _, text := range []string{c.Input, c.Output} {
			if text != "" {
				out.WriteString(fence(text))
			}
		}
	}
}

// heading is a line that cannot become anything else, whatever text says.
func heading(level int, text, absent string) string {
	text = plainLine(text)
	if text == "" {
		text = absent
	}
	return strings.Repeat("#", level) + " " + escape(text) + "\n\n"
}

// facts lists names and values, those that there are.
func facts(pairs ...string) string {
	var out strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		if value := plainLine(pairs[i+1]); value != "" {
			fmt.Fprintf(&out, "- %s: %s\n", pairs[i], escape(value))
		}
	}
	out.WriteByte('\n')
	return out.String()
}

// meansNothing are characters without a meaning in the middle of a line. Those of
// dates have none between digits, either: what reads addresses wants letters.
const (
	meansNothing = `-,;'"?%+=/`
	ofDates      = ":."
)

// escape takes the meaning from every character that has one in Markdown or
// HTML. What it returns does not begin a line.
func escape(text string) string {
	var out strings.Builder
	runes := []rune(text)
	digit := func(i int) bool { return i >= 0 && i < len(runes) && '0' <= runes[i] && runes[i] <= '9' }
	for i, r := range runes {
		harmless := strings.ContainsRune(meansNothing, r) || strings.ContainsRune(ofDates, r) && digit(i-1) && digit(i+1)
		if r < 0x80 && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !harmless {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// plainLine is text on one line without what moves a cursor or hides.
func plainLine(text string) string { return strings.Join(strings.Fields(ambry.Plain(text)), " ") }

// fence puts text into a block that it cannot end.
func fence(text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	mark := strings.Repeat("`", longest+1)
	return mark + "text\n" + strings.TrimRight(ambry.Plain(text), "\n") + "\n" + mark + "\n\n"
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05 UTC")
}

// fileName is a name that sorts by time, says something, and is one of its own.
func fileName(at time.Time, kind, title, id string) string {
	sum := sha256.Sum256([]byte(id))
	parts := []string{}
	if !at.IsZero() {
		parts = append(parts, at.UTC().Format("2006-01-02"))
	}
	for _, text := range []string{kind, title} {
		if s := slug(text); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(append(parts, hex.EncodeToString(sum[:4])), "-") + ".md"
}

// maxSlug is how much of a title a file name repeats, in letters.
const maxSlug = 40

func slug(text string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case out.Len() >= maxSlug:
			return strings.Trim(out.String(), "-")
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			out.WriteRune(r)
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "-"):
			out.WriteByte('-')
		}
	}
	return strings.Trim(out.String(), "-")
}
