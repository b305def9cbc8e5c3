package web_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry/internal/web"
)

// benchmark sends request over and over on 8 connections and reports requests
// per second. Clients and server share the processors.
func benchmark(b *testing.B, request string, routes ...web.Route) {
	cfg := config()
	cfg.Log = slog.New(slog.DiscardHandler)
	handler, _ := web.New(cfg, append(routes, health()))
	ln, err := web.Listen(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- (&web.Server{Handler: handler}).Serve(ctx, ln) }()
	wire := []byte(strings.ReplaceAll(request, "HOST", ln.Addr().String()))

	const clients = 8
	jobs := make(chan struct{}, clients*64)
	var wg sync.WaitGroup
	for range clients {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			defer conn.Close()
			br := bufio.NewReader(conn)
			for range jobs {
				if _, err := conn.Write(wire); err != nil {
					b.Error(err)
					return
				}
				if err := skipReply(br); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		jobs <- struct{}{}
	}
	close(jobs)
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// skipReply reads one answer with a Content-Length of up to 4 KiB.
func skipReply(br *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("got %q", line)
		}
		if len(line) == 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			for _, digit := range bytes.TrimSpace(value) {
				length = 10*length + int(digit-'0')
			}
		}
	}
	_, err := br.Discard(length)
	return err
}

func BenchmarkHealth(b *testing.B) {
	benchmark(b, "GET /api/health HTTP/1.1\r\nHost: HOST\r\n\r\n")
}

func BenchmarkRoute(b *testing.B) {
	b.Run("get", func(b *testing.B) {
		benchmark(b, "GET /api/list?page=2 HTTP/1.1\r\nHost: HOST\r\n"+token+"\r\n\r\n", listRoute())
	})
	b.Run("post", func(b *testing.B) {
		body := `{"text":"hello","count":3,"tags":["a","b"]}`
		benchmark(b, fmt.Sprintf("POST /api/echo/x HTTP/1.1\r\nHost: HOST\r\n%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", token, len(body), body), echoRoute())
	})
}
