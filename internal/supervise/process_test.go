package supervise_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"go.uber.org/goleak"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/supervise"
)

// hello is what the tests tell their children.
type hello struct {
	Token   string
	Lock    string // a file that a child locks while it lives
	Cause   string // a file that makes a "sick" child fail while it exists
	Payload string
}

// answer is what the children answer.
type answer struct {
	Addr    string
	PID     int
	Args    []string
	Environ []string
	Payload int
	Alone   bool // the lock was free
}

// TestMain turns the test binary into a child, or a parent, if its first
// argument says so: the environment of a child is not the tests' to set.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "role:") {
		goleak.VerifyTestMain(m)
		return
	}
	var err error
	switch role := strings.TrimPrefix(os.Args[1], "role:"); role {
	case "exits":
		os.Exit(3)
	case "stuck":
		time.Sleep(time.Hour) // not even reading
	case "garbage":
		fmt.Println("Listening on port 8080")
		_, err = io.Copy(io.Discard, os.Stdin)
	case "flood":
		_, err = io.Copy(os.Stdout, endless{})
	case "parent":
		err = parent()
	case "plain parent":
		err = plainParent()
	default:
		err = child(role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// child is what follows the agreement, but for what its role says.
func child(role string) error {
	var told hello
	ctx, up, err := supervise.Child(context.Background(), os.Stdin, os.Stdout, &told)
	if err != nil {
		return err
	}
	if role == "sick" && exists(told.Cause) {
		return errors.New("the cause is still there")
	}
	if role == "slow" {
		<-ctx.Done()
		return nil
	}
	for i := 0; role == "long" && i < 60; i++ {
		if err := up.Working(fmt.Sprintf("counts, %d of 60", i)); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	if role == "refuses" {
		return up.Refuse("the database is newer than this version")
	}
	a, serve, err := listen(told)
	if err != nil {
		return err
	}
	if err := up.Ready(a); err != nil {
		return err
	}
	go serve()
	switch role {
	case "dies":
		return errors.New("as told")
	case "deaf":
		time.Sleep(time.Hour)
	case "talks":
		for ctx.Err() == nil {
			fmt.Println(strings.Repeat("x", 1<<16))
		}
	}
	<-ctx.Done()
	return nil
}

// listen makes an answer, and a server that greets who knows the token.
func listen(told hello) (answer, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return answer{}, nil, err
	}
	a := answer{
		Addr: l.Addr().String(), PID: os.Getpid(), Args: os.Args, Environ: os.Environ(), Payload: len(told.Payload),
	}
	if told.Lock != "" {
		a.Alone, err = flock.New(told.Lock).TryLock()
	}
	serve := func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if line, _ := bufio.NewReader(conn).ReadString('\n'); line == told.Token+"\n" {
				_, _ = fmt.Fprintln(conn, "ok")
			}
			_ = conn.Close()
		}
	}
	return a, serve, err
}

// parent supervises a child with the role of the second argument, and says where
// it listens.
func parent() error {
	s, err := supervise.New(config(os.Args[2], hello{Token: "t"}))
	if err != nil {
		return err
	}
	go func() {
		for {
			if a, ok := s.Current(); ok {
				fmt.Println(a.Addr, a.PID)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	s.Run(context.Background())
	return nil
}

// plainParent starts a child without supervision, so that nothing but the end of
// its input tells it that we are gone.
func plainParent() error {
	cmd := exec.Command(os.Args[0], "role:good")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(in, `{"Token":"t"}`); err != nil {
		return err
	}
	return cmd.Wait()
}

// patience is how long something may take that has to happen. It is only waited
// for when it does not.
const patience = time.Minute

// config runs a child of this binary, with times for tests. How long a healthy
// child takes is left to the machine.
func config(role string, tell hello) supervise.Config[answer] {
	return supervise.Config[answer]{
		Name:    "test child",
		Command: os.Args[0],
		Args:    []string{"role:" + role},
		Hello:   tell,
		Probe:   func(ctx context.Context, a answer) error { return greet(ctx, a.Addr, tell.Token) },
		Timing: supervise.Timing{
			Handshake: patience, ProbeEvery: 20 * time.Millisecond, ProbeTimeout: patience,
			Grace: patience, Stable: time.Hour,
			Backoff: 5 * time.Millisecond, Pace: 20 * time.Millisecond, Jitter: time.Millisecond,
		},
	}
}

// greet asks a child whether it is well.
func greet(ctx context.Context, addr, token string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintln(conn, token); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && line != "ok\n" {
		err = fmt.Errorf("the child says %q", line)
	}
	return err
}

// running is a supervisor that runs.
type running struct {
	*supervise.Supervisor[answer]
	t      *testing.T
	states chan supervise.State
	stop   func() // returns when Run has
}

func run(t *testing.T, cfg supervise.Config[answer]) *running {
	t.Helper()
	r := &running{t: t, states: make(chan supervise.State, 1000)}
	cfg.OnState = func(s supervise.State) { r.states <- s }
	cfg.Stderr = t.Output()
	s, err := supervise.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Supervisor = s
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	r.stop = func() { cancel(); <-done }
	t.Cleanup(r.stop)
	return r
}

// until returns the next state of a health.
func (r *running) until(health ambry.HealthState) supervise.State {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case s := <-r.states:
			if s.Health == health {
				return s
			}
		case <-deadline:
			r.t.Fatalf("never became %s, is %+v", health, r.State())
		}
	}
}

// ok waits until the child is ok and returns its answer.
func (r *running) ok() answer {
	r.t.Helper()
	r.until(ambry.HealthOK)
	return r.current()
}

func (r *running) current() answer {
	r.t.Helper()
	a, ok := r.Current()
	if !ok {
		r.t.Fatalf("there is no answer although it is %+v", r.State())
	}
	return a
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// gone waits until nobody listens at addr.
func gone(t *testing.T, addr string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("the child is still there")
		}
	}
}
