// Package codex knows Codex: where its command line program, its desktop
// program and its editor plug-ins keep their history, and what a record of it
// means. How the files look is told in docs/formats/codex.md. It does not read
// plain files by itself; package agent does.
package codex

import (
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

const id = "codex"

// Agent returns Codex.
func Agent() agent.Agent {
	files := agent.Files[state]{
		Dirs:  dirs,
		Match: match,
		Start: start,
		Parse: parse,
		Open:  open,
		Whole: func(path string) bool { return filepath.Ext(path) == ".json" },
	}
	return agent.Agent{
		ID:        id,
		Name:      "Codex",
		History:   history{files},
		Lesson:    lesson(),
		Elsewhere: func(dir string) agent.History { return history{files.In(dir)} },
	}
}

// dirs returns where the sessions are, and those that were put aside.
func dirs(h agent.Home) []string {
	home := h.Env("CODEX_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(h.Dir, ".codex")
	}
	return []string{filepath.Join(home, "sessions"), filepath.Join(home, archive)}
}

const archive = "archived_sessions"

// match takes rollout-TIME-ID.jsonl, the same compressed, and the .json files
// of the first versions.
func match(rel string) bool {
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	if !strings.HasPrefix(name, "rollout-") {
		return false
	}
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, compressed) || strings.HasSuffix(name, ".json")
}

const compressed = ".jsonl.zst"

// history leaves out a compressed file while the plain one is beside it: for a
// moment, when Codex compresses a file or goes on with it, there are both.
type history struct{ agent.Files[state] }

var _ agent.History = history{}

func (f history) Sources(ctx context.Context, h agent.Home) iter.Seq2[agent.Source, error] {
	return func(yield func(agent.Source, error) bool) {
		for src, err := range f.Files.Sources(ctx, h) {
			if err == nil && doubled(src.Path) {
				continue
			}
			if !yield(src, err) {
				return
			}
		}
	}
}

func (f history) Locate(h agent.Home, path string) (agent.Source, bool) {
	if doubled(path) {
		return agent.Source{}, false
	}
	return f.Files.Locate(h, path)
}

func doubled(path string) bool {
	plain, ok := strings.CutSuffix(path, ".zst")
	if !ok {
		return false
	}
	_, err := os.Stat(plain)
	return err == nil
}

// start tells what the path says of a session: the time and the id are in the
// name of the file.
func start(src agent.Source, b *agent.Builder) state {
	stem, _, _ := strings.Cut(filepath.Base(src.Path), ".json")
	b.Session = ambry.Session{ID: stem, Agent: id, Relation: ambry.Root}
	b.Session.Archived = filepath.Base(filepath.Dir(src.Path)) == archive
	if n := len(stem) - uuidLen; n > 0 && isUUID(stem[n:]) {
		b.Session.ID = stem[n:]
	}
	s := state{Identity: b.Session.ID}
	if name := named(src.Path, b.Session.ID); name != "" {
		b.Session.Title, s.Titled = agent.Title(name), byName
	}
	return s
}

// maxWindow bounds the memory of a decompression. Codex compresses with the
// usual settings, which need no more than 8 MiB.
const maxWindow = 32 << 20

// open opens a compressed file.
func open(src agent.Source) (io.ReadCloser, error) {
	if !strings.HasSuffix(src.Path, compressed) {
		return nil, nil
	}
	file, err := agent.OpenRegular(src.Path)
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		file.Close()
		return nil, err
	}
	return &unpacked{decoder, file}, nil
}

// unpacked is a compressed file as it was before.
type unpacked struct {
	*zstd.Decoder
	file *os.File
}

func (u *unpacked) Close() error {
	u.Decoder.Close()
	return u.file.Close()
}
