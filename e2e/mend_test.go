//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// TestADamagedIndexIsMendedWithoutABackup zeroes a page of an index of the memory.
// Doctor says that the memories are whole, makes the index anew, and nothing is
// lost; what was there is kept.
func TestADamagedIndexIsMendedWithoutABackup(t *testing.T) {
	home := t.TempDir()
	cmd, c := serve(t, home, t.Output())
	notes := map[string]string{}
	for n := range 20 {
		text := fmt.Sprintf("note %d of the lighthouse", n)
		m, err := c.Add(t.Context(), ambry.Note{Content: text}, "")
		if err != nil {
			t.Fatal(err)
		}
		notes[m.ID] = text
	}
	doctor := func(args ...string) (string, error) {
		cmd := exec.Command("ambry", append([]string{"doctor"}, args...)...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "WORK=" + home}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	end(t, cmd)
	file := filepath.Join(home, ".ambry", "memory.db")
	page := ask[int64](t, file, "SELECT rootpage FROM sqlite_schema WHERE name = 'memory_by_time'")[0]
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 4096), (page-1)*4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if said, err := doctor(); err == nil || !strings.Contains(said, "the memories are whole") {
		t.Errorf("doctor: %v: %s", err, said)
	}
	if said, err := doctor("--fix"); err != nil || !strings.Contains(said, "anew from its rows") {
		t.Fatalf("doctor --fix: %v: %s", err, said)
	}
	if said, err := doctor("--fix"); err != nil || strings.Contains(said, "anew") {
		t.Errorf("doctor --fix once more: %v: %s", err, said)
	}
	if kept, _ := filepath.Glob(filepath.Join(home, ".ambry", "damaged", "memory-*.db")); len(kept) != 1 {
		t.Errorf("of what was there is kept: %v", kept)
	}
	cmd, c = serve(t, home, t.Output())
	defer end(t, cmd)
	for id, text := range notes {
		if d, err := c.Get(t.Context(), id); err != nil || !strings.Contains(fmt.Sprintf("%+v", d), text) {
			t.Errorf("%s is %+v, %v", id, d, err)
		}
	}
	if n := with(t, c, "lighthouse"); n != int64(len(notes)) {
		t.Errorf("%d notes of %d are found by a word", n, len(notes))
	}
}
