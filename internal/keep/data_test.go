package keep_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/keep"
)

func TestCheckFindsAndRemoves(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 4)
	const words = "the Wombat 2"
	before, err := w.Export(t.Context(), ambry.ExportData{})
	check(t, err)
	_, err = w.engine.Backup(t.Context())
	check(t, err)
	check(t, os.WriteFile(filepath.Join(w.Home.Logs(), "service.log"), []byte("line\nabout THE wombat 2 and more\n"), 0o600))

	got, err := w.Check(t.Context(), ambry.DataCheck{Words: words})
	check(t, err)
	found := map[string]bool{}
	for _, f := range got.Found {
		found[strings.Split(f.File, "/")[0]] = true
	}
	if got.Absent || !found["memories"] || !found["exports"] || !found["backups"] || got.Masked != 1 {
		t.Errorf("before: %+v", got)
	}
	if log, _ := os.ReadFile(filepath.Join(w.Home.Logs(), "service.log")); string(log) != "line\nabout ************ and more\n" {
		t.Errorf("the log is %q", log)
	}
	_, err = w.engine.ForgetAll(t.Context(), ambry.Forget{Words: words}, "")
	check(t, err)
	got, err = w.Check(t.Context(), ambry.DataCheck{Words: words})
	if err != nil || got.Absent || len(got.Found) != 2 {
		t.Errorf("without consent: %+v, %v", got, err)
	}
	got, err = w.Check(t.Context(), ambry.DataCheck{Words: words, RemoveBackups: true, RemoveExports: true})
	if err != nil || !got.Absent || len(got.Removed) != 2 || got.Files < 4 {
		t.Errorf("with consent: %+v, %v", got, err)
	}
	if _, err := os.Stat(before.ExportPath); !os.IsNotExist(err) {
		t.Error("the export is still there")
	}
	if _, err := w.Check(t.Context(), ambry.DataCheck{Words: "a"}); ambry.KindOf(err) != ambry.InvalidArgument {
		t.Errorf("one letter: %v", err)
	}
}

func TestDelete(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 3)
	_, err := w.engine.Backup(t.Context())
	check(t, err)
	check(t, w.db.SetMarks(t.Context(), "codex", map[string]ambry.FileMark{"/x": {Messages: 1}}))
	if _, err := w.Delete(t.Context(), ambry.DeleteData{}); ambry.KindOf(err) != ambry.InvalidArgument {
		t.Errorf("without confirm: %v", err)
	}
	out, err := w.Delete(t.Context(), ambry.DeleteData{Confirm: true})
	check(t, err)
	if out.Removed["memories"] != 4 || out.Removed["backups"] != 1 || w.stops != 1 || len(out.Kept) == 0 || out.Scope != ambry.ScopeMemory {
		t.Errorf("%+v, %d stops", out, w.stops)
	}
	if marks, err := w.db.Marks(t.Context(), "codex"); err != nil || len(marks) != 1 {
		t.Errorf("marks: %v, %v", marks, err)
	}
	got, err := w.Check(t.Context(), ambry.DataCheck{Words: "wombat"})
	if err != nil || !got.Absent {
		t.Errorf("left: %+v, %v", got, err)
	}
	out, err = w.Delete(t.Context(), ambry.DeleteData{Confirm: true, Scope: ambry.ScopeAll})
	check(t, err)
	if out.Removed["memories"] != 0 {
		t.Errorf("again: %+v", out)
	}
	if marks, err := w.db.Marks(t.Context(), "codex"); err != nil || len(marks) != 0 {
		t.Errorf("marks: %v, %v", marks, err)
	}
}

// A deletion that was killed after it could not be stopped any more is ended by
// the next start; before that nothing happened.
func TestBrokenOffDeletionIsEnded(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 3)
	check(t, w.Resume(t.Context()))
	if h, err := w.engine.Status(t.Context()); err != nil || h.Memories != 4 {
		t.Fatalf("without an intent: %+v, %v", h, err)
	}
	check(t, os.WriteFile(filepath.Join(w.Home.Dir(), keep.IntentName), []byte(`{"scope":"other"}`), 0o600))
	if err := w.Resume(t.Context()); err == nil {
		t.Error("an intent without sense was obeyed")
	}
	if h, err := w.engine.Status(t.Context()); err != nil || h.Memories != 4 {
		t.Fatalf("an intent without sense: %+v, %v", h, err)
	}
	check(t, os.WriteFile(filepath.Join(w.Home.Dir(), keep.IntentName), []byte(`{"scope":"all"}`), 0o600))
	check(t, w.Resume(t.Context()))
	if h, err := w.engine.Status(t.Context()); err != nil || h.Memories != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := os.Stat(filepath.Join(w.Home.Dir(), keep.IntentName)); !os.IsNotExist(err) {
		t.Error("the intent is still there")
	}
}

func TestOneAtATime(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 1)
	inside, goOn := make(chan struct{}), make(chan struct{})
	w.StopScan = func(context.Context) error { close(inside); <-goOn; return nil }
	done := make(chan error, 1)
	go func() {
		_, err := w.Delete(context.Background(), ambry.DeleteData{Confirm: true})
		done <- err
	}()
	<-inside
	if _, err := w.Export(t.Context(), ambry.ExportData{}); ambry.KindOf(err) != ambry.Conflict {
		t.Errorf("an export during a deletion: %v", err)
	}
	close(goOn)
	check(t, <-done)
}

func TestSizes(t *testing.T) {
	w := newWorld(t)
	w.fill(t, 2)
	_, err := w.engine.Backup(t.Context())
	check(t, err)
	got, err := w.Sizes(t.Context())
	check(t, err)
	parts := map[string]ambry.DataPart{}
	var sum int64
	for _, p := range got.Parts {
		parts[p.Name] = p
		sum += p.Bytes
	}
	if sum != got.Bytes || parts["memory"].Bytes == 0 || parts["backups"].Files != 1 || got.Freeable != parts["backups"].Bytes || len(got.Backups) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestRevealStartsOneFixedProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the stand-in is a shell script called xdg-open")
	}
	w := newWorld(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if got, err := w.Reveal(t.Context()); err != nil || got.Opened || got.DataPath != w.Home.Dir() {
		t.Errorf("without a file manager: %+v, %v", got, err)
	}
	said := filepath.Join(bin, "said")
	check(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nprintf '%s|' \"$#\" \"$@\" >"+said+"\n"), 0o700))
	if got, err := w.Reveal(t.Context()); err != nil || !got.Opened {
		t.Errorf("with one: %+v, %v", got, err)
	}
	if args, _ := os.ReadFile(said); string(args) != "1|"+w.Home.Dir()+"|" {
		t.Errorf("it was given %q", args)
	}
	check(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nexit 3\n"), 0o700))
	if got, err := w.Reveal(t.Context()); err != nil || got.Opened {
		t.Errorf("headless: %+v, %v", got, err)
	}
}
