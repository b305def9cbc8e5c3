package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ambry.dev/ambry"
)

// bench measures one program on one home.
type bench struct {
	*report
	binary, home, work string
	embedding          string // the setting memory.embedding, "" as it is

	rare, common, questions []string // what is searched for
}

// settle waits until the memory has nothing left to do: it learns and embeds in
// the background what it was given.
func (s *service) settle(ctx context.Context) error {
	for {
		h, err := s.MemoryHealth(ctx)
		if err != nil {
			return err
		}
		if h.Learning.Waiting == 0 && (h.Embedding == nil || h.Embedding.Pending == 0) {
			time.Sleep(2 * time.Second) // what was done last is written
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// loaded waits until the runtime reads no more vectors, which it does in the
// background after a start.
func (s *service) loaded(ctx context.Context) error {
	for before := int64(-1); ; time.Sleep(time.Second) {
		h, err := s.MemoryHealth(ctx)
		if err != nil {
			return err
		}
		if h.Embedding == nil || h.Embedding.Ready == before {
			return nil
		}
		before = h.Embedding.Ready
	}
}

func (b *bench) all(ctx context.Context) error {
	if info, err := os.Stat(b.binary); err == nil {
		b.add("binary", float64(info.Size())/1e6, "MB", "<= 60", "")
	}
	data := filepath.Join(b.work, "ambry")
	var err error
	if b.rare, b.common, b.questions, err = words(b.home); err != nil {
		return err
	}
	s, err := b.start(ctx, data, b.home)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, measure := range []func(context.Context, *service) error{
		b.ingest, b.searchesAtWork, b.rescan, b.freshness, b.searches, b.agents, b.health, b.adds, b.export,
	} {
		if err := measure(ctx, s); err != nil {
			return err
		}
	}
	if err := s.stop(); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return b.starts(ctx, data)
}

// scan runs a scan to its end.
func scan(ctx context.Context, s *service, mode ambry.ScanMode) (ambry.ScanCompletion, error) {
	started, err := s.Scan(ctx, ambry.ScanRequest{SourceID: ambry.AllSources, Mode: mode})
	if err != nil {
		return ambry.ScanCompletion{}, err
	}
	for {
		st, err := s.ScanStatus(ctx)
		if err != nil {
			return ambry.ScanCompletion{}, err
		}
		if !st.Active && st.Completion != nil && st.Completion.JobID == started.JobID {
			return *st.Completion, nil
		}
		select {
		case <-ctx.Done():
			return ambry.ScanCompletion{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (b *bench) ingest(ctx context.Context, s *service) error {
	corpus, files := size(b.home)
	before := s.usage()
	peak := s.watchPeak()
	began := time.Now()
	permission := ambry.PermissionScan
	if _, err := s.PatchOnboarding(ctx, ambry.OnboardingPatch{ScanPermission: &permission}); err != nil {
		return err
	}
	done, err := scan(ctx, s, ambry.Full)
	if err != nil {
		return err
	}
	wall := time.Since(began)
	used := s.usage().minus(before)
	top := peak.stop()
	mb := float64(corpus) / 1e6
	b.add("corpus", mb, "MB", "", fmt.Sprintf("%d files", files))
	b.add("cold ingest", mb/used.cpu.Seconds(), "MB/CPU-s", ">= 15", fmt.Sprintf("%.1f CPU-s, %.1f s", used.cpu.Seconds(), wall.Seconds()))
	b.add("bytes written / corpus", float64(used.written)/float64(corpus), "", "<= 2.5", "")
	b.add("peak memory of both", top.whole(), "MB", "<= 200", top.parts())
	o, err := s.Overview(ctx)
	if err != nil {
		return err
	}
	counts, _ := json.Marshal(o.Counts)
	fmt.Printf("  %s\n", counts)
	for _, r := range done.Results {
		fmt.Printf("  %s: %d conversations, %d messages, %d skipped, %d errors, %d redactions\n",
			r.SourceID, r.Conversations, r.Messages, r.Skipped, r.ErrorCount, r.Redactions)
	}
	return nil
}

func (b *bench) rescan(ctx context.Context, s *service) error {
	_, files := size(b.home)
	if err := s.settle(ctx); err != nil {
		return err
	}
	time.Sleep(time.Second) // the watcher's own look at everything is over
	before := s.usage()
	const times = 5
	for range times {
		if _, err := scan(ctx, s, ambry.Incremental); err != nil {
			return err
		}
	}
	used := s.usage().minus(before)
	b.add("rescan, nothing new, per 1,000 files", used.cpu.Seconds()/times/float64(files)*1000, "CPU-s", "<= 0.1", fmt.Sprintf("%d bytes written a scan", used.written/times))
	return nil
}

// freshness appends turns to a session and waits until each is found.
func (b *bench) freshness(ctx context.Context, s *service) error {
	dir := filepath.Join(b.home, ".claude", "projects", "-speed-fresh")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "5eed0000-0000-4000-8000-000000000001.jsonl")
	var took []time.Duration
	for i := range 20 {
		word := fmt.Sprintf("freshneedle%03d", i)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		began := time.Now()
		fmt.Fprintf(f, `{"type":"user","uuid":"5eed-%d","sessionId":"5eed0000-0000-4000-8000-000000000001","cwd":"/speed","timestamp":%q,"message":{"role":"user","content":"where is the %s"}}`+"\n",
			i, began.UTC().Format(time.RFC3339Nano), word)
		f.Close()
		if err := found(ctx, s, word); err != nil {
			return err
		}
		took = append(took, time.Since(began))
		time.Sleep(200 * time.Millisecond)
	}
	b.add("appended line to searchable, median", ms(quantile(took, .5)), "ms", "<= 500", fmt.Sprintf("max %.0f", ms(quantile(took, 1))))
	return nil
}

func found(ctx context.Context, s *service, word string) error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		a, err := s.Search(ctx, ambry.Query{Query: word})
		if err != nil {
			return err
		}
		if len(a.Hits) > 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not found after 10 s", word)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// searchesAtWork measures while the memory learns and embeds what it was given.
func (b *bench) searchesAtWork(ctx context.Context, s *service) error {
	h, err := s.MemoryHealth(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("  %d turns to learn from, %+v\n", h.Learning.Waiting, *cmp.Or(h.Embedding, &ambry.EmbeddingState{}))
	return b.search(ctx, s, "at work: ", 100)
}

func (b *bench) searches(ctx context.Context, s *service) error {
	if err := s.settle(ctx); err != nil {
		return err
	}
	return b.search(ctx, s, "", 300)
}

func (b *bench) search(ctx context.Context, s *service, state string, times int) error {
	for _, set := range []struct {
		name, goal string
		queries    []string
	}{
		{"search, a rare word", "<= 3", b.rare},
		{"search, two common words", "<= 15", b.common},
		{"search, a question", "", b.questions},
	} {
		before := s.usage()
		var took []time.Duration
		hits := 0
		for i := range times {
			began := time.Now()
			a, err := s.Search(ctx, ambry.Query{Query: set.queries[i%len(set.queries)]})
			if err != nil {
				return err
			}
			took = append(took, time.Since(began))
			hits += len(a.Hits)
		}
		b.add(state+set.name+", p50", ms(quantile(took, .5)), "ms", set.goal, fmt.Sprintf("p99 %.2f, %.2f CPU-ms, %.1f hits",
			ms(quantile(took, .99)), ms(s.usage().minus(before).cpu)/float64(times), float64(hits)/float64(times)))
	}
	return nil
}

// health asks with clients that cost little themselves: the machine is shared
// with what is measured.
func (b *bench) health(ctx context.Context, s *service) error {
	const clients, lasts = 8, 3 * time.Second
	host := strings.TrimPrefix(s.BaseURL(), "http://")
	var n atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	end := time.Now().Add(lasts)
	for range clients {
		wg.Go(func() {
			if err := askHealth(ctx, host, end, &n); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	b.add("/api/health, 8 clients", float64(n.Load())/lasts.Seconds(), "1/s", ">= 30000", "the clients run on the same cores")
	return nil
}

// askHealth asks over one connection until the end and counts the answers.
func askHealth(ctx context.Context, host string, end time.Time, n *atomic.Int64) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	request := []byte("GET /api/health HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
	r := bufio.NewReader(conn)
	for time.Now().Before(end) {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		length := 0
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return err
			}
			if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
					return err
				}
			}
			if len(line) == 2 {
				break
			}
		}
		if _, err := r.Discard(length); err != nil {
			return err
		}
		n.Add(1)
	}
	return nil
}

// adds adds notes from 8 clients; each answer is on the disk.
func (b *bench) adds(ctx context.Context, s *service) error {
	const clients, each = 8, 250
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	began := time.Now()
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				n := ambry.Note{Content: fmt.Sprintf("note %d of client %d: keep the retries of the importer below five", i, c)}
				if _, err := s.Add(ctx, n, ""); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	b.add("durable adds, 8 clients", clients*each/time.Since(began).Seconds(), "1/s", ">= 1000", "")
	return nil
}

// export writes everything to an archive.
func (b *bench) export(ctx context.Context, s *service) error {
	before, peak, began := s.usage(), s.watchPeak(), time.Now()
	out, err := s.ExportData(ctx, ambry.ExportData{})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	wall, used, top := time.Since(began), s.usage().minus(before), peak.stop()
	var lines int64
	for _, f := range out.Manifest.Files {
		lines += f.Bytes
	}
	b.add("export, lines written", float64(lines)/1e6/wall.Seconds(), "MB/s", ">= 17", fmt.Sprintf("%.0f MB, %.1f s, %.1f CPU-s, peak %.0f MB of both",
		float64(lines)/1e6, wall.Seconds(), used.cpu.Seconds(), top.whole()))
	return os.Remove(out.ExportPath)
}

// starts measures the start on a home that has a memory already.
func (b *bench) starts(ctx context.Context, data string) error {
	var health, ready []time.Duration
	for range 5 {
		s, err := b.start(ctx, data, b.home)
		if err != nil {
			return err
		}
		health, ready = append(health, s.health), append(ready, s.ready)
		if len(health) == 5 {
			if err := s.settle(ctx); err != nil {
				return err
			}
			time.Sleep(time.Minute) // what a start leaves to be done is done
			before := s.busy()
			time.Sleep(time.Minute)
			idle, u := s.busy()-before, s.withShared(s.usage())
			b.add("idle memory of both", u.whole(), "MB", "<= 80", u.parts())
			b.add("idle CPU a minute", idle.Seconds(), "s", "<= 0.05", "")
		}
		if err := s.stop(); err != nil {
			return err
		}
	}
	b.add("start to health", ms(quantile(health, .5)), "ms", "<= 150", "")
	b.add("start to runtime ready", ms(quantile(ready, .5)), "ms", "<= 400", "")
	return nil
}

// size returns the bytes and number of the history files below a home.
func size(home string) (bytes int64, files int) {
	for _, dir := range []string{".claude", ".codex", ".local/share/opencode"} {
		_ = filepath.WalkDir(filepath.Join(home, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				bytes += info.Size()
				files++
			}
			return nil
		})
	}
	return bytes, files
}

func quantile(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
