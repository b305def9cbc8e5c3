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
	return agent.Agent{ID: id, Name: strings.ToUpper(id), History: agent.Files[none]{
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
	}}
}

// memory is an importer that keeps turns by id.
type memory struct {
	mu      sync.Mutex
	turns   map[string]string
	imports int
	before  func(n int) error // called before each import
}

func (m *memory) Import(ctx context.Context, cs []redact.Conversation) (ambry.Imported, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.imports++
	if m.before != nil {
		if err := m.before(m.imports); err != nil {
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
	return nil
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
		Home:   agent.Home{Dir: w.home}, Memory: w.memory, Marks: w.marks, Bus: w.bus,
		Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil)), Now: time.Now,
		Consent: func() (ambry.ScanPermission, ambry.ScanPreferences) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.consent, w.prefs
		},
	}
}

func (w *world) permit(p ambry.ScanPermission, watch bool) {
	w.mu.Lock()
	w.consent, w.prefs.WatchFileChanges = p, watch
	w.mu.Unlock()
	w.ConsentChanged()
}

// run runs the scanner until the test ends.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
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
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
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

func TestScanBringsWhatIsNew(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 3)
	w.write(".two/deep/er/b.jsonl", 1, 2)
	first := w.scan(ambry.ScanRequest{})
	w.holds(slices.Concat(turns(".one/a.jsonl", 1, 3), turns(".two/deep/er/b.jsonl", 1, 2))...)
	if !first.Succeeded || first.Imported.Added != 5 || len(first.Results) != 2 {
		t.Errorf("completion is %+v", first)
	}

	imports := w.memory.imports
	again := w.scan(ambry.ScanRequest{SourceID: ambry.AllSources, Mode: ambry.Incremental})
	if w.memory.imports != imports || again.Imported.Turns != 0 {
		t.Errorf("a scan with nothing new imported %+v", again.Imported)
	}

	w.write(".one/a.jsonl", 4, 4)
	w.write(".one/c.jsonl", 1, 1)
	if c := w.scan(ambry.ScanRequest{SourceID: "one"}); c.Imported.Added != 2 {
		t.Errorf("a scan after an append and a new file imported %+v, want 2 added", c.Imported)
	}
	full := w.scan(ambry.ScanRequest{SourceID: "one", Mode: ambry.Full})
	if full.Imported.Turns != 5 || full.Imported.Added != 0 {
		t.Errorf("a full scan imported %+v, want 5 turns, none added", full.Imported)
	}
}

func TestScanNeedsConsent(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 1)
	for _, p := range []ambry.ScanPermission{ambry.PermissionUnset, ambry.PermissionNone, ""} {
		w.permit(p, true)
		if _, err := w.Start(ambry.ScanRequest{}); ambry.KindOf(err) != ambry.ScanNotPermitted {
			t.Errorf("with %q a scan answers %v", p, err)
		}
	}
	w.holds()
	w.permit(ambry.PermissionScanAndSkill, false)
	w.scan(ambry.ScanRequest{})
	w.holds(turns(".one/a.jsonl", 1, 1)...)
}

func TestScanOfUnknownSource(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"three", "mute", "../one"} {
		if _, err := w.Start(ambry.ScanRequest{SourceID: id}); ambry.KindOf(err) != ambry.NotFound {
			t.Errorf("a scan of %q answers %v", id, err)
		}
	}
}

func TestOneScanAtATime(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	w.memory.before = func(int) error { <-release; return nil }
	w.run()
	w.write(".one/a.jsonl", 1, 1)
	started, err := w.Start(ambry.ScanRequest{})
	if err != nil {
		t.Fatal(err)
	}
	same, err := w.Start(ambry.ScanRequest{SourceID: "all", Mode: "incremental"})
	if err != nil || same != started {
		t.Errorf("the same scan answers %v, %v; want %v", same, err, started)
	}
	_, err = w.Start(ambry.ScanRequest{Mode: ambry.Full})
	if e, ok := errors.AsType[*ambry.Error](err); !ok || e.Kind != ambry.Conflict || e.Extra["jobId"] != started.JobID {
		t.Errorf("another scan answers %v", err)
	}
	close(release)
	w.ended(started.JobID)
	w.scan(ambry.ScanRequest{Mode: ambry.Full})
}

func TestStoppedScanGoesOn(t *testing.T) {
	w := newWorld(t)
	var want []string
	for i := range 40 {
		path := fmt.Sprintf(".one/%02d.jsonl", i)
		w.write(path, 1, 100)
		want = append(want, turns(path, 1, 100)...)
	}
	hold := make(chan struct{}, 1)
	w.memory.before = func(n int) error {
		if n == 2 {
			hold <- struct{}{}
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	}
	w.run()
	started, err := w.Start(ambry.ScanRequest{})
	if err != nil {
		t.Fatal(err)
	}
	<-hold
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := w.Status(); st.Active {
		t.Error("the scan is active after Stop returned")
	}
	c := w.ended(started.JobID)
	if !c.Stopped || c.Succeeded {
		t.Errorf("completion is %+v", c)
	}
	before := len(w.memory.all())
	if before == 0 || before == len(want) {
		t.Fatalf("%d of %d turns were read before the stop", before, len(want))
	}
	rest := w.scan(ambry.ScanRequest{})
	w.holds(want...)
	if rest.Imported.Turns > len(want)-before+100 {
		t.Errorf("going on read %d turns, but only %d were missing", rest.Imported.Turns, len(want)-before)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Errorf("stopping when nothing runs: %v", err)
	}
}

func TestBrokenFileStopsNothing(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 1)
	w.write(".one/broken.jsonl", 1, 1)
	w.write(".one/z.jsonl", 1, 1)
	c := w.scan(ambry.ScanRequest{})
	w.holds(slices.Concat(turns(".one/a.jsonl", 1, 1), turns(".one/z.jsonl", 1, 1))...)
	if !c.Succeeded || c.Results[0].ErrorCount != 1 {
		t.Fatalf("completion is %+v", c)
	}
	if got, want := c.Results[0].Errors[0], "~/.one/broken.jsonl: it is broken"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
}

func TestRuntimeThatComesBack(t *testing.T) {
	w := newWorld(t)
	w.memory.before = func(n int) error {
		if n <= 2 {
			return ambry.MemoryUnavailable.Errorf("starting")
		}
		return nil
	}
	w.run()
	w.write(".one/a.jsonl", 1, 3)
	if c := w.scan(ambry.ScanRequest{}); !c.Succeeded {
		t.Errorf("completion is %+v", c)
	}
	w.holds(turns(".one/a.jsonl", 1, 3)...)
}

func TestFullDiskEndsTheScanAndMovesNoMark(t *testing.T) {
	w := newWorld(t)
	w.memory.before = func(n int) error {
		if n == 1 {
			return ambry.StorageFull.Errorf("the disk is full")
		}
		return nil
	}
	w.run()
	w.write(".one/a.jsonl", 1, 3)
	c := w.scan(ambry.ScanRequest{})
	if c.Succeeded || c.Results[0].ErrorCount != 1 || !strings.Contains(c.Results[0].Errors[0], "disk is full") {
		t.Errorf("completion is %+v", c)
	}
	w.scan(ambry.ScanRequest{})
	w.holds(turns(".one/a.jsonl", 1, 3)...)
}

func TestInitialSubsetIsTheNewest(t *testing.T) {
	w := newWorld(t)
	w.run()
	old := time.Now().Add(-48 * time.Hour)
	for i, path := range []string{".one/new.jsonl", ".two/newer.jsonl", ".one/old.jsonl"} {
		w.write(path, 1, 600)
		if i == 2 {
			if err := os.Chtimes(filepath.Join(w.home, path), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.scan(ambry.ScanRequest{Mode: ambry.InitialSubset})
	w.holds(slices.Concat(turns(".one/new.jsonl", 1, 600), turns(".two/newer.jsonl", 1, 600))...)
	if c := w.scan(ambry.ScanRequest{}); c.Imported.Added != 600 {
		t.Errorf("the scan after it added %d turns, want 600", c.Imported.Added)
	}
}

func TestProgress(t *testing.T) {
	w := newWorld(t)
	w.run()
	for i := range 30 {
		w.write(fmt.Sprintf(".one/%02d.jsonl", i), 1, 200)
	}
	w.write(".two/a.jsonl", 1, 1)
	began := time.Now()
	c := w.scan(ambry.ScanRequest{})
	events := w.bus.progress()
	last := map[string]ambry.ScanProgress{}
	for _, p := range events {
		if p.JobID != c.JobID || p.Current > p.Total || p.Current < last[p.SourceID].Current {
			t.Errorf("progress is %+v after %+v", p, last[p.SourceID])
		}
		last[p.SourceID] = p
	}
	for id, p := range last {
		if p.Phase != ambry.PhaseDone || p.Current != p.Total {
			t.Errorf("the last progress of %s is %+v", id, p)
		}
	}
	if most := 2*3 + 2*int(time.Since(began)/(250*time.Millisecond)); len(last) != 2 || len(events) > most {
		t.Errorf("%d progress events of %d sources, want %d at most of 2", len(events), len(last), most)
	}
}

func TestCompletionSurvivesARestart(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 1)
	c := w.scan(ambry.ScanRequest{})
	next := &world{Scanner: w.scanner(), t: t}
	next.run()
	next.eventually("the next scanner knows the last scan", func() bool {
		st := next.Status()
		return st.Completion != nil && st.Completion.JobID == c.JobID
	})
}

func TestList(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 3)
	w.scan(ambry.ScanRequest{})
	list := w.List(t.Context())
	if len(list) != 3 {
		t.Fatalf("%d sources, want 3", len(list))
	}
	one, two, mute := list[0], list[1], list[2]
	if !one.Available || one.MessageCount != 3 || one.LastScannedAt == nil || one.Error != "" {
		t.Errorf("one is %+v", one)
	}
	if two.Available || two.LastScannedAt != nil || two.DataPath != filepath.Join(w.home, ".two") || two.Error != "" {
		t.Errorf("two is %+v", two)
	}
	if mute.Capabilities.History || mute.Available {
		t.Errorf("mute is %+v", mute)
	}
}
