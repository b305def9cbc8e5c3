package supervise_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/supervise"
)

func TestChildSide(t *testing.T) {
	in, parent := io.Pipe()
	defer parent.Close()
	var out strings.Builder
	go func() { _, _ = io.WriteString(parent, `{"Token":"t"}`+"\n") }()

	var told hello
	ctx, up, err := supervise.Child(t.Context(), in, &out, &told)
	if err != nil {
		t.Fatal(err)
	}
	if told.Token != "t" {
		t.Errorf("was told %+v", told)
	}
	if err := up.Ready(map[string]string{"addr": "a\nb"}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `{"answer":{"addr":"a\nb"}}`+"\n"; got != want {
		t.Errorf("answered %q, want %q", got, want)
	}
	if ctx.Err() != nil {
		t.Error("the context ended before the input")
	}
	if err := parent.Close(); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, supervise.ErrParentGone) {
		t.Errorf("the context ended by %v, want %v", cause, supervise.ErrParentGone)
	}
}

func TestChildRefusesWhatWasNotAgreed(t *testing.T) {
	secret := strings.Repeat("not-a-token-", 3)
	for name, in := range map[string]string{
		"nothing":     "",
		"half a line": `{"Token":"` + secret,
		"not JSON":    secret + "\n",
		"wrong type":  `["` + secret + `"]` + "\n",
		"endless":     strings.Repeat("x", 2<<20) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := supervise.Child(t.Context(), strings.NewReader(in), io.Discard, new(hello))
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want an error without the secret", err)
			}
		})
	}
}

func TestUnanswerable(t *testing.T) {
	in := strings.NewReader("{}\n")
	_, up, err := supervise.Child(t.Context(), in, io.Discard, new(hello))
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Ready(func() {}); err == nil {
		t.Error("answered with a function")
	}
}

func TestEnvironment(t *testing.T) {
	got := strings.Join(supervise.Environment([]string{
		"PATH=/bin", "HOME=/home/ada", "LC_ALL=C", "GODEBUG=x=1", "AMBRY_MEMORY_TOKEN=t", "OPENAI_API_KEY=k", "LD_PRELOAD=x", "PATHS=no", "",
	}), " ")
	if want := "PATH=/bin HOME=/home/ada LC_ALL=C GODEBUG=x=1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if supervise.Environment(nil) == nil {
		t.Error("an empty environment is nil, which would mean ours")
	}
}
