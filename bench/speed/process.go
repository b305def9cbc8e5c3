package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry/client"
)

// service is a running ambry with a home of its own.
type service struct {
	*client.Client
	cmd    *exec.Cmd
	home   string
	health time.Duration // from start to the first answer
	ready  time.Duration // from start to a runtime that answers
}

// start runs the program on the histories below userHome.
func (b *bench) start(ctx context.Context, home, userHome string) (*service, error) {
	s := &service{home: home, cmd: exec.CommandContext(ctx, b.binary, "serve", "--home", home)}
	s.cmd.Env = []string{"HOME=" + userHome, "PATH=" + os.Getenv("PATH")}
	if b.embedding != "" {
		s.cmd.Env = append(s.cmd.Env, "AMBRY_MEMORY_EMBEDDING="+b.embedding)
	}
	s.cmd.Stderr = os.Stderr
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	deadline := began.Add(30 * time.Second)
	for s.Client == nil {
		if c, _, err := client.Find(ctx, home); err == nil {
			s.Client, s.health = c, time.Since(began)
			break
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the service does not answer")
		}
		time.Sleep(time.Millisecond)
	}
	for {
		if _, err := s.Overview(ctx); err == nil {
			s.ready = time.Since(began)
			return s, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the runtime does not answer")
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *service) stop() error {
	_ = s.cmd.Process.Signal(os.Interrupt)
	return s.cmd.Wait()
}

// pids returns the service and its child.
func (s *service) pids() []int {
	pids := []int{s.cmd.Process.Pid}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[0]))
	for _, task := range tasks {
		data, _ := os.ReadFile(task)
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// usage is what the kernel says of both processes together.
type usage struct {
	cpu     time.Duration
	written int64 // bytes that went to the disk
	rss     int64 // resident, without pages of files
	shared  int64 // resident pages of files, such as the program's; what both have is counted once
	twice   int64 // the same, as if each process had its own
}

// whole is all memory that is in use.
func (u usage) whole() float64 { return float64(u.rss+u.shared) / 1e6 }

// parts says what the memory consists of.
func (u usage) parts() string {
	return fmt.Sprintf("%.0f without mapped files; %.0f if what both map is counted twice", float64(u.rss)/1e6, float64(u.rss+u.twice)/1e6)
}

func (s *service) usage() usage {
	var u usage
	for _, pid := range s.pids() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
			n, _ := strconv.ParseInt(f, 10, 64)
			u.cpu += time.Duration(n) * 10 * time.Millisecond
		}
		u.written += value(fmt.Sprintf("/proc/%d/io", pid), "write_bytes:")
		u.rss += 1024 * value(fmt.Sprintf("/proc/%d/status", pid), "RssAnon:")
		u.twice += 1024 * value(fmt.Sprintf("/proc/%d/status", pid), "RssFile:")
	}
	return u
}

// withShared completes u by what both processes map. To count it stops them for
// some milliseconds.
func (s *service) withShared(u usage) usage {
	for _, pid := range s.pids() {
		u.shared += 1024 * value(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss_File:")
	}
	return u
}

// busy returns how long the threads that live now have run, to the nanosecond.
func (s *service) busy() (total time.Duration) {
	for _, pid := range s.pids() {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, thread := range threads {
			data, _ := os.ReadFile(thread)
			if ran, _, ok := strings.Cut(string(data), " "); ok {
				n, _ := strconv.ParseInt(ran, 10, 64)
				total += time.Duration(n)
			}
		}
	}
	return total
}

func (u usage) minus(o usage) usage {
	return usage{cpu: u.cpu - o.cpu, written: u.written - o.written, rss: u.rss, shared: u.shared, twice: u.twice}
}

// value returns the number after a name in a file of lines.
func value(path, name string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

// noise is by how much more memory than at the peak so far makes another one.
const noise = 1 << 20

// peak samples the memory until it is stopped.
type peak struct {
	once sync.WaitGroup
	end  chan struct{}
	top  usage
}

func (s *service) watchPeak() *peak {
	p := &peak{end: make(chan struct{})}
	p.once.Go(func() {
		for {
			if u := s.usage(); u.rss+u.twice > p.top.rss+p.top.twice+noise {
				p.top = s.withShared(u)
			}
			select {
			case <-p.end:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return p
}

func (p *peak) stop() usage {
	close(p.end)
	p.once.Wait()
	return p.top
}
