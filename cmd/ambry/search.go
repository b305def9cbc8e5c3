package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
)

// searchFlags narrow a search.
type searchFlags struct {
	limit          int
	project        string
	agents, layers []string
	after, before  string

	regex, substring bool
}

func (p *program) searchCommand() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Find what was said and done",
		Long: `Search finds what was said and done in the sessions of all agents, and notes, best
first: words, a question, an identifier, part of an error message. Each hit says
which agent it is from, in which project, when, and the file and line it stands
in. "ambry show" with its id shows all of it.`,
		Example: `  ambry search flaky test in the scheduler
  ambry search ECONNREFUSED --agent codex --after 7d
  ambry search why sqlite --project . --json
  ambry search --regex 'timeout after \d+ ?ms'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.query(args, time.Now())
			if err != nil {
				return usageError{err}
			}
			return p.search(cmd.Context(), q)
		},
	}
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 10, "hits at most, 1 to 100")
	cmd.Flags().StringVar(&f.project, "project", "", "only this project: its `directory`, . for this one")
	cmd.Flags().StringSliceVar(&f.agents, "agent", nil, "only this `agent`, such as claude_code; may be repeated")
	cmd.Flags().StringSliceVar(&f.layers, "layer", nil, "only this `layer`: L1, L2, L3 or Skill; may be repeated")
	cmd.Flags().StringVar(&f.after, "after", "", "only since this `time`: 2026-03-01, an RFC 3339 time or an age such as 7d")
	cmd.Flags().BoolVar(&f.regex, "regex", false, "the query is a regular expression; texts are read, the latest first")
	cmd.Flags().BoolVar(&f.substring, "substring", false, "the query must stand there as it is; texts are read, the latest first")
	cmd.MarkFlagsMutuallyExclusive("regex", "substring")
	cmd.Flags().StringVar(&f.before, "before", "", "only before this `time`")
	_ = cmd.RegisterFlagCompletionFunc("layer", cobra.FixedCompletions([]string{"L1", "L2", "L3", "Skill"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// query is what the flags and words ask for.
func (f searchFlags) query(words []string, now time.Time) (ambry.Query, error) {
	q := ambry.Query{Query: strings.Join(words, " "), Limit: f.limit, Agents: f.agents, Project: f.project}
	if f.limit < 1 || f.limit > 100 {
		return q, fmt.Errorf("--limit %d: must be 1 to 100", f.limit)
	}
	for _, name := range f.layers {
		i := slices.IndexFunc(ambry.Layers, func(l ambry.Layer) bool { return strings.EqualFold(string(l), name) })
		if i < 0 {
			return q, fmt.Errorf("--layer %s: must be L1, L2, L3 or Skill", name)
		}
		q.Layers = append(q.Layers, ambry.Layers[i])
	}
	switch {
	case f.regex:
		q.Mode = ambry.ModeRegex
	case f.substring:
		q.Mode = ambry.ModeSubstring
	}
	var err error
	if q.After, err = ambry.ParseWhen(f.after, now); err != nil {
		return q, fmt.Errorf("--after: %w", err)
	}
	if q.Before, err = ambry.ParseWhen(f.before, now); err != nil {
		return q, fmt.Errorf("--before: %w", err)
	}
	if strings.HasPrefix(q.Project, ".") {
		if q.Project, err = filepath.Abs(q.Project); err != nil {
			return q, fmt.Errorf("--project: %w", err)
		}
	}
	return q, q.Validate()
}

func (p *program) search(ctx context.Context, q ambry.Query) error {
	memory := p.follow()
	defer memory.close()
	a, err := memory.Search(ctx, q)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(a)
	}
	if a.Incomplete {
		p.note("Time ran out before all was read; narrow it with --project, --agent or --after.")
	}
	if len(a.Hits) > 0 {
		p.printHits(a)
		return nil
	}
	p.note("Nothing found.")
	if o, err := memory.Overview(ctx); err == nil && o.Counts.Memories == 0 {
		p.note(`hint: the memory is empty; "ambry scan --allow --wait" reads the agents' histories`)
	}
	return nil
}

func (p *program) printHits(a ambry.Answer) {
	st := p.style()
	margin := strings.Repeat(" ", len(fmt.Sprint(len(a.Hits)))+2)
	for i, h := range a.Hits {
		title, snippet := flat(h.Title), flat(h.Snippet)
		head := fmt.Sprintf("%-*d", len(margin), i+1)
		if title != "" && !strings.HasPrefix(snippet, strings.TrimSuffix(title, "…")) {
			p.printf("%s%s\n", head, st.bold(title))
			head = margin
		}
		p.printf("%s%s\n", head, st.marked(h.Snippet, h.Highlights))
		p.printf("%s%s\n", margin, st.dim(origin(h.Agent, h.Project, h.CreatedAt, h.Source)))
		p.printf("%s%s\n\n", margin, st.dim(h.ID))
	}
	total := counted(int64(max(a.Total, len(a.Hits))), "memory", "memories")
	if a.TotalAtLeast {
		total = "at least " + total
	}
	p.printf("%s\n", st.dim(fmt.Sprintf("%d of %s in %.0f ms; \"ambry show %s\" shows the first",
		len(a.Hits), total, a.TookMs, a.Hits[0].ID)))
}

// origin says where something remembered comes from, as far as it is known.
func origin(agent, project string, at time.Time, source ambry.Source) string {
	if agent == "" {
		agent = "note"
	}
	parts := []string{agent, tilde(project), "", source.String()}
	if !at.IsZero() {
		parts[2] = at.Local().Format(time.DateOnly)
	}
	return flat(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · "))
}
