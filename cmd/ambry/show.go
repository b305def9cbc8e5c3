package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
)

func (p *program) showCommand() *cobra.Command {
	var hidden bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a memory in full",
		Long: `Show prints all of what is remembered under an id: what was asked and answered,
the tools that ran and what they said, and where it was read.`,
		Example: `  ambry show trace_0199a3f2
  ambry show trace_0199a3f2 | less
  ambry show trace_0199a3f2 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.show(cmd.Context(), args[0], hidden) },
	}
	cmd.Flags().BoolVar(&hidden, "hidden", false, "also show what the agent hid from the person")
	return cmd
}

func (p *program) show(ctx context.Context, id string, hidden bool) error {
	memory := p.follow()
	defer memory.close()
	d, err := memory.Get(ctx, id)
	if ambry.KindOf(err) == ambry.NotFound {
		return withHint(err, `"ambry search" prints ids`)
	}
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(d)
	}
	p.printDetail(d, hidden)
	return nil
}

func (p *program) printDetail(d ambry.Detail, hidden bool) {
	st := p.style()
	p.printf("%s\n", st.bold(flat(d.Title)))
	p.printf("%s\n", st.dim(origin(d.Agent, d.Project, d.CreatedAt, d.Source)))
	facts := []string{string(d.Layer), d.ID}
	if s := d.Session; s != nil {
		facts = append(facts, "session "+s.ID, s.Title, s.Branch)
	}
	if len(d.Tags) > 0 {
		facts = append(facts, "tags "+strings.Join(d.Tags, ", "))
	}
	facts = slices.DeleteFunc(facts, func(s string) bool { return s == "" })
	p.printf("%s\n", st.dim(flat(strings.Join(facts, " · "))))
	if d.Turn == nil || len(d.Turn.Messages) == 0 {
		p.printf("\n%s\n", strings.TrimRight(ambry.Plain(d.Body), "\n"))
		return
	}
	for _, m := range d.Turn.Messages {
		if hidden || !m.Hidden {
			p.printMessage(st, m)
		}
	}
}

func (p *program) printMessage(st style, m ambry.Message) {
	head := []string{string(m.Role), m.Model}
	if !m.At.IsZero() {
		head = append(head, m.At.Local().Format(time.DateTime))
	}
	if m.Hidden {
		head = append(head, "hidden")
	}
	head = slices.DeleteFunc(head, func(s string) bool { return s == "" })
	p.printf("\n%s\n", st.bold(flat(strings.Join(head, " · "))))
	if text := ambry.Plain(m.Text); strings.TrimSpace(text) != "" {
		p.printf("%s\n", strings.TrimRight(text, "\n"))
	}
	for _, f := range m.Files {
		p.printf("%s\n", st.dim(flat(fmt.Sprintf("(%s %s, %s)", f.Kind, f.Name, size(f.Bytes)))))
	}
	for _, c := range m.Calls {
		p.printCall(st, c)
	}
}

func (p *program) printCall(st style, c ambry.ToolCall) {
	line := st.bold("> " + flat(c.Name))
	if how := c.Outcome(); how != "" {
		line += " (" + how + ")"
	}
	p.printf("%s\n", line)
	if input := readable(c.Input); input != "" {
		p.printf("%s\n", indent(input, "    "))
	}
	if output := strings.Trim(ambry.Plain(c.Output), "\n"); output != "" {
		p.printf("%s\n", st.dim(indent(output, "  | ")))
	}
}

// readable shows the arguments of a tool: a JSON object as a line for each of
// its members, its texts as they are, anything else as it came.
func readable(input string) string {
	var members map[string]any
	if json.Unmarshal([]byte(input), &members) != nil || len(members) == 0 {
		return ambry.Plain(input)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value, isText := members[name].(string)
		if !isText {
			data, _ := json.Marshal(members[name])
			value = string(data)
		}
		if strings.Contains(value, "\n") {
			value = "\n" + indent(value, "  ")
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	return ambry.Plain(strings.TrimRight(b.String(), "\n"))
}
