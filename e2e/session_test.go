package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"ambry.dev/ambry/client"
)

// killService kills the service of home, which has no time to tidy up.
func killService(home string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, rt, err := client.Find(ctx, home)
	if err != nil {
		return err
	}
	c.Close()
	if err := killProcess(rt.PID); err != nil {
		return err
	}
	return waitGone(ctx, rt.PID)
}

// mcpSession runs "ambry mcp" as an agent does: it sends each line of a file and
// waits for the answer before it sends the next. The answers are said, each
// indented. The line "kill" kills the service in between.
func mcpSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mcp file")
	}
	cmd := command(ts, "ambry", "mcp")
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			ts.Fatalf("ambry mcp ended with %v", err)
		}
		fmt.Fprint(ts.Stderr(), said.String())
	}()
	answers := bufio.NewReader(out)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		line = strings.TrimSpace(line)
		if line == "kill" {
			ts.Check(killService(ts.Getenv("AMBRY")))
			continue
		}
		_, err := io.WriteString(in, line+"\n")
		ts.Check(err)
		var message struct{ ID *int }
		ts.Check(json.Unmarshal([]byte(line), &message))
		if message.ID == nil {
			continue
		}
		answer, err := answers.ReadBytes('\n')
		ts.Check(err)
		var doc any
		ts.Check(json.Unmarshal(answer, &doc))
		pretty, err := json.MarshalIndent(doc, "", "  ")
		ts.Check(err)
		fmt.Fprintf(ts.Stdout(), "%s\n", pretty)
	}
}
