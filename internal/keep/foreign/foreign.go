// Package foreign reads what other programs remember: their databases, folders
// and exports. Each format is a file of this package and a line of [Formats]. It
// stores nothing, and changes nothing of what it reads.
package foreign

import (
	"context"
	"io/fs"
	"iter"
	"os"
	"slices"

	"ambry.dev/ambry"
)

// Item is something that another program remembers: a note or a conversation.
type Item struct {
	Note         *ambry.Note
	Conversation *ambry.Conversation

	// Key is the same whenever the same thing is read again, and no other has it.
	Key string
}

// Format is a way in which another program keeps what it remembers.
type Format struct {
	ID   string
	Name string

	// Is reports whether the file or folder at path is of this format.
	Is func(path string) bool

	// Read yields what is in it. An error says what of it could not be read; what
	// comes after it is read all the same, if there is more.
	Read func(ctx context.Context, path string) iter.Seq2[Item, error]
}

// Formats are all formats, those that are easily recognised first.
var Formats = []Format{
	claudeMem,
	engram,
	memmy,
	mem0,
	memPalace,
	chatGPT,
	claudeAI,
	basicMemory,
	markdown,
}

// Find returns the format with an id, or that of what is at path if id is empty.
func Find(path, id string) (Format, error) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.ID == id || id == "" && f.Is(path) })
	if i >= 0 {
		return Formats[i], nil
	}
	if id != "" {
		return Format{}, ambry.InvalidArgument.Errorf("there is no format %q; %s", id, known())
	}
	return Format{}, ambry.InvalidArgument.Errorf("this is of no format that can be read; %s", known())
}

func known() string {
	text := "there are"
	for i, f := range Formats {
		if i > 0 {
			text += ","
		}
		text += " " + f.ID
	}
	return text
}

// regular reports whether path is a file.
func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func directory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// once is a sequence of one error.
func once(err error) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) { yield(Item{}, err) }
}

// maxText is how much of one note is taken, in bytes; the memory takes no more.
const maxText = 1_000_000

// clip cuts a text that is longer than a note may be.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit]
}

// tooLarge reports a file that is not read.
func tooLarge(info fs.FileInfo, limit int64) bool { return info.Size() > limit }
