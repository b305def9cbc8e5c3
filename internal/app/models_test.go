package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/relay"
)

// A key that looks like one, put together so that nothing takes it for a leak.
const modelKey = "sk-" + "planted-0123456789abcdef-wxyz"

// modelAt serves a model on an address of this machine, which keeps the keys
// that it is sent.
func modelAt(t *testing.T, ip string) (base string, keys func() []string) {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/embeddings") {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[3,4]}],"usage":{"prompt_tokens":5,"total_tokens":5}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"pong"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`)
	}))
	server.Listener.Close()
	server.Listener = ln
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, seen...)
	}
}

func chosen(base string, key string) ambry.ModelConfigInput {
	in := ambry.ModelConfigInput{ModelInput: ambry.ModelInput{Provider: "openai_compatible", BaseURL: base, ModelID: "m"}}
	if key != "" {
		in.APIKey = json.RawMessage(`"` + key + `"`)
	}
	return in
}

// The whole service: a key is kept over a restart, used, told as changed and
// counted, and shown nowhere.
func TestAModelOfThePersons(t *testing.T) {
	memory, dir := memoryAt(t, "127.0.0.1"), t.TempDir()
	base, keys := modelAt(t, "127.0.0.1")
	s := serveIn(t, dir, memory.URL)
	changes := s.changes()
	v, err := s.SetModelConfig(t.Context(), chosen(base, modelKey))
	if err != nil || !v.HasAPIKey || v.APIKeyMasked != "sk-p••••wxyz" {
		t.Fatalf("got %+v, %v", v, err)
	}
	if c := next(t, changes); c.Section != "model_config" || fmt.Sprint(c.Fields) != "[main]" {
		t.Errorf("told was %+v", c)
	}
	s.stop()
	s = serveIn(t, dir, memory.URL)
	r, err := s.TestModel(t.Context(), ambry.ModelTest{ModelInput: chosen(base, "").ModelInput, SecretTarget: "primary"})
	if err != nil || !r.OK || fmt.Sprint(keys()) != "["+modelKey+"]" {
		t.Errorf("got %+v, %v; the model saw %q", r, err, keys())
	}
	if u := s.bootstrap().TokenUsage; u.UsedTokens != 12 || u.PlanName != "byok" {
		t.Errorf("bootstrap says %+v", u)
	}
	s.stop()
	grep(t, filepath.Join(dir, ".ambry"), modelKey)
}

// Two hundred changes of settings and models at the same time, of the running
// service: each answer is what its request has made, and what is there in the end
// is there after a restart.
func TestModelsAndSettingsAtOnce(t *testing.T) {
	memory, dir := memoryAt(t, "127.0.0.1"), t.TempDir()
	s := serveIn(t, dir, memory.URL)
	themes := []string{"light", "dark"}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if i%2 == 0 {
				a, err := s.PatchSettings(t.Context(), ambry.AppSettingsPatch{Theme: &themes[i/2%2]})
				if err != nil || a.Theme != themes[i/2%2] {
					t.Errorf("change %d: %+v, %v", i, a, err)
				}
				return
			}
			in := chosen(fmt.Sprintf("https://host-%d.example.com", i%7), fmt.Sprintf("sk-%d-of-change-number-%04d", i%7, i))
			v, err := s.SetModelConfig(t.Context(), in)
			if want := fmt.Sprintf("sk-%d••••%04d", i%7, i); err != nil || v.APIKeyMasked != want || v.BaseURL != in.BaseURL {
				t.Errorf("change %d: %+v, %v; want %s", i, v.ModelView, err, want)
			}
		})
	}
	wg.Wait()
	before, err := s.ModelConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theme := s.bootstrap().App.Theme
	s.stop()
	s = serveIn(t, dir, memory.URL)
	after, err := s.ModelConfig(t.Context())
	if err != nil || after.ModelView != before.ModelView || s.bootstrap().App.Theme != theme {
		t.Errorf("after a restart %+v, %v; was %+v", after.ModelView, err, before.ModelView)
	}
}

// grep fails if a file below a directory shows a part of a secret.
func grep(t *testing.T, dir, secret string) {
	t.Helper()
	files := 0
	each(t, dir, func(path string, data []byte) {
		files++
		for i := 0; i+10 <= len(secret); i++ {
			if strings.Contains(string(data), secret[i:i+10]) {
				t.Errorf("%s shows %q", path, secret[i:i+10])
				return
			}
		}
	})
	if files < 2 {
		t.Errorf("%d files were read: the test sees nothing", files)
	}
}

// In local-only mode a model on another machine is not called, one on this
// machine is.
func TestLocalOnlyModeAndModels(t *testing.T) {
	s := serveIn(t, t.TempDir(), memoryAt(t, "127.0.0.1").URL)
	here, _ := modelAt(t, "127.0.0.1")
	there, keys := modelAt(t, outsideAddress(t))
	test := func(base string) ambry.ModelTested {
		t.Helper()
		r, err := s.TestModel(t.Context(), ambry.ModelTest{ModelInput: chosen(base, modelKey).ModelInput})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if _, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{LocalOnlyMode: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	if r := test(there); r.OK || !strings.Contains(r.Message, "local-only mode") || len(keys()) != 0 {
		t.Errorf("got %+v, the model saw %q", r, keys())
	}
	for _, base := range []string{here, strings.Replace(here, "127.0.0.1", "localhost", 1)} {
		if r := test(base); !r.OK {
			t.Errorf("on this machine: %+v", r)
		}
	}
}

// The service never calls itself, however its address is written.
func TestTheServiceIsNoModel(t *testing.T) {
	s := serveIn(t, t.TempDir(), memoryAt(t, "127.0.0.1").URL)
	port := s.file.BaseURL[strings.LastIndexByte(s.file.BaseURL, ':')+1:]
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", outsideAddress(t)} {
		_, err := s.TestModel(t.Context(), ambry.ModelTest{ModelInput: chosen("http://"+host+":"+port+"/v1", modelKey).ModelInput})
		if ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%s: got %v", host, err)
		}
	}
}

// What is dialled is looked at, not what is written.
func TestTheDialledAddressIsLookedAt(t *testing.T) {
	o := newOutgoing(func() bool { return false })
	base, _ := modelAt(t, outsideAddress(t))
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	never := func(ip netip.Addr) error { asked++; return fmt.Errorf("%w: %s", model.ErrForbidden, ip) }
	for _, address := range []string{u.Host, "localhost:" + u.Port(), "127.0.0.1:" + u.Port()} {
		if _, err := o.dialModel(t.Context(), "tcp", address, never); !errors.Is(err, model.ErrForbidden) {
			t.Errorf("%s: got %v", address, err)
		}
	}
	if asked < 3 {
		t.Errorf("asked %d times", asked)
	}
	conn, err := o.dialModel(t.Context(), "tcp", u.Host, model.MayCall)
	if err != nil || len(o.outside) != 1 {
		t.Fatalf("got %v; %d are remembered", err, len(o.outside))
	}
	conn.Close()
	for _, address := range []string{"169.254.169.254:80", "[fe80::1]:80", "0.0.0.0:80", "224.0.0.1:80"} {
		if _, err := o.dialModel(t.Context(), "tcp", address, model.MayCall); !errors.Is(err, model.ErrForbidden) {
			t.Errorf("%s: got %v", address, err)
		}
	}
	if _, err := o.dialModel(t.Context(), "tcp", "8.8.8.8:80", model.MayCallPlain); !errors.Is(err, model.ErrForbidden) {
		t.Errorf("without encryption the internet is called: %v", err)
	}
}

// Models are lent to the memory runtime: it reaches one through the service, and
// has no key.
func TestModelsAreLent(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir, memoryAt(t, "127.0.0.1").URL)
	there, keys := modelAt(t, outsideAddress(t))
	in := chosen(there, modelKey)
	in.Embedding = &ambry.EmbeddingInput{Mode: "custom", BaseURL: there, ModelID: "e"}
	if _, err := s.SetModelConfig(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	// The runtime's token is told to it alone; a stranger's opens nothing.
	c := borrow(relay.Access{BaseURL: s.file.BaseURL, Token: s.file.LocalToken, Space: "openai:e"})
	defer c.Close()
	if _, err := c.Embedder().Embed(t.Context(), []string{"x"}, model.ForSearching); ambry.KindOf(err) != ambry.Unauthorized || len(keys()) != 0 {
		t.Errorf("got %v", err)
	}
	// What the runtime has reaches this machine alone.
	away := borrow(relay.Access{BaseURL: there, Token: "t", Space: "openai:e"})
	defer away.Close()
	if _, err := away.Embedder().Embed(t.Context(), []string{"x"}, model.ForSearching); !errors.Is(err, errLocalOnly) {
		t.Errorf("got %v", err)
	}
}
