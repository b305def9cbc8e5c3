package state

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// writerHome names the variable that turns the test binary into a process that
// keeps marks until it is killed.
const writerHome = "AMBRY_TEST_STATE"

func TestMain(m *testing.M) {
	dir := os.Getenv(writerHome)
	if dir == "" {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, keepForever(dir))
	os.Exit(1)
}

// keepForever adds a mark and a count at a time, and says each one's number
// once it is kept.
func keepForever(dir string) error {
	ctx := context.Background()
	h, err := home.Open(dir)
	if err != nil {
		return err
	}
	db, err := Open(ctx, h)
	if err != nil {
		return err
	}
	totals, err := db.Totals(ctx, "codex")
	if err != nil {
		return err
	}
	for n := totals.Messages + 1; ; n++ {
		mark := map[string]ambry.FileMark{fmt.Sprint(n): {Mark: []byte(fmt.Sprint(n)), Messages: 1}}
		if err := db.SetMarks(ctx, "codex", mark); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

func TestKilledWriterLosesNothing(t *testing.T) {
	cycles := 50
	if testing.Short() {
		cycles = 10
	}
	h := newHome(t)
	for i := range cycles {
		acknowledged := killedWriter(t, h, time.Duration(i%10)*time.Millisecond)

		db, err := Open(t.Context(), h)
		check(t, err)
		totals, err := db.Totals(t.Context(), "codex")
		check(t, err)
		kept := totals.Messages
		if kept < acknowledged {
			t.Errorf("%d was acknowledged, %d is kept", acknowledged, kept)
		}
		if got := int64(len(marks(t, db, "codex"))); got != kept {
			t.Errorf("%d marks, but %d counted", got, kept)
		}
		var sound string
		check(t, db.read.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&sound))
		if sound != "ok" {
			t.Errorf("integrity_check says %s", sound)
		}
		check(t, db.Close())
	}
}

// killedWriter starts a writer, kills it some time after its first
// acknowledgement, and returns the last one.
func killedWriter(t *testing.T, h home.Home, after time.Duration) (last int64) {
	t.Helper()
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), writerHome+"="+h.Dir())
	writer.Stderr = t.Output()
	out, err := writer.StdoutPipe()
	check(t, err)
	check(t, writer.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		first := last == 0
		if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
			t.Fatalf("the writer says %q", lines.Text())
		}
		if first {
			timer := time.AfterFunc(after, func() { _ = writer.Process.Kill() })
			defer timer.Stop()
		}
	}
	_ = writer.Wait()
	if last == 0 {
		t.Fatal("the writer kept nothing")
	}
	return last
}
