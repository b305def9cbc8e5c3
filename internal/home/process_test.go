package home_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ambry.dev/ambry/internal/home"
)

// role names the variable that turns the test binary into one of the processes
// that the tests start.
const role = "AMBRY_TEST_ROLE"

func TestMain(m *testing.M) {
	arg := ""
	if len(os.Args) > 1 {
		arg = os.Args[1]
	}
	var err error
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "umask":
		home.Umask()
		err = os.WriteFile(filepath.Join(arg, "file"), nil, 0o666)
	case "writer":
		err = writeForever(arg)
	case "holder":
		err = hold(arg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// writeForever replaces the file with one whole content after the other.
func writeForever(path string) error {
	for i := 0; ; i++ {
		if err := home.WriteFile(path, content(i), 0o600); err != nil {
			return err
		}
	}
}

// content is 64 KiB of the same byte.
func content(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 64<<10) }

// hold takes the lock, says so, and holds it until its input ends.
func hold(path string) error {
	l, err := home.Acquire(path)
	if err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return l.Release()
}

func start(t *testing.T, as string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, as, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func command(t *testing.T, as string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = t.Output()
	return cmd
}
