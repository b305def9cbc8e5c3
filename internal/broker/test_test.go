package broker_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry"
)

func (w *world) test(base string, change ...func(*ambry.ModelTest)) (ambry.ModelTested, error) {
	in := ambry.ModelTest{ModelInput: input("openai_compatible", base).ModelInput}
	for _, c := range change {
		c(&in)
	}
	return w.TestModel(w.t.Context(), in)
}

func withKey(k string) func(*ambry.ModelTest) {
	return func(in *ambry.ModelTest) { in.APIKey = json.RawMessage(`"` + k + `"`) }
}

func capability(c string) func(*ambry.ModelTest) {
	return func(in *ambry.ModelTest) { in.Capability = c }
}

func target(c string) func(*ambry.ModelTest) {
	return func(in *ambry.ModelTest) { in.SecretTarget = c }
}

func TestAModelThatAnswers(t *testing.T) {
	w, p := newWorld(t), newProvider(t)
	got, err := w.test(p.URL, withKey(key))
	if err != nil || !got.OK || got.Message != "connected" || got.Model != "m-1" || !got.CheckedAt.Equal(noon) || p.seen()[0] != key {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = w.test(p.URL, capability("embedding"))
	if err != nil || !got.OK || got.Dimensions != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	if v := w.view(); v.ModelID != "" || len(w.secrets.IDs()) != 0 {
		t.Errorf("a test is kept: %+v", v)
	}
	if s := w.summary(); s.Calls != 2 {
		t.Errorf("written down are %d calls", s.Calls)
	}
}

// A model that does not answer is no error of the request. What comes from the
// address is shown only if it is said as providers say it, and never the key.
func TestAModelThatDoesNotAnswer(t *testing.T) {
	w, p := newWorld(t), newProvider(t)
	p.fail = 401
	got, err := w.test(p.URL, withKey(key))
	if err != nil || got.OK || !strings.Contains(got.Message, "the key is refused (HTTP 401): no, Bearer ***") {
		t.Errorf("got %+v, %v", got, err)
	}
	const marker = "<title>INTERNAL</title>"
	for status, want := range map[int]string{200: "not that of a model", 404: "no such model", 500: "has a fault", 302: "redirects", 400: "is refused"} {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", p.URL)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(marker))
		}))
		got, err := w.test(page.URL, withKey(key))
		page.Close()
		if err != nil || got.OK || !strings.Contains(got.Message, want) || strings.Contains(got.Message, "INTERNAL") {
			t.Errorf("%d: got %+v, %v", status, got, err)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if got, err := w.test(gone.URL); err != nil || got.OK || !strings.Contains(got.Message, "nobody answers") {
		t.Errorf("got %+v, %v", got, err)
	}
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, err := w.Write(nil); err == nil; {
			_, err = w.Write([]byte(strings.Repeat(" ", 1<<16)))
		}
	}))
	defer endless.Close()
	if got, err := w.test(endless.URL); err != nil || got.OK || !strings.Contains(got.Message, "too big") {
		t.Errorf("got %+v, %v", got, err)
	}
	if n := len(p.seen()); n != 1 {
		t.Errorf("the provider was called %d times", n)
	}
}

func TestTestsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name string
		in   ambry.ModelTest
	}{
		{"no key", ambry.ModelTest{ModelInput: input("openai", "https://api.openai.com/v1").ModelInput}},
		{"no stored key", ambry.ModelTest{ModelInput: input("openai", "https://api.openai.com/v1").ModelInput, SecretTarget: "primary"}},
		{"a reference to nothing", ambry.ModelTest{ModelInput: input("openai", "https://api.openai.com/v1", "env:OTHER_API_KEY").ModelInput}},
		{"no embeddings", ambry.ModelTest{ModelInput: input("anthropic", "https://api.anthropic.com", key).ModelInput, Capability: "embedding"}},
		{"a metadata address", ambry.ModelTest{ModelInput: input("openai", "http://169.254.169.254/v1", key).ModelInput}},
		{"a scheme", ambry.ModelTest{ModelInput: input("openai", "file:///etc/passwd", key).ModelInput}},
	} {
		if got, err := w.TestModel(t.Context(), tt.in); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%s: got %+v, %v", tt.name, got, err)
		}
	}
}

func TestAStoredKeyIsTestedAtItsAddressOnly(t *testing.T) {
	w, p, other := newWorld(t), newProvider(t), newProvider(t)
	w.put(input("openai_compatible", p.URL+"/v1", key))
	for _, change := range []func(*ambry.ModelTest){func(*ambry.ModelTest) {}, target("primary"), target("memory"), target("skill"), target("embedding")} {
		if got, err := w.test(p.URL+"/elsewhere", change); err != nil || !got.OK {
			t.Errorf("at its address: %+v, %v", got, err)
		}
		_, _ = w.test(other.URL+"/v1", change)
		_, _ = w.test(other.URL+"/v1", change, capability("embedding"))
	}
	for _, k := range p.seen() {
		if k != key {
			t.Errorf("at its address the key is %q", k)
		}
	}
	for _, k := range other.seen() {
		if k != "" {
			t.Errorf("another address has seen %q", k)
		}
	}
	if _, err := w.test(other.URL+"/v1", target("primary")); ambry.KindOf(err) != ambry.InvalidArgument || !strings.Contains(err.Error(), "another address") {
		t.Errorf("got %v", err)
	}
}

// Tests that hang take their places, and no more; nothing else waits for them.
func TestTestsThatHangBlockNobody(t *testing.T) {
	w := newWorld(t)
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { _, _ = w.test(slow.URL) })
	}
	for range 8 {
		<-arrived
	}
	if _, err := w.test(slow.URL); ambry.KindOf(err) != ambry.RateLimited {
		t.Errorf("one more: %v", err)
	}
	w.put(input("openai_compatible", slow.URL, key))
	if v := w.view(); v.APIKeyMasked != masked {
		t.Errorf("got %+v", v)
	}
	close(release)
	wg.Wait()
}
