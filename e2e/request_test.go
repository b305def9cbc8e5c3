package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// request writes a request to the service byte by byte, so that it may be one
// that no HTTP client would send, and says the answer: status, headers in
// order, an empty line, body. The token is that of the service unless a header
// says another; "-" as the value of a header leaves it out, and MCP_TOKEN is the
// token of the bridge.
func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: request METHOD path [header: value]... [body]")
	}
	rt, err := client.ReadRuntimeFile(ts.Getenv("AMBRY"))
	ts.Check(err)
	address := strings.TrimPrefix(rt.BaseURL, "http://")
	headers := map[string]string{"Host": address, ambry.LocalTokenHeader: rt.LocalToken, "Connection": "close"}
	var body string
	for _, arg := range args[2:] {
		if name, value, ok := strings.Cut(arg, ": "); ok && !strings.HasPrefix(arg, "{") {
			headers[name] = strings.Replace(value, "MCP_TOKEN", rt.MCPToken, 1)
			continue
		}
		body = arg
		headers["Content-Type"], headers["Content-Length"] = "application/json", fmt.Sprint(len(body))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", args[0], args[1])
	for name, value := range headers {
		if value != "-" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	fmt.Fprintf(&b, "\r\n%s", body)

	conn, err := net.DialTimeout("tcp", address, patience)
	ts.Check(err)
	defer conn.Close()
	ts.Check(conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Write(b.Bytes())
	ts.Check(err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: args[0]})
	ts.Check(err)
	defer resp.Body.Close()
	fmt.Fprintln(ts.Stdout(), resp.Status)
	var names []string
	for name := range resp.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(ts.Stdout(), "%s: %s\n", name, strings.Join(resp.Header[name], ", "))
	}
	fmt.Fprintln(ts.Stdout())
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
}
