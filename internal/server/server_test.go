package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/server"
	"ambry.dev/ambry/internal/web"
)

const (
	token    = "a-token"
	mcpToken = "another-token"
)

// document is a [server.Document] in memory.
type document[T any] struct {
	mu    sync.Mutex
	value T
	err   error
}

func (d *document[T]) Load(context.Context) (T, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.value, d.err
}

func (d *document[T]) Change(_ context.Context, edit func(*T) error) (T, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	value := d.value
	if err := edit(&value); err != nil {
		return d.value, err
	}
	d.value = value
	return value, d.err
}

// scans is a [server.Scans] that does as it is told.
type scans struct {
	request ambry.ScanRequest
	err     error
	stopped int
	removed string
	changed int
}

func (s *scans) Start(r ambry.ScanRequest) (ambry.ScanStarted, error) {
	s.request = r
	return ambry.ScanStarted{JobID: "job"}, s.err
}
func (s *scans) Stop(context.Context) error { s.stopped++; return s.err }
func (s *scans) Remove(_ context.Context, id string) error {
	s.removed = id
	return s.err
}

func (s *scans) Add(_ context.Context, in ambry.NewSource) (ambry.AgentSource, error) {
	return ambry.AgentSource{SourceID: "manual_1", DisplayName: in.DisplayName, DataPath: in.DataPath, Format: in.Format}, s.err
}
func (s *scans) Status() ambry.ScanStatus { return ambry.ScanStatus{} }
func (s *scans) ConsentChanged()          { s.changed++ }
func (s *scans) List(context.Context) []ambry.AgentSource {
	return []ambry.AgentSource{{SourceID: "codex"}}
}

// bus keeps what it is told.
type bus struct {
	mu   sync.Mutex
	told []ambry.Payload
}

func (b *bus) Publish(p ambry.Payload) ambry.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = append(b.told, p)
	return ambry.Event{}
}

// api is a served [server.Server] with what stands behind it.
type api struct {
	t           *testing.T
	base        string
	scans       *scans
	skills      skills
	bus         *bus
	settings    *document[ambry.AppSettings]
	onboarding  *document[ambry.Onboarding]
	privacy     *document[ambry.Privacy]
	preferences *document[ambry.ScanPreferences]
	private     int // times that the privacy was said to have changed
	health      ambry.Health
	models      *models
	account     person
	channels    channels
}

// skills keeps what it was asked.
type skills struct {
	asked []string
	err   error
}

func (s *skills) Install(_ context.Context, id string, part ambry.SkillPart, dryRun bool) (ambry.SkillResult, error) {
	s.asked = append(s.asked, fmt.Sprint("install ", id, " ", part, " ", dryRun))
	return ambry.SkillResult{OK: true, Changes: []ambry.SkillChange{{Path: "/p", Action: ambry.FileEdited}}}, s.err
}

func (s *skills) Remove(_ context.Context, id string, part ambry.SkillPart, dryRun bool) (ambry.SkillResult, error) {
	s.asked = append(s.asked, fmt.Sprint("remove ", id, " ", part, " ", dryRun))
	return ambry.SkillResult{OK: true, Changes: []ambry.SkillChange{}}, s.err
}

func (s *skills) Show(_ context.Context, list []ambry.AgentSource) []ambry.AgentSource { return list }

func serve(t *testing.T) *api {
	a := &api{
		t: t, scans: &scans{}, bus: &bus{}, models: &models{},
		settings:    &document[ambry.AppSettings]{value: ambry.DefaultAppSettings()},
		onboarding:  &document[ambry.Onboarding]{value: ambry.DefaultOnboarding()},
		privacy:     &document[ambry.Privacy]{},
		preferences: &document[ambry.ScanPreferences]{value: ambry.DefaultScanPreferences()},
	}
	s := &server.Server{
		Version:     "1",
		AppSettings: a.settings, Onboarding: a.onboarding, Privacy: a.privacy, ScanPreferences: a.preferences,
		PrivacyChanged: func() { a.private++ },
		Bus:            a.bus,
		Models:         a.models,
		Account:        &a.account,
		Channels:       &a.channels,
		Scans:          a.scans,
		Skills:         &a.skills,
		Health:         func(context.Context) ambry.Health { return a.health },
		Memory: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"path":"`+r.URL.Path+`"}`)
		}),
		Events: http.NotFoundHandler(),
		Bridge: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"bridge":"`+r.Method+`"}`)
		}),
		MCPToken: mcpToken,
		Upstreams: func() []ambry.UpstreamStatus {
			return []ambry.UpstreamStatus{
				{ID: "docs", Name: "Docs", Transport: "http", Status: ambry.HealthOK, Tools: []string{"docs__find"}},
				{ID: "gone", Name: "gone", Transport: "stdio", Status: ambry.HealthFailed, Reason: "ended", Tools: []string{}},
			}
		},
	}
	handler, _ := web.New(web.Config{
		Title: "Test", Version: "1", Document: server.DocumentPath,
		Token: web.Token{Header: ambry.LocalTokenHeader, Secret: token},
		Log:   slog.New(slog.NewTextHandler(t.Output(), nil)),
	}, s.Routes())
	ln, err := web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- (&web.Server{Handler: handler}).Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	a.base = "http://" + ln.Addr().String()
	return a
}

// ask sends a request and decodes the answer.
func (a *api) ask(method, path, body string) (int, map[string]any) {
	a.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.base+path, in)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set(ambry.LocalTokenHeader, token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	var out map[string]any
	if !bytes.HasPrefix(data, []byte("[")) {
		if err := json.Unmarshal(data, &out); err != nil {
			a.t.Fatalf("%s %s: %v: %s", method, path, err, data)
		}
	}
	return resp.StatusCode, out
}

// code is the error code of an answer, "" for a success.
func code(out map[string]any) string {
	fault, _ := out["error"].(map[string]any)
	c, _ := fault["code"].(string)
	return c
}

func TestHealthSaysNothingMore(t *testing.T) {
	a := serve(t)
	status, out := a.ask("GET", "/api/health", "")
	if want := map[string]any{"ok": true, "service": "ambry-local-api"}; status != 200 || !reflect.DeepEqual(out, want) {
		t.Errorf("got %d %v, want %v", status, out, want)
	}
}

func TestBootstrapAnswersWhenTheMemoryIsDown(t *testing.T) {
	a := serve(t)
	a.health = ambry.Health{Memory: ambry.HealthFailed, MemoryReason: "it keeps failing"}
	status, out := a.ask("GET", "/api/app/bootstrap", "")
	if status != 200 {
		t.Fatalf("status %d: %v", status, out)
	}
	health := out["health"].(map[string]any)
	if health["localApi"] != "ok" || health["memory"] != "failed" || health["memoryReason"] != "it keeps failing" || health["cloud"] != "off" {
		t.Errorf("health is %v", health)
	}
	for _, key := range []string{"app", "onboarding", "privacy", "scanPreferences", "tokenUsage"} {
		if out[key] == nil {
			t.Errorf("%s is missing", key)
		}
	}
}

func TestConsent(t *testing.T) {
	a := serve(t)
	for _, tt := range []struct {
		name, body string
		want       string // error code
		permission ambry.ScanPermission
		told       int
	}{
		{"another field grants nothing", `{"completed":true,"hasAcceptedTerms":true}`, "", ambry.PermissionUnset, 0},
		{"an unknown value", `{"scanPermission":"everything"}`, "invalid_argument", ambry.PermissionUnset, 0},
		{"an unknown field", `{"scanPermission":"scan_only","scanpermission":"none"}`, "invalid_argument", ambry.PermissionUnset, 0},
		{"given", `{"scanPermission":"scan_only"}`, "", ambry.PermissionScan, 1},
		{"nothing", `{}`, "", ambry.PermissionScan, 1},
		{"taken back", `{"scanPermission":"none"}`, "", ambry.PermissionNone, 2},
	} {
		status, out := a.ask("PATCH", "/api/app/onboarding", tt.body)
		if code(out) != tt.want {
			t.Errorf("%s: got %d %v, want code %q", tt.name, status, out, tt.want)
		}
		if got := a.onboarding.value.ScanPermission; got != tt.permission {
			t.Errorf("%s: permission is %s, want %s", tt.name, got, tt.permission)
		}
		if a.scans.changed != tt.told {
			t.Errorf("%s: the scanner was told %d times, want %d", tt.name, a.scans.changed, tt.told)
		}
	}
}

func TestFailedWriteIsAnError(t *testing.T) {
	a := serve(t)
	a.onboarding.err = ambry.StorageFull.Errorf("the disk is full")
	if status, out := a.ask("PATCH", "/api/app/onboarding", `{"scanPermission":"scan_only"}`); status != 507 || code(out) != "storage_full" {
		t.Errorf("got %d %v", status, out)
	}
	if a.scans.changed != 0 {
		t.Error("the scanner was told of a consent that was not kept")
	}
}

func TestScan(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		err        error
		status     int
		request    ambry.ScanRequest
	}{
		{"without a body", "", nil, 202, ambry.ScanRequest{}},
		{"with an empty one", "{}", nil, 202, ambry.ScanRequest{SourceID: "all", Mode: ambry.Incremental}},
		{"of one source", `{"sourceId":"codex","mode":"full"}`, nil, 202, ambry.ScanRequest{SourceID: "codex", Mode: ambry.Full}},
		{"in no mode", `{"mode":"deep"}`, nil, 400, ambry.ScanRequest{}},
		{"not permitted", "", ambry.ScanNotPermitted.Errorf("no"), 403, ambry.ScanRequest{}},
		{"of nothing", `{"sourceId":"x"}`, ambry.NotFound.Errorf("no"), 404, ambry.ScanRequest{SourceID: "x", Mode: ambry.Incremental}},
		{"in the way", "", &ambry.Error{Kind: ambry.Conflict, Message: "no", Extra: map[string]any{"jobId": "other"}}, 409, ambry.ScanRequest{}},
	} {
		a := serve(t)
		a.scans.err = tt.err
		status, out := a.ask("POST", "/api/agent-sources/scan", tt.body)
		if status != tt.status || a.scans.request != tt.request {
			t.Errorf("%s: got %d %v and %+v, want %d and %+v", tt.name, status, out, a.scans.request, tt.status, tt.request)
		}
		if status == 202 && out["jobId"] != "job" || status == 409 && out["jobId"] != "other" {
			t.Errorf("%s: the job is %v", tt.name, out["jobId"])
		}
	}
}

func TestStop(t *testing.T) {
	a := serve(t)
	for i, path := range []string{"/api/agent-sources/scan/stop", "/api/agent-sources/scan/cancel"} {
		if status, out := a.ask("POST", path, ""); status != 200 || out["ok"] != true || a.scans.stopped != i+1 {
			t.Errorf("%s: got %d %v after %d stops", path, status, out, a.scans.stopped)
		}
	}
	a.scans.err = errors.New("it does not end")
	if status, out := a.ask("POST", "/api/agent-sources/scan/stop", ""); status != 500 || code(out) != "internal" {
		t.Errorf("got %d %v", status, out)
	}
}

func TestStatusAndList(t *testing.T) {
	a := serve(t)
	status, out := a.ask("GET", "/api/agent-sources/scan/status", "")
	if _, ok := out["progress"]; status != 200 || out["active"] != false || !ok {
		t.Errorf("status is %d %v", status, out)
	}
	if status, _ := a.ask("GET", "/api/agent-sources", ""); status != 200 {
		t.Errorf("the list answers %d", status)
	}
}

func TestMemoryIsHandedOn(t *testing.T) {
	a := serve(t)
	for _, path := range []string{
		"/api/v1/memory/search", "/api/v1/memory/a/source", "/api/v1/panel/items",
		"/api/v1/sessions/open", "/api/v1/sessions/a/close", "/api/v1/turns/start", "/api/v1/turns/a/complete",
	} {
		if status, out := a.ask("POST", path, "{}"); status != 200 || out["path"] != path {
			t.Errorf("%s: got %d %v", path, status, out)
		}
	}
	if status, out := a.ask("GET", "/api/v1/health", ""); status != 200 || out["path"] != "/api/v1/health" {
		t.Errorf("health: got %d %v", status, out)
	}
	for _, path := range []string{"/api/v1/sessions/open", "/api/v1/turns/start", "/api/v1/health"} {
		res, err := http.Get(a.base + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 401 {
			t.Errorf("%s without a token: got %d", path, res.StatusCode)
		}
	}
}

func TestTheBridgeHasATokenOfItsOwn(t *testing.T) {
	a := serve(t)
	for _, method := range []string{"GET", "POST", "DELETE"} {
		if status, out := a.ask(method, server.BridgePath, ""); status != 401 {
			t.Errorf("%s with the other token: got %d %v", method, status, out)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, a.base+server.BridgePath, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(ambry.MCPTokenHeader, mcpToken)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := `{"bridge":"` + method + `"}`; resp.StatusCode != 200 || string(data) != want {
			t.Errorf("%s: got %d %s, want %s", method, resp.StatusCode, data, want)
		}
	}
}

func TestCapabilitiesSayHowTheUpstreamsAre(t *testing.T) {
	status, got := serve(t).ask("GET", "/api/v1/integrations/capabilities", "")
	list, ok := got["mcpUpstreams"].([]any)
	if status != 200 || !ok || len(list) != 2 || fmt.Sprint(got["toolkits"]) != "[docs]" {
		t.Fatalf("got %d %v", status, got)
	}
	if one := fmt.Sprint(list[1]); one != "map[id:gone name:gone reason:ended status:failed tools:[] transport:stdio]" {
		t.Errorf("got %s", one)
	}
}
