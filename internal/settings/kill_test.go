package settings_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry/internal/settings"
)

// changerFile names the variable that turns the test binary into a process that
// changes a file until it is killed.
const changerFile = "AMBRY_TEST_SETTINGS"

func TestMain(m *testing.M) {
	file := os.Getenv(changerFile)
	if file == "" {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, changeForever(file))
	os.Exit(1)
}

// changeForever writes one value after the other, and says which ones are
// written.
func changeForever(file string) error {
	for i := 0; ; i++ {
		n := fmt.Sprint(1 + i%199)
		if _, err := settings.Change(context.Background(), file, "api.maxEventStreams", n); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

func TestKilledInTheMiddleOfAChange(t *testing.T) {
	cycles := 100
	if testing.Short() {
		cycles = 15
	}
	head := strings.Repeat("# what a person wrote, and wants to find again\n", 200)
	text := func(n string) string { return head + "api:\n  maxEventStreams: " + n + " # mine\n" }
	file := write(t, text("1"))
	for i := range cycles {
		last := killedChanger(t, file, time.Duration(i%40)*200*time.Microsecond)
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := settingsIn(t, file).API.MaxEventStreams
		if string(after) != text(fmt.Sprint(n)) {
			t.Fatalf("the file is neither old nor new: %d bytes, %q at its end", len(after), after[max(0, len(after)-60):])
		}
		if next := last%199 + 1; n != last && n != next {
			t.Errorf("%d was acknowledged, the file says %d", last, n)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*.ambry-tmp"))
	t.Logf("%d of %d changes were cut in the middle", len(left), cycles)
	if err != nil || len(left) == 0 {
		t.Errorf("no write was interrupted in %d cycles (%v): the test sees nothing", cycles, err)
	}
}

func settingsIn(t *testing.T, file string) settings.Settings {
	t.Helper()
	return load(t, settings.Sources{File: file})
}

// killedChanger runs a process that changes the file, kills it a while after its
// first change, and returns what it said last.
func killedChanger(t *testing.T, file string, life time.Duration) (last int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), changerFile+"="+file)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
			t.Fatal(err)
		}
		if life >= 0 {
			time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
			life = -1
		}
	}
	_ = cmd.Wait() // it was killed
	return last
}
