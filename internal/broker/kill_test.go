package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"ambry.dev/ambry/internal/broker"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/model/all"
	"ambry.dev/ambry/internal/secret"
	"ambry.dev/ambry/internal/state"
)

// Names of the variables that turn the test binary into a process that chooses
// one model after the other until it is killed.
const (
	chooserHome = "AMBRY_TEST_HOME"
	chooserKeys = "AMBRY_TEST_KEYS"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(chooserHome)
	if dir == "" {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, chooseForever(dir, os.Getenv(chooserKeys)))
	os.Exit(1)
}

// chooseForever chooses models with their keys, and says the number of each once
// it is chosen.
func chooseForever(dir, keys string) error {
	ctx := context.Background()
	h, err := home.Open(dir)
	if err != nil {
		return err
	}
	db, err := state.Open(ctx, h)
	if err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	secrets, err := secret.Open(secret.Config{Home: h, KeyDir: keys, Log: log, Now: time.Now})
	if err != nil {
		return err
	}
	b, err := broker.New(ctx, broker.Config{
		Providers: all.Providers(), Setup: db.ModelSetup, Secrets: secrets, Log: log, Now: time.Now, Changed: func([]string) {},
	})
	if err != nil {
		return err
	}
	n := 0
	if v, err := b.ModelConfig(ctx); err != nil {
		return err
	} else if _, err := fmt.Sscanf(v.ModelID, "model-%d", &n); err != nil {
		n = -1
	}
	for n++; ; n++ {
		in := input("openai_compatible", fmt.Sprintf("https://host-%d.example.com", n%5), keyOf(n))
		in.ModelID = fmt.Sprint("model-", n)
		if _, err := b.SetModelConfig(ctx, in); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// Whenever the process is killed, the model that is chosen is the last one that
// was acknowledged or the one after it, with the key that belongs to it, and no
// other key is left.
func TestKilledInTheMiddleOfAChoice(t *testing.T) {
	cycles := 100
	if testing.Short() {
		cycles = 10
	}
	w := newWorld(t)
	w.stop()
	cut := 0
	for i := range cycles {
		last := w.killedChooser(time.Duration(i%40) * 400 * time.Microsecond)
		secrets, err := secret.Open(secret.Config{Home: w.home, KeyDir: w.keyDir, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if len(secrets.IDs()) != 1 {
			cut++
		}
		w.start()
		v := w.view()
		n := -1
		_, _ = fmt.Sscanf(v.ModelID, "model-%d", &n)
		if n != last && n != last+1 {
			t.Errorf("%d was acknowledged, %d is chosen", last, n)
		}
		k := keyOf(n)
		if want := k[:4] + "••••" + k[len(k)-4:]; v.APIKeyMasked != want || v.BaseURL != fmt.Sprintf("https://host-%d.example.com", n%5) {
			t.Errorf("with model %d there are %s and %s", n, v.APIKeyMasked, v.BaseURL)
		}
		if ids := w.secrets.IDs(); len(ids) != 1 {
			t.Errorf("%d keys are left", len(ids))
		}
		w.stop()
	}
	t.Logf("%d of %d were cut between the key and the choice", cut, cycles)
	if cut == 0 {
		t.Error("no choice was interrupted: the test sees nothing")
	}
	w.start()
}

// killedChooser runs a process that chooses, kills it a while after its first
// choice, and returns what it said last.
func (w *world) killedChooser(life time.Duration) (last int) {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), chooserHome+"="+w.home.Dir(), chooserKeys+"="+w.keyDir)
	cmd.Stderr = w.t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
			w.t.Fatal(err)
		}
		if life >= 0 {
			time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
			life = -1
		}
	}
	_ = cmd.Wait() // it was killed
	return last
}
