package foreign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"ambry.dev/ambry"
)

// basicMemory is basic-memory: Markdown files with front matter that has a
// permalink.
var basicMemory = Format{
	ID: "basic-memory", Name: "basic-memory",
	Is: func(path string) bool {
		if !directory(path) {
			return false
		}
		seen, with := 0, 0
		for f := range texts(context.Background(), path) {
			if f.err != nil || seen >= 50 {
				break
			}
			seen++
			if p := parsePage(f.text); p.fields["permalink"] != "" {
				with++
			}
		}
		return with > 0 && 2*with >= seen
	},
	Read: func(ctx context.Context, path string) iter.Seq2[Item, error] {
		return readPages(ctx, path, "basic-memory")
	},
}

// markdown is a folder of Markdown files, or one of them.
var markdown = Format{
	ID: "markdown", Name: "Markdown",
	Is: func(path string) bool {
		for f := range texts(context.Background(), path) {
			return f.err == nil
		}
		return false
	},
	Read: func(ctx context.Context, path string) iter.Seq2[Item, error] { return readPages(ctx, path, "markdown") },
}

// The bounds of a folder.
const (
	maxPage  = 4 << 20
	maxDepth = 16
	maxPages = 200_000
)

type file struct {
	name string // below the folder
	text string
	info fs.FileInfo
	err  error
}

// texts yields the Markdown files at path. Links are not followed; hidden
// directories and those that hold what other people wrote are left out.
func texts(ctx context.Context, path string) iter.Seq[file] {
	return func(yield func(file) bool) {
		n := 0
		err := filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			rel, relErr := filepath.Rel(path, at)
			switch {
			case err != nil || relErr != nil:
				if !yield(file{name: rel, err: fmt.Errorf("%s cannot be read", filepath.ToSlash(rel))}) {
					return fs.SkipAll
				}
				return fs.SkipDir
			case e.IsDir():
				name := e.Name()
				if at != path && (strings.HasPrefix(name, ".") || name == "node_modules") || strings.Count(rel, string(filepath.Separator)) >= maxDepth {
					return fs.SkipDir
				}
				return nil
			case !e.Type().IsRegular() || !isPage(at):
				return nil
			}
			if n++; n > maxPages {
				return fmt.Errorf("there are more than %d files", maxPages)
			}
			f := file{name: filepath.ToSlash(rel)}
			if rel == "." {
				f.name = filepath.Base(at)
			}
			f.info, f.err = e.Info()
			if f.err == nil && tooLarge(f.info, maxPage) {
				f.err = fmt.Errorf("%s is larger than %d bytes", f.name, maxPage)
			}
			if f.err == nil {
				var data []byte
				if data, f.err = os.ReadFile(at); f.err == nil {
					f.text = strings.ToValidUTF8(string(data), "\uFFFD")
				}
			}
			if !yield(f) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(file{err: err})
		}
	}
}

func isPage(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown", ".mdx":
		return true
	}
	return false
}

func readPages(ctx context.Context, path, source string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for f := range texts(ctx, path) {
			if f.err != nil {
				if !yield(Item{}, f.err) {
					return
				}
				continue
			}
			p := parsePage(f.text)
			if strings.TrimSpace(p.body) == "" {
				continue
			}
			n := ambry.Note{
				Content: p.body, Title: first(p.fields["title"], p.heading, strings.TrimSuffix(filepath.Base(f.name), filepath.Ext(f.name))),
				Tags: tags(p.fields["type"], p.tags...), Layer: layerOf(p.fields["type"]),
				CreatedAt: at(first(p.fields["created"], p.fields["created_at"], p.fields["date"])),
			}
			if n.CreatedAt.IsZero() {
				n.CreatedAt = f.info.ModTime().UTC()
			}
			if len(p.body) > maxText {
				if !yield(Item{}, fmt.Errorf("%s is longer than a note may be; its beginning is taken", f.name)) {
					return
				}
			}
			// A page that was changed is another note: the one before stays as it was.
			sum := sha256.Sum256([]byte(f.text))
			if !yield(item(n, source, clip(f.name, 100)+":"+hex.EncodeToString(sum[:8])), nil) {
				return
			}
		}
	}
}

// page is a Markdown file.
type page struct {
	fields  map[string]string // of the front matter, those that are one line
	tags    []string
	heading string
	body    string
}

// parsePage takes a file apart. What is no front matter is text.
func parsePage(text string) page {
	p := page{fields: map[string]string{}}
	text = strings.TrimPrefix(text, "\uFEFF")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if head, rest, ok := frontMatter(text); ok {
		p.parseFields(head)
		text = rest
	}
	p.body = strings.Trim(text, "\n")
	for line := range strings.Lines(p.body) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			p.heading = strings.TrimSpace(title)
			break
		}
	}
	return p
}

func frontMatter(text string) (head, rest string, ok bool) {
	after, begins := strings.CutPrefix(text, "---\n")
	if !begins {
		return "", text, false
	}
	head, rest, ok = strings.Cut(after, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix(after, "\n---"); !ok {
			return "", text, false
		}
	}
	return head, rest, true
}

// parseFields reads the lines of front matter that people write: a name and a
// value, and lists below a name.
func (p *page) parseFields(head string) {
	name := ""
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\r\n")
		if entry, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && name == "tags" {
			p.tags = append(p.tags, unquote(entry))
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || key != strings.TrimSpace(key) {
			continue
		}
		name, value = strings.ToLower(key), strings.TrimSpace(value)
		if name == "tags" {
			for tag := range strings.SplitSeq(strings.Trim(value, "[]"), ",") {
				if tag = unquote(tag); tag != "" {
					p.tags = append(p.tags, tag)
				}
			}
			continue
		}
		p.fields[name] = unquote(value)
	}
}

func unquote(s string) string {
	return strings.TrimPrefix(strings.Trim(strings.TrimSpace(s), `"'`), "#")
}
