package broker_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/secret"
)

func TestANewHomeHasNoModel(t *testing.T) {
	w := newWorld(t)
	v := w.view()
	if v.Provider != "openai_compatible" || v.ModelID != "" || v.HasAPIKey || v.Embedding.Mode != "local" || v.UpdatedAt != nil {
		t.Errorf("got %+v", v)
	}
	if _, err := w.Chat(t.Context(), ambry.UsageChat, false, ask, nil); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("a call answers %v", err)
	}
}

func TestAStoredKeyIsUsedButNotShown(t *testing.T) {
	w, p := newWorld(t), newProvider(t)
	v := w.put(input("openai_compatible", p.URL+"/v1/", key))
	if v.APIKeyMasked != masked || !v.HasAPIKey || v.APIKey != "" || v.BaseURL != p.URL+"/v1" {
		t.Errorf("got %+v", v)
	}
	w.restart()
	after := w.view()
	if !reflect.DeepEqual(after, v) {
		t.Errorf("after a restart it is %+v, was %+v", after, v)
	}
	if text, err := json.Marshal(after); err != nil || strings.Contains(string(text), key) {
		t.Errorf("the view shows the key: %s, %v", text, err)
	}
	reply, err := w.Chat(t.Context(), ambry.UsageChat, false, ask, nil)
	if err != nil || reply.Text != "pong" || !slices.Equal(p.seen(), []string{key}) {
		t.Errorf("got %+v, %v; the provider saw %q", reply, err, p.seen())
	}
}

// A key stays as long as scheme, host and port do, and with none of them longer.
func TestAKeyStaysWithItsAddress(t *testing.T) {
	for _, tt := range []struct {
		base string
		kept bool
	}{
		{"https://api.example.com/v1", true},
		{"https://API.example.com:443/v2", true},
		{"https://api.example.com:8443/v1", false},
		{"http://api.example.com/v1", false},
		{"https://api.example.org/v1", false},
		{"https://api.example.com.evil.example/v1", false},
	} {
		w := newWorld(t)
		w.put(input("openai_compatible", "https://api.example.com/v1", key))
		v := w.put(input("openai_compatible", tt.base))
		if v.HasAPIKey != tt.kept || (v.APIKeyMasked == masked) != tt.kept {
			t.Errorf("%s: got %+v", tt.base, v.ModelView)
		}
		if n := len(w.secrets.IDs()); n != map[bool]int{true: 1}[tt.kept] {
			t.Errorf("%s: %d keys are stored", tt.base, n)
		}
		// Back at the old address it is not there again.
		if v := w.put(input("openai_compatible", "https://api.example.com/v1")); v.HasAPIKey != tt.kept {
			t.Errorf("%s and back: got %+v", tt.base, v.ModelView)
		}
	}
}

func TestWhatBecomesOfAKey(t *testing.T) {
	w := newWorld(t)
	const base = "https://api.example.com/v1"
	with := func(raw string) ambry.ModelConfigInput {
		in := input("openai_compatible", base)
		in.APIKey = json.RawMessage(raw)
		return in
	}
	w.put(with(`"` + key + `"`))
	for _, tt := range []struct{ raw, masked string }{
		{``, masked},
		{`""`, masked},
		{`"` + key + `0"`, "sk-p••••xyz0"},
		{`"short"`, "••••"},
		{`null`, ""},
		{``, ""},
		{`"env:SOME_API_KEY"`, "env:SOME_API_KEY"},
		{``, "env:SOME_API_KEY"},
		{`"env:OTHER_API_KEY"`, "env:OTHER_API_KEY"},
		{`"keychain:work"`, "keychain:work"},
	} {
		v := w.put(with(tt.raw))
		has := tt.masked != "" && tt.raw != `"env:OTHER_API_KEY"` && tt.raw != `"keychain:work"`
		if v.APIKeyMasked != tt.masked || v.HasAPIKey != has {
			t.Errorf("%q makes %+v", tt.raw, v.ModelView)
		}
	}
	if ids := w.secrets.IDs(); len(ids) != 0 {
		t.Errorf("left are %v", ids)
	}
	before := w.view()
	for _, raw := range []string{
		`"a b"`, `"sk\r\nX-Injected: yes"`, `"` + masked + `"`, `1`, `["x"]`, `"ключ"`, `"` + strings.Repeat("k", 2001) + `"`,
		`"env:HOME"`, `"env:AWS_SECRET_ACCESS_KEY"`, `"env:"`, `"keychain:../x"`, `"keychain:"`,
	} {
		if _, err := w.SetModelConfig(t.Context(), with(raw)); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%s answers %v", raw, err)
		}
	}
	if after := w.view(); !reflect.DeepEqual(after, before) {
		t.Errorf("a bad request has made %+v", after)
	}
}

// Our own keys are out of reach of references, so that nobody moves one to an
// address of theirs by its name.
func TestAStoredKeyCannotBeReferredTo(t *testing.T) {
	w, p := newWorld(t), newProvider(t)
	w.put(input("openai_compatible", "https://api.example.com/v1", key))
	id := w.secrets.IDs()[0]
	for _, ref := range []string{id, "keychain:" + id} {
		_, _ = w.TestModel(t.Context(), ambry.ModelTest{ModelInput: input("openai_compatible", p.URL, ref).ModelInput})
		_, _ = w.SetModelConfig(t.Context(), input("openai_compatible", p.URL, ref))
		_, _ = w.Chat(t.Context(), ambry.UsageChat, false, ask, nil)
	}
	if slices.Contains(p.seen(), key) {
		t.Error("the key went to another address")
	}
}

// Whoever swaps what a key's name stands for in our files gets nothing: a key
// knows its address.
func TestAKeyKnowsItsAddress(t *testing.T) {
	w, p := newWorld(t), newProvider(t)
	w.put(input("openai_compatible", "https://api.example.com/v1", key))
	_, err := w.db.ModelSetup.Change(t.Context(), func(s *ambry.ModelSetup) error {
		s.Main.BaseURL = p.URL
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Chat(t.Context(), ambry.UsageChat, false, ask, nil); err == nil || len(p.seen()) != 0 {
		t.Errorf("got %v, the provider saw %q", err, p.seen())
	}
}

func TestTheOtherModels(t *testing.T) {
	w := newWorld(t)
	in := input("openai_compatible", "https://api.example.com/v1", key)
	in.Embedding = &ambry.EmbeddingInput{Mode: "custom", BaseURL: "https://api.example.com/v1", ModelID: "e"}
	in.Memory = &ambry.MemoryModelsInput{Summary: &ambry.ModelInput{Provider: "anthropic", BaseURL: "https://api.anthropic.com", ModelID: "s", APIKey: json.RawMessage(`"env:SOME_API_KEY"`)}}
	v := w.put(in)
	if v.Embedding.Mode != "custom" || *v.Embedding.Provider != "openai_compatible" || !v.Embedding.HasAPIKey {
		t.Errorf("a model of the same address has no key: %+v", v.Embedding)
	}
	if v.Memory.Summary.Provider != "anthropic" || v.Memory.Summary.APIKeyMasked != "env:SOME_API_KEY" || v.Memory.Evolution.ModelID != "m" {
		t.Errorf("got %+v", v.Memory)
	}
	if space, err := w.Space(t.Context()); err != nil || space != "openai:e" {
		t.Errorf("the space is %q, %v", space, err)
	}
	// The key that both share stays while one of them has it.
	in = input("openai_compatible", "https://api.example.org/v1")
	in.Embedding = &ambry.EmbeddingInput{Mode: "custom", BaseURL: "https://api.example.com/v1", ModelID: "e"}
	if v = w.put(in); v.HasAPIKey || !v.Embedding.HasAPIKey || v.Memory.Summary.Provider != "openai_compatible" {
		t.Errorf("got %+v", v)
	}
	v = w.put(input("openai_compatible", "https://api.example.com/v1"))
	if v.Embedding.Mode != "local" || v.HasAPIKey || len(w.secrets.IDs()) != 0 {
		t.Errorf("got %+v, %v are stored", v, w.secrets.IDs())
	}
	if space, err := w.Space(t.Context()); err != nil || space != "" {
		t.Errorf("the space is %q, %v", space, err)
	}
	if want := [][]string{{"embedding", "main", "summary"}, {"main", "summary"}, {"embedding", "main"}}; !reflect.DeepEqual(w.changed, want) {
		t.Errorf("told were %v, want %v", w.changed, want)
	}
}

func TestEveryMistakeIsNamed(t *testing.T) {
	w := newWorld(t)
	in := input("nobody", "http://169.254.169.254/", "a b")
	in.Embedding = &ambry.EmbeddingInput{Mode: "custom", Provider: "anthropic", BaseURL: "ftp://x"}
	_, err := w.SetModelConfig(t.Context(), in)
	e, ok := err.(*ambry.Error)
	if !ok || e.Kind != ambry.InvalidArgument {
		t.Fatalf("got %v", err)
	}
	var fields []string
	for _, d := range e.Details {
		fields = append(fields, strings.TrimPrefix(d.Field, "body."))
	}
	slices.Sort(fields)
	if want := "[apiKey baseUrl embedding.baseUrl embedding.modelId embedding.provider provider]"; fmt.Sprint(fields) != want {
		t.Errorf("named are %v, want %s", fields, want)
	}
}

// Nothing in the data directory shows a key, whatever was done with it.
func TestNoFileOfTheHomeShowsAKey(t *testing.T) {
	w, p := newWorld(t), newProvider(t)
	for i := range 5 {
		w.put(input("openai_compatible", p.URL, fmt.Sprint(key, i)))
		if _, err := w.Chat(t.Context(), ambry.UsageChat, false, ask, nil); err != nil {
			t.Fatal(err)
		}
	}
	p.fail = 401
	_, _ = w.Chat(t.Context(), ambry.UsageChat, false, ask, nil)
	w.restart()
	files := 0
	err := filepath.WalkDir(w.home.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for i := 0; i+10 <= len(key); i++ {
			if strings.Contains(string(data), key[i:i+10]) {
				t.Fatalf("%s shows %q", path, key[i:i+10])
			}
		}
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("%d files were read: %v", files, err)
	}
}

// Two hundred changes at the same time: every answer is what its request has
// made, and in the end there is one choice with its own key, and no other key.
func TestTwoHundredChangesAtOnce(t *testing.T) {
	w := newWorld(t)
	w.put(input("openai_compatible", "https://host-0.example.com", keyOf(0)))
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			host := i % 5
			base := fmt.Sprintf("https://host-%d.example.com", host)
			if i%4 == 3 {
				if v, err := w.SetModelConfig(t.Context(), input("openai_compatible", base)); err != nil {
					t.Error(err)
				} else {
					consistent(t, v, base)
				}
				return
			}
			v, err := w.SetModelConfig(t.Context(), input("openai_compatible", base, keyOf(i)))
			if err != nil {
				t.Error(err)
			}
			if want := keyOf(i)[len(keyOf(i))-4:]; !strings.HasSuffix(v.APIKeyMasked, want) || v.BaseURL != base {
				t.Errorf("the answer to change %d is %+v", i, v.ModelView)
			}
			consistent(t, w.view(), "")
		})
	}
	wg.Wait()
	before := w.view()
	consistent(t, before, "")
	if n, want := len(w.secrets.IDs()), map[bool]int{true: 1}[before.HasAPIKey]; n != want {
		t.Errorf("%d keys are stored, want %d", n, want)
	}
	w.restart()
	if after := w.view(); !reflect.DeepEqual(after, before) {
		t.Errorf("after a restart it is %+v, was %+v", after, before)
	}
}

// keyOf is a key that tells the number of its change.
func keyOf(i int) string { return fmt.Sprintf("sk-for-host-%d-of-change-%04d", i%5, i) }

// consistent fails unless a shown key is one that was given for its address.
func consistent(t *testing.T, v ambry.ModelConfig, base string) {
	t.Helper()
	var host, n int
	if _, err := fmt.Sscanf(v.BaseURL, "https://host-%d.example.com", &host); err != nil || base != "" && v.BaseURL != base {
		t.Errorf("the address is %s", v.BaseURL)
	}
	if !v.HasAPIKey {
		return
	}
	if _, err := fmt.Sscanf(v.APIKeyMasked, "sk-f••••%d", &n); err != nil || n%5 != host {
		t.Errorf("at %s there is the key %s", v.BaseURL, v.APIKeyMasked)
	}
}

// A crash leaves keys that nothing refers to; the next start removes them, and
// nothing else.
func TestLostKeysAreRemoved(t *testing.T) {
	w := newWorld(t)
	w.put(input("openai_compatible", "https://api.example.com", key))
	for _, id := range []string{"model-lost", "account-session"} {
		if err := w.secrets.Set(t.Context(), id, "x"); err != nil {
			t.Fatal(err)
		}
	}
	w.restart()
	ids := w.secrets.IDs()
	if len(ids) != 2 || ids[0] != "account-session" || w.view().APIKeyMasked != masked {
		t.Errorf("left are %v", ids)
	}
}

// Without the key of the file the choice stays, and says that its key has to be
// entered again.
func TestWithoutTheKeyOfTheFile(t *testing.T) {
	w := newWorld(t)
	w.put(input("openai", "https://api.openai.com/v1", key))
	if err := os.RemoveAll(w.keyDir); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if v := w.view(); v.HasAPIKey || v.Provider != "openai" {
		t.Errorf("got %+v", v)
	}
	_, err := w.Chat(t.Context(), ambry.UsageChat, false, ask, nil)
	if ambry.KindOf(err) != ambry.Conflict || !strings.Contains(err.Error(), secret.ErrLocked.Error()) {
		t.Errorf("a call answers %v", err)
	}
	if v := w.put(input("openai", "https://api.openai.com/v1", key)); v.APIKeyMasked != masked {
		t.Errorf("entered again it is %+v", v)
	}
}
