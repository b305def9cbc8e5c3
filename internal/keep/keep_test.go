package keep_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/keep"
	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
	"ambry.dev/ambry/internal/state"
)

// world is a keeper over a real memory and a real state.
type world struct {
	*keep.Keeper
	user   string
	engine *engine.Engine
	db     *state.DB
	bus    *bus
	stops  int
}

type bus struct {
	mu   sync.Mutex
	said []ambry.DataProgress
}

func (b *bus) Publish(p ambry.Payload) ambry.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, p.(ambry.DataProgress))
	return ambry.Event{}
}

type intake struct{ m memory.Runtime }

func (i intake) AddNote(ctx context.Context, n ambry.Note, key string) (ambry.Memory, error) {
	return i.m.Add(ctx, redact.CleanNote(n), key)
}

func (i intake) AddConversations(ctx context.Context, cs []ambry.Conversation) (ambry.Imported, error) {
	clean := make([]redact.Conversation, len(cs))
	for n, c := range cs {
		clean[n] = redact.Clean(c)
	}
	return i.m.Import(ctx, clean)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	user := t.TempDir()
	h, err := home.Open(filepath.Join(user, ".ambry"))
	check(t, err)
	s, err := store.Open(t.Context(), store.Config{Path: h.MemoryDB(), BackupDir: h.Backups()})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	db, err := state.Open(t.Context(), h)
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	w := &world{user: user, engine: engine.New(engine.Config{Store: s}), db: db, bus: &bus{}}
	w.Keeper = &keep.Keeper{
		Home: h, UserHome: user, Version: "test", Memory: w.engine, Intake: intake{w.engine}, State: db,
		StopScan: func(context.Context) error { w.stops++; return nil },
		Bus:      w.bus, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}
	return w
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) fill(t *testing.T, sessions int) {
	t.Helper()
	for i := range sessions {
		at := time.Date(2026, 3, 1, 12, i, 0, 0, time.UTC)
		_, err := intake{w.engine}.AddConversations(t.Context(), []ambry.Conversation{{
			Session: ambry.Session{ID: fmt.Sprint("s", i), Agent: "codex", Project: "/home/ana/work", Title: "A [title](javascript:x) <script>", StartedAt: at},
			Turns: []ambry.Turn{{ID: fmt.Sprint("t", i), At: at, Messages: []ambry.Message{
				{ID: "q", Role: ambry.User, Text: fmt.Sprintf("where is the wombat %d?", i), At: at},
				{ID: "a", Role: ambry.Assistant, Text: "````\n![x](http://example.com/x.png)\n=cmd|' /C calc'!A0", Calls: []ambry.ToolCall{{Name: "shell", Input: "ls", Output: "a"}}},
			}}},
		}})
		check(t, err)
	}
	_, err := intake{w.engine}.AddNote(t.Context(), ambry.Note{Content: "a note about quokkas", Tags: []string{"x"}}, "")
	check(t, err)
}

func TestExportIsWholeAndComesBack(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 3)
	out, err := w.Export(t.Context(), ambry.ExportData{TargetPath: filepath.Join(w.user, "mine.zip")})
	check(t, err)
	if out.Manifest.Counts["turn"] != 3 || out.Manifest.Counts["memory"] != 4 || len(out.Manifest.Files) != 7 || out.Bytes == 0 {
		t.Errorf("%+v", out)
	}
	if info, err := os.Stat(out.ExportPath); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := w.Export(t.Context(), ambry.ExportData{TargetPath: out.ExportPath}); ambry.KindOf(err) != ambry.Conflict {
		t.Errorf("over an export: %v", err)
	}
	if last := w.bus.said[len(w.bus.said)-1]; last.Operation != "export" {
		t.Errorf("last event %+v", last)
	}

	other := newWorld(t)
	dry, err := other.Import(t.Context(), ambry.ImportData{Path: out.ExportPath, DryRun: true})
	if err != nil || dry.From != "ambry" || dry.Notes != 4 || dry.Conversations != 3 || dry.Added != 0 {
		t.Errorf("dry run %+v, %v", dry, err)
	}
	done, err := other.Import(t.Context(), ambry.ImportData{Path: out.ExportPath})
	check(t, err)
	if done.Added == 0 || done.Skipped != 0 {
		t.Errorf("%+v", done)
	}
	again, err := other.Import(t.Context(), ambry.ImportData{Path: out.ExportPath})
	if err != nil || again.Added+again.Updated != 0 {
		t.Errorf("again %+v, %v", again, err)
	}
	second, err := other.Export(t.Context(), ambry.ExportData{})
	check(t, err)
	for i, f := range second.Manifest.Files {
		if f != out.Manifest.Files[i] {
			t.Errorf("%+v is not %+v", f, out.Manifest.Files[i])
		}
	}
	if filepath.Dir(second.ExportPath) != other.Home.Exports() {
		t.Errorf("it went to %s", second.ExportPath)
	}
}

func TestExportWhileWritesGoOn(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 20)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_, _ = intake{w.engine}.AddNote(ctx, ambry.Note{Content: fmt.Sprint("written meanwhile ", i)}, "")
		}
	})
	out, err := w.Export(t.Context(), ambry.ExportData{})
	stop()
	writing.Wait()
	check(t, err)
	other := newWorld(t)
	done, err := other.Import(t.Context(), ambry.ImportData{Path: out.ExportPath})
	if err != nil || int64(done.Added) != out.Manifest.Counts["session"]+out.Manifest.Counts["turn"]+out.Manifest.Counts["memory"]+out.Manifest.Counts["call"] {
		t.Errorf("%+v, %v of %+v", done, err, out.Manifest.Counts)
	}
}

func TestDamagedArchivesAreRefused(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 2)
	out, err := w.Export(t.Context(), ambry.ExportData{})
	check(t, err)
	whole, err := os.ReadFile(out.ExportPath)
	check(t, err)
	other := newWorld(t)
	for name, data := range map[string][]byte{
		"half":       whole[:len(whole)/2],
		"nothing":    nil,
		"noise":      []byte("PK\x03\x04 and noise"),
		"other text": repack(t, whole, "turns.ndjson", []byte("{}\n")),
		"a newer one": repack(t, whole, "manifest.json",
			[]byte(`{"format":"ambry-export","version":99}`)),
	} {
		path := filepath.Join(t.TempDir(), "x.zip")
		check(t, os.WriteFile(path, data, 0o600))
		if _, err := other.Import(t.Context(), ambry.ImportData{Path: path, From: "ambry"}); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	h, err := other.engine.Status(t.Context())
	if err != nil || h.Memories != 0 {
		t.Errorf("something of it came in: %+v, %v", h, err)
	}
}

// repack returns a zip with another content of one file.
func repack(t *testing.T, whole []byte, name string, content []byte) []byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	check(t, err)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range r.File {
		to, err := w.Create(f.Name)
		check(t, err)
		if f.Name == name {
			_, err = to.Write(content)
		} else {
			from, openErr := f.Open()
			check(t, openErr)
			_, err = io.Copy(to, from)
		}
		check(t, err)
	}
	check(t, w.Close())
	return out.Bytes()
}

func TestExportTargets(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 1)
	outside := t.TempDir()
	check(t, os.Mkdir(filepath.Join(w.user, ".config"), 0o700))
	check(t, os.Mkdir(filepath.Join(w.user, "docs"), 0o700))
	check(t, os.WriteFile(filepath.Join(w.user, "docs", "there.zip"), []byte("mine"), 0o600))
	links := runtime.GOOS != "windows"
	if links {
		check(t, os.Symlink(outside, filepath.Join(w.user, "out")))
		check(t, os.Symlink(filepath.Join(w.user, "docs"), filepath.Join(w.user, "in")))
	}
	for name, path := range map[string]string{
		"relative":                "docs/x.zip",
		"not plain":               w.user + "/docs/../docs/x.zip",
		"outside":                 filepath.Join(outside, "x.zip"),
		"above":                   filepath.Dir(w.user),
		"hidden":                  filepath.Join(w.user, ".config", "x.zip"),
		"hidden itself":           filepath.Join(w.user, ".x.zip"),
		"our own directory":       filepath.Join(w.Home.Dir(), "memory.zip"),
		"no parent":               filepath.Join(w.user, "no", "such", "x.zip"),
		"a NUL":                   filepath.Join(w.user, "docs") + "/x\x00.zip",
		"a system":                "/proc/1/x",
		"a link":                  filepath.Join(w.user, "in"),
		"through a link outwards": filepath.Join(w.user, "out", "x.zip"),
	} {
		if !links && strings.Contains(name, "link") {
			continue
		}
		if got, err := w.Export(t.Context(), ambry.ExportData{TargetPath: path}); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%s: %+v, %v", name, got.ExportPath, err)
		}
	}
	if _, err := w.Export(t.Context(), ambry.ExportData{TargetPath: filepath.Join(w.user, "docs", "there.zip")}); ambry.KindOf(err) != ambry.Conflict {
		t.Errorf("over a file: %v", err)
	}
	for _, path := range []string{"docs", "new", "docs/x.zip"} {
		if _, err := w.Export(t.Context(), ambry.ExportData{TargetPath: filepath.Join(w.user, path)}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(w.user, "docs", "there.zip")); err != nil || string(data) != "mine" {
		t.Error("a file of the person was changed")
	}
}

// broken is a memory whose export fails in the middle.
type broken struct{ memory.Custody }

func (broken) Export(_ context.Context, w io.Writer) error {
	_, _ = io.WriteString(w, `{"header":{"format":"ambry-memory","version":1}}`+"\n"+`{"turn":`)
	return ambry.MemoryUnavailable.Errorf("the memory stopped")
}

func TestFailedExportLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.Memory = broken{w.engine}
	for _, format := range []ambry.ExportFormat{ambry.ExportArchive, ambry.ExportMarkdown} {
		if _, err := w.Export(t.Context(), ambry.ExportData{Format: format, TargetPath: filepath.Join(w.user, "new")}); ambry.KindOf(err) != ambry.MemoryUnavailable {
			t.Errorf("%s: %v", format, err)
		}
		if _, err := os.Stat(filepath.Join(w.user, "new")); !os.IsNotExist(err) {
			t.Errorf("%s: something is left: %v", format, err)
		}
	}
	if last := w.bus.said[len(w.bus.said)-1]; last.Phase != "failed" {
		t.Errorf("last event %+v", last)
	}
}

func TestMarkdownShowsTextAndRunsNothing(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 2)
	out, err := w.Export(t.Context(), ambry.ExportData{Format: ambry.ExportMarkdown, TargetPath: filepath.Join(w.user, "texts")})
	check(t, err)
	pages := 0
	check(t, filepath.WalkDir(out.ExportPath, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Base(path) == "README.md" {
			return err
		}
		pages++
		data, err := os.ReadFile(path)
		fenced := ""
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			if mark := strings.TrimRight(line, "tex"); strings.HasPrefix(line, "```") && (fenced == "" || line == fenced) {
				if fenced == "" {
					fenced = mark
				} else {
					fenced = ""
				}
				continue
			}
			if fenced == "" && (strings.Contains(line, "](") || strings.Contains(line, "<script") && !strings.Contains(line, `\<script`)) {
				t.Errorf("%s has %q outside of a block", filepath.Base(path), line)
			}
		}
		if fenced != "" {
			t.Errorf("%s ends inside a block", filepath.Base(path))
		}
		return err
	}))
	if pages != 3 {
		t.Errorf("%d texts, want 3", pages)
	}
}

func TestImportRefuses(t *testing.T) {
	w := newWorld(t)
	noise := filepath.Join(t.TempDir(), "noise.bin")
	check(t, os.WriteFile(noise, []byte("noise"), 0o600))
	for name, tt := range map[string]struct {
		in   ambry.ImportData
		want ambry.Kind
	}{
		"a relative path":   {ambry.ImportData{Path: "x"}, ambry.InvalidArgument},
		"nothing":           {ambry.ImportData{Path: filepath.Join(w.user, "nothing")}, ambry.NotFound},
		"a system's file":   {ambry.ImportData{Path: "/proc/self/environ"}, ambry.InvalidArgument},
		"a device":          {ambry.ImportData{Path: "/dev/zero"}, ambry.InvalidArgument},
		"noise":             {ambry.ImportData{Path: noise}, ambry.InvalidArgument},
		"an unknown format": {ambry.ImportData{Path: noise, From: "nonsense"}, ambry.InvalidArgument},
	} {
		if runtime.GOOS != "linux" && strings.HasPrefix(tt.in.Path, "/") && tt.want == ambry.InvalidArgument && strings.Contains(name, "system") {
			continue
		}
		if _, err := w.Import(t.Context(), tt.in); ambry.KindOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

func TestImportOfANotesFolder(t *testing.T) {
	w := newWorld(t)
	secret := "sk-" + strings.Repeat("a1B2c3D4", 6)
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "one.md"), []byte("# One\n\nthe key is "+secret+"\n"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "two.md"), []byte("---\ntags: [a, b]\n---\ntwo\n"), 0o600))
	done, err := w.Import(t.Context(), ambry.ImportData{Path: dir})
	if err != nil || done.From != "markdown" || done.Added != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	again, err := w.Import(t.Context(), ambry.ImportData{Path: dir})
	if err != nil || again.Added != 0 || again.Unchanged != 2 {
		t.Errorf("again %+v, %v", again, err)
	}
	if got, err := w.Check(t.Context(), ambry.DataCheck{Words: secret}); err != nil || !got.Absent {
		t.Errorf("the secret: %+v, %v", got, err)
	}
	if _, err := w.engine.ForgetAll(t.Context(), ambry.Forget{Words: "the key is"}, ""); err != nil {
		t.Fatal(err)
	}
	third, err := w.Import(t.Context(), ambry.ImportData{Path: dir})
	if err != nil || third.Added != 0 || third.Forgotten != 1 {
		t.Errorf("what was forgotten: %+v, %v", third, err)
	}
}

func TestManifestIsJSON(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 1)
	out, err := w.Export(t.Context(), ambry.ExportData{})
	check(t, err)
	z, err := zip.OpenReader(out.ExportPath)
	check(t, err)
	defer z.Close()
	f, err := z.Open("manifest.json")
	check(t, err)
	var m ambry.ExportManifest
	check(t, json.NewDecoder(f).Decode(&m))
	if len(m.Files) != len(out.Manifest.Files) || m.Program != "test" {
		t.Errorf("%+v", m)
	}
	for _, e := range z.File {
		if filepath.IsAbs(e.Name) || strings.Contains(e.Name, "..") {
			t.Errorf("an entry is called %s", e.Name)
		}
	}
}
