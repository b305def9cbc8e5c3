package mcp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry/internal/mcp"
)

// written is an output that many may write to.
type written struct {
	mu sync.Mutex
	bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Buffer.Write(p)
}

func (w *written) Close() error { return nil }

// FuzzStdio: whatever an agent writes to the stdio command, it ends when the
// input does, and each line that it wrote is one message.
func FuzzStdio(f *testing.F) {
	for _, seed := range []string{
		hello("2025-06-18") + "\n" + list + "\n" + search + "\n", ping + "\n" + ping, "[" + ping + "," + list + "]\n", "\n\n\r\n" + ping + "\r\n",
		"{\n}\n", "\xff\xfe\n", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n" + search, ping + ping + "\n",
		"Content-Length: 2\r\n\r\n{}",
	} {
		f.Add([]byte(seed))
	}
	memory := full()
	f.Fuzz(func(t *testing.T, in []byte) {
		out := &written{}
		server := &mcp.Server{Memory: memory, Version: "1", Log: slog.New(slog.DiscardHandler)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = server.Serve(t.Context(), io.NopCloser(bytes.NewReader(in)), out) // what is no message may end it
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("it does not end")
		}
		out.mu.Lock()
		defer out.mu.Unlock()
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) || !bytes.HasSuffix(line, []byte("\n")) {
				t.Fatalf("wrote %q", line)
			}
		}
	})
}
