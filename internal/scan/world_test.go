package scan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/redact"
	"ambry.dev/ambry/internal/scan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// none is the state of the invented agent's parser.
type none struct{}

// invented is an agent whose records are {"turn":…,"text":…}. A file named
// broken.jsonl cannot be opened.
func invented(id string) agent.Agent {
	files := agent.Files[none]{
		Dirs:  func(h agent.Home) []string { return []string{filepath.Join(h.Dir, "."+id)} },
		Match: func(rel string) bool { return strings.HasSuffix(rel, ".jsonl") },
		Start: func(src agent.Source, b *agent.Builder) none {
			b.Session.ID = strings.TrimSuffix(filepath.Base(src.Path), ".jsonl")
			return none{}
		},
		Parse: func(_ *none, v agent.Value, b *agent.Builder) {
			b.Begin(ambry.Turn{ID: v.Text("turn")})
			b.Add(ambry.Message{ID: v.Text("turn"), Role: ambry.User, Text: v.Text("text")})
		},
		Open: func(src agent.Source) (io.ReadCloser, error) {
			if filepath.Base(src.Path) == "broken.jsonl" {
				return nil, &os.PathError{Op: "open", Path: src.Path, Err: errors.New("it is broken")}
			}
			return nil, nil
		},
	}
	return agent.Agent{
		ID: id, Name: strings.ToUpper(id), History: files,
		Elsewhere: func(dir string) agent.History { return files.In(dir) },
	}
}

// memory is an importer that keeps turns by id.
type memory struct {
	mu      sync.Mutex
	turns   map[string]string
	imports int
	before  func(ctx context.Context, n int) error // called before each import
}

func (m *memory) Import(ctx context.Context, cs []redact.Conversation) (ambry.Imported, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.imports++
	if m.before != nil {
		if err := m.before(ctx, m.imports); err != nil {
			return ambry.Imported{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return ambry.Imported{}, err
	}
	var done ambry.Imported
	for _, c := range cs {
		for _, t := range c.Conversation().Turns {
			done.Turns++
			done.Messages += len(t.Messages)
			if _, ok := m.turns[t.ID]; !ok {
				done.Added++
			}
			m.turns[t.ID] = t.Messages[0].Text
		}
	}
	return done, nil
}

func (m *memory) all() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.turns)
}

// marks keeps marks in memory.
type marks struct {
	mu    sync.Mutex
	files map[string]map[string]ambry.FileMark
	last  map[string]time.Time
	end   *ambry.ScanCompletion
	added []ambry.ManualSource
	n     int // writes
}

func (m *marks) writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}

func (m *marks) Marks(_ context.Context, agentID string) (map[string]ambry.FileMark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.files[agentID]), nil
}

func (m *marks) Mark(_ context.Context, agentID, path string) (ambry.FileMark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[agentID][path], nil
}

func (m *marks) SetMarks(_ context.Context, agentID string, set map[string]ambry.FileMark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[agentID] == nil {
		m.files[agentID] = map[string]ambry.FileMark{}
	}
	maps.Copy(m.files[agentID], set)
	m.n++
	return nil
}

func (m *marks) Totals(_ context.Context, agentID string) (t ambry.SourceTotals, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.files[agentID] {
		t.Messages += f.Messages
		t.Bytes += f.Bytes
		t.Conversations++
	}
	return t, nil
}

func (m *marks) LastScan(_ context.Context, agentID string) (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[agentID], nil
}

func (m *marks) SetLastScan(_ context.Context, agentID string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[agentID] = at
	m.n++
	return nil
}

func (m *marks) Completion(context.Context) (*ambry.ScanCompletion, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.end, nil
}

func (m *marks) SetCompletion(_ context.Context, c ambry.ScanCompletion) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end = &c
	m.n++
	return nil
}

func (m *marks) ManualSources(context.Context) ([]ambry.ManualSource, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.added), nil
}

func (m *marks) AddManualSource(_ context.Context, s ambry.ManualSource) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.added = append(m.added, s)
	return nil
}

func (m *marks) RemoveManualSource(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.added)
	m.added = slices.DeleteFunc(m.added, func(s ambry.ManualSource) bool { return s.ID == id })
	delete(m.files, id)
	return len(m.added) < n, nil
}

// bus keeps what is published.
type bus struct {
	mu     sync.Mutex
	events []ambry.Payload
}

func (b *bus) Publish(p ambry.Payload) ambry.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, p)
	return ambry.Event{}
}

func (b *bus) progress() (out []ambry.ScanProgress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if p, ok := e.(ambry.ScanProgress); ok {
			out = append(out, p)
		}
	}
	return out
}

// world is a scanner with everything around it.
type world struct {
	*scan.Scanner
	t      *testing.T
	home   string
	memory *memory
	marks  *marks
	bus    *bus

	mu      sync.Mutex
	consent ambry.ScanPermission
	prefs   ambry.ScanPreferences
}

// newWorld has the agents one and two, and a consent to scan without watching.
func newWorld(t *testing.T) *world {
	w := &world{
		t: t, home: t.TempDir(), bus: &bus{}, consent: ambry.PermissionScan,
		memory: &memory{turns: map[string]string{}},
		marks:  &marks{files: map[string]map[string]ambry.FileMark{}, last: map[string]time.Time{}},
	}
	w.Scanner = w.scanner()
	return w
}

func (w *world) scanner() *scan.Scanner {
	return &scan.Scanner{
		Agents: []agent.Agent{invented("one"), invented("two"), {ID: "mute", Name: "Mute"}},
		Home:   agent.Home{Dir: w.home}, Memory: w.memory, Marks: w.marks, Journal: w.marks, Manual: w.marks, Own: filepath.Join(w.home, ".ambry"), Bus: w.bus,
		Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil)), Now: time.Now,
		Consent: func() (ambry.ScanPermission, ambry.ScanPreferences) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.consent, w.prefs
		},
	}
}

func (w *world) permit(p ambry.ScanPermission, unasked bool) {
	w.prefer(p, ambry.ScanPreferences{AutoScanKnownAgents: unasked, WatchFileChanges: unasked})
}

func (w *world) prefer(p ambry.ScanPermission, prefs ambry.ScanPreferences) {
	w.mu.Lock()
	w.consent, w.prefs = p, prefs
	w.mu.Unlock()
	w.ConsentChanged()
}

// run runs the scanner until the test ends, or stop is called.
func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

// write appends turns first to last to a file of an agent.
func (w *world) write(path string, first, last int) {
	w.t.Helper()
	var b bytes.Buffer
	for i := first; i <= last; i++ {
		line, _ := json.Marshal(map[string]string{
			"turn": fmt.Sprintf("%s/%d", path, i), "text": fmt.Sprintf("text %d of %s", i, path),
		})
		b.Write(append(line, '\n'))
	}
	path = filepath.Join(w.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(b.Bytes()); err != nil {
		w.t.Fatal(err)
	}
}

// scan starts a scan and returns how it ended.
func (w *world) scan(r ambry.ScanRequest) ambry.ScanCompletion {
	w.t.Helper()
	started, err := w.Start(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.ended(started.JobID)
}

func (w *world) ended(job string) ambry.ScanCompletion {
	w.t.Helper()
	var c ambry.ScanCompletion
	w.eventually("the scan ends", func() bool {
		st := w.Status()
		if st.Active || st.Completion == nil || st.Completion.JobID != job {
			return false
		}
		c = *st.Completion
		return true
	})
	return c
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("it never happens that %s", what)
		}
	}
}

// holds checks the ids of the turns in the memory.
func (w *world) holds(want ...string) {
	w.t.Helper()
	got := slices.Sorted(maps.Keys(w.memory.all()))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("the memory holds %d turns %v, want %d %v", len(got), brief(got), len(want), brief(want))
	}
}

func brief(s []string) []string { return s[:min(len(s), 8)] }

// turns are the ids that write makes.
func turns(path string, first, last int) (ids []string) {
	for i := first; i <= last; i++ {
		ids = append(ids, fmt.Sprintf("%s/%d", path, i))
	}
	return ids
}
