//go:build faults && linux

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// TestTwoAtOnce starts two services at the same moment, again and again: one
// stays, the other says where that is and ends well.
func TestTwoAtOnce(t *testing.T) {
	home := filepath.Join(t.TempDir(), "ambry")
	for i := range times(20, 200) {
		switch i % 4 { // what a crash may have left behind
		case 1:
			_ = os.WriteFile(filepath.Join(home, "ambry.lock"), []byte("999999"), 0o600)
		case 2:
			_ = os.WriteFile(filepath.Join(home, "ambry.lock"), []byte("1"), 0o600)
		case 3:
			_ = os.WriteFile(filepath.Join(home, "runtime.json"), []byte(`{"schema":1,"pid":1,"baseUrl":"http://127.0.0.1:1"`), 0o600)
		}
		var both [2]*exec.Cmd
		ended := make(chan int, 2)
		for k := range both {
			both[k] = exec.Command(ambryPath, "serve", "--home", home)
			both[k].Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
			if err := both[k].Start(); err != nil {
				t.Fatal(err)
			}
		}
		for k := range both {
			go func() { _ = both[k].Wait(); ended <- k }()
		}
		var second int
		select {
		case second = <-ended:
		case <-time.After(patience):
			t.Fatalf("round %d: two services run on one home", i)
		}
		if code := both[second].ProcessState.ExitCode(); code != 0 {
			t.Errorf("round %d: the second ended with code %d", i, code)
		}
		until(t, "the first answers", func() bool {
			_, rt, err := client.Find(t.Context(), home)
			return err == nil && rt.PID == both[1-second].Process.Pid
		})
		if i%2 == 0 {
			_ = both[1-second].Process.Kill()
		} else {
			_ = both[1-second].Process.Signal(os.Interrupt)
		}
		<-ended
	}
}

// TestAddressChanges restarts the service under readers of its address: nobody
// ever reads half a file, and the old token is good for nothing.
func TestAddressChanges(t *testing.T) {
	home := filepath.Join(t.TempDir(), "ambry")
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var halves atomic.Int64
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				data, err := os.ReadFile(filepath.Join(home, "runtime.json"))
				var rt ambry.RuntimeFile
				if err == nil && (json.Unmarshal(data, &rt) != nil || rt.LocalToken == "") {
					halves.Add(1)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	tokens := map[string]bool{}
	for range times(20, 300) {
		s := launch(t, ambryPath, home)
		data, err := os.ReadFile(filepath.Join(home, "runtime.json"))
		if err != nil {
			t.Fatal(err)
		}
		var rt ambry.RuntimeFile
		if err := json.Unmarshal(data, &rt); err != nil || tokens[rt.LocalToken] {
			t.Errorf("%v, or the token is an old one", err)
		}
		for old := range tokens {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, rt.BaseURL+"/api/app/bootstrap", nil)
			req.Header.Set(ambry.LocalTokenHeader, old)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("an old token is answered %s", resp.Status)
			}
			break
		}
		tokens[rt.LocalToken] = true
		s.stop()
	}
	stop()
	readers.Wait()
	if n := halves.Load(); n > 0 {
		t.Errorf("half a file was read %d times", n)
	}
}

// TestAsleep stops the processes as a laptop does that is closed, and the runtime
// alone: searches end with a code meanwhile, and afterwards all is well.
func TestAsleep(t *testing.T) {
	s := start(t, ambryPath, filepath.Join(t.TempDir(), "ambry"))
	if _, err := s.Add(t.Context(), ambry.Note{Content: "the ferry leaves at noon"}, ""); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGSTOP)
	time.Sleep(time.Duration(times(5, 90)) * time.Second)
	s.signal(syscall.SIGCONT)
	if a, err := s.Search(t.Context(), ambry.Query{Query: "ferry"}); err != nil || len(a.Hits) != 1 {
		t.Errorf("after sleep: %v, %v", a.Hits, err)
	}
	pid := s.runtime()
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	_, err := s.Search(ctx, ambry.Query{Query: "ferry"})
	if kind := ambry.KindOf(err); kind != ambry.MemoryTimeout && kind != ambry.MemoryUnavailable && kind != ambry.UpstreamFailed {
		t.Errorf("a runtime that hangs: %v", err)
	}
	if _, err := s.Bootstrap(t.Context()); err != nil {
		t.Errorf("the service hangs with its runtime: %v", err)
	}
	_ = syscall.Kill(pid, syscall.SIGCONT)
	until(t, "it finds again", func() bool {
		a, err := s.Search(t.Context(), ambry.Query{Query: "ferry"})
		return err == nil && len(a.Hits) == 1
	})
}

// TestFewDescriptors lets the service have few open files and asks for more than
// it can give. It may refuse; it may not hang, nor stay broken.
func TestFewDescriptors(t *testing.T) {
	home := filepath.Join(t.TempDir(), "ambry")
	wrapper := filepath.Join(t.TempDir(), "few")
	script := "#!/bin/sh\nulimit -n 64\nexec " + ambryPath + " \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, wrapper, home)
	host := strings.TrimPrefix(s.BaseURL(), "http://")
	var crowd []net.Conn
	for range 200 {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", host)
		if err != nil {
			break
		}
		crowd = append(crowd, conn)
	}
	for _, c := range crowd {
		c.Close()
	}
	until(t, "it answers again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := s.Search(ctx, ambry.Query{Query: "anything"})
		return err == nil
	})
}

// TestEventStreams connects and goes, half of the time without a word, and looks
// at what stays behind. Readers that stay miss nothing.
func TestEventStreams(t *testing.T) {
	s := start(t, ambryPath, filepath.Join(t.TempDir(), "ambry"))
	data, err := os.ReadFile(filepath.Join(s.home, "runtime.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rt ambry.RuntimeFile
	if err := json.Unmarshal(data, &rt); err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(rt.BaseURL, "http://")
	connect := func(i int) error {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
		if err != nil {
			return err
		}
		defer conn.Close()
		if i%2 == 0 {
			_ = conn.(*net.TCPConn).SetLinger(0) // a reset
		}
		fmt.Fprintf(conn, "GET /api/events?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n", rt.LocalToken, host)
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		first := make([]byte, 32)
		_, err = io.ReadFull(conn, first)
		return err
	}
	for i := range 200 { // what it keeps for later
		if err := connect(i); err != nil {
			t.Fatal(err)
		}
	}
	pid := s.cmd.Process.Pid
	settle(t)
	before := usageOf(pid)
	const streams = 10_000
	for i := range streams {
		if err := connect(i); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	settle(t)
	after := usageOf(pid)
	t.Logf("%d streams: %+v, then %+v", streams, before, after)
	if after.files > before.files+5 || after.rss > before.rss+before.rss/4+8<<20 {
		t.Errorf("%d streams left something: %+v, then %+v", streams, before, after)
	}
}

// settle waits until connections that were cut are noticed.
func settle(t *testing.T) {
	t.Helper()
	time.Sleep(6 * time.Second)
}
