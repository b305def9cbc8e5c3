// Command learn shows what the rules learn from the histories in some home
// directories, to be judged by hand: a sample drawn with a seed, as
// tab-separated rows of home, rule, title, body and evidence. With -judged it
// reads rows that were judged instead, and counts them.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/all"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "learn:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("learn", flag.ContinueOnError)
	n := flags.Int("n", 200, "rows to draw from each home; 0 draws all")
	seed := flags.Uint64("seed", 1, "of the drawing")
	judged := flags.String("judged", "", "count the verdicts in this file of judged rows")
	invented := flags.String("corpus", "", "draw from the invented sessions in this directory, and tell how much of what is planted there was learned")
	beamDir := flags.String("beam", "", "draw from the chats of BEAM in this directory")
	qualityDir := flags.String("quality", "", "draw from the sessions of bench/quality in this directory")
	missed := flags.Bool("missed", false, "with -corpus, name what was not learned instead of what was")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *judged != "" {
		f, err := os.Open(*judged)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		return count(f, out)
	}
	for _, set := range []struct {
		name, dir string
		read      func(string) ([]ambry.Conversation, []planted, error)
	}{{"corpus", *invented, everything}, {"beam100k", *beamDir, plain(beam)}, {"quality", *qualityDir, plain(quality)}} {
		if set.dir == "" {
			continue
		}
		sessions, plants, err := set.read(set.dir)
		if err != nil {
			return err
		}
		name := set.name
		if name == "corpus" {
			name = filepath.Base(set.dir)
		}
		rows, stats, err := learned(ctx, name, func(ctx context.Context, e *engine.Engine) (ambry.Imported, error) { return fill(ctx, e, sessions) })
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: %d sessions, %s\n", name, len(sessions), stats)
		report(os.Stderr, out, recalled(plants, rows), *missed)
		if !*missed {
			draw(out, rows, *n, *seed)
		}
	}
	if *invented+*beamDir+*qualityDir != "" {
		return nil
	}
	if flags.NArg() == 0 {
		return errors.New("usage: learn [-n ROWS] [-seed N] HOME..., learn -corpus DIR, or learn -judged FILE")
	}
	for _, home := range flags.Args() {
		rows, stats, err := learned(ctx, filepath.Base(home), func(ctx context.Context, e *engine.Engine) (ambry.Imported, error) { return read(ctx, e, home) })
		if err != nil {
			return fmt.Errorf("%s: %w", home, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(home), stats)
		draw(out, rows, *n, *seed)
	}
	return nil
}

// plain reads sessions in which nothing was planted.
func plain(read func(string) ([]ambry.Conversation, error)) func(string) ([]ambry.Conversation, []planted, error) {
	return func(dir string) ([]ambry.Conversation, []planted, error) {
		sessions, err := read(dir)
		return sessions, nil, err
	}
}

// row is a memory that was learned.
type row struct {
	home, title, body string
	rule              ambry.Rule
	status            ambry.Status
	ended             bool
	evidence          int64
	sure              float64
	sessions          []string
}

func (r row) String() string {
	return strings.Join([]string{r.home, string(r.rule), string(r.status), r.title, r.body, fmt.Sprint(r.evidence), fmt.Sprint(r.sure)}, "\t")
}

// draw shows n of some rows, the same ones every time.
func draw(out io.Writer, rows []row, n int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	if n > 0 {
		rows = rows[:min(n, len(rows))]
	}
	for _, row := range rows {
		fmt.Fprintln(out, row)
	}
}

// report tells how much of what was planted was learned.
func report(to, out io.Writer, all map[string]*hits, missed bool) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h := all[name]
		fmt.Fprintf(to, "%-12s %2d of %2d planted were learned (%.0f %%), %d more by another rule\n", name, h.found, h.planted, 100*float64(h.found)/float64(h.planted), h.elsewhere)
		if missed {
			for _, p := range h.missed {
				fmt.Fprintln(out, p)
			}
		}
	}
}

// fill adds invented sessions to a memory.
func fill(ctx context.Context, e *engine.Engine, sessions []ambry.Conversation) (ambry.Imported, error) {
	var total ambry.Imported
	for _, c := range sessions {
		n, err := e.Import(ctx, []redact.Conversation{redact.Clean(c)})
		if err != nil {
			return total, err
		}
		total = total.Add(n)
	}
	return total, nil
}

// learned fills a memory of its own and returns what was learned.
func learned(ctx context.Context, home string, fill func(context.Context, *engine.Engine) (ambry.Imported, error)) ([]row, string, error) {
	dir, err := os.MkdirTemp("", "ambry-learn-")
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := store.Open(ctx, store.Config{Path: filepath.Join(dir, "memory.db")})
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = s.Close() }()
	e := engine.New(engine.Config{Store: s})
	read, err := fill(ctx, e)
	if err != nil {
		return nil, "", err
	}
	began := time.Now()
	if err := e.LearnAll(ctx); err != nil {
		return nil, "", err
	}
	took := time.Since(began)
	var rows []row
	counts := map[ambry.Rule]int{}
	for _, rule := range ambry.Rules {
		for page := 1; ; page++ {
			items, err := e.Items(ctx, ambry.ItemsQuery{Rule: rule, Page: page})
			if err != nil {
				return nil, "", err
			}
			for _, m := range items.Items {
				counts[rule]++
				d, err := e.Get(ctx, m.ID)
				if err != nil {
					return nil, "", err
				}
				r := row{home, flat(m.Title), flat(d.Body), rule, m.Status, !d.Learned.ValidTo.IsZero(), d.Learned.EvidenceCount, d.Learned.Confidence, nil}
				for _, e := range d.Learned.Evidence {
					r.sessions = append(r.sessions, e.SessionID)
				}
				rows = append(rows, r)
			}
			if !items.HasNext {
				break
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.String(), b.String()) })
	return rows, fmt.Sprintf("%d turns, %.1f MB of text; learned %v in %.2f s", read.Turns, float64(read.Bytes)/1e6, counts, took.Seconds()), nil
}

func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// read brings all histories of a home into a memory.
func read(ctx context.Context, e *engine.Engine, dir string) (ambry.Imported, error) {
	home := agent.Home{Dir: dir, OS: runtime.GOOS}
	var total ambry.Imported
	for _, a := range all.Agents() {
		if a.History == nil {
			continue
		}
		for src, err := range a.History.Sources(ctx, home) {
			if err != nil {
				fmt.Fprintln(os.Stderr, "learn:", err)
				continue
			}
			for item, err := range a.History.Read(ctx, src, agent.Mark{}) {
				if err != nil {
					fmt.Fprintln(os.Stderr, "learn:", err)
					break
				}
				if len(item.Conversation.Turns) == 0 {
					continue
				}
				n, err := e.Import(ctx, []redact.Conversation{redact.Clean(item.Conversation)})
				if err != nil {
					return total, err
				}
				total = total.Add(n)
			}
		}
	}
	return total, nil
}

// count adds up verdicts, the first column of judged rows.
func count(judged io.Reader, out io.Writer) error {
	type tally struct{ useful, all int }
	by := map[string]*tally{}
	var names []string
	form := 0
	lines := bufio.NewScanner(judged)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		if strings.HasPrefix(lines.Text(), "#") || len(f) < 3 {
			continue
		}
		if f[0] == "form" { // nobody can say what random words are good for
			form++
			continue
		}
		for _, name := range []string{"all", "home " + f[1], "rule " + f[2]} {
			if by[name] == nil {
				by[name] = &tally{}
				names = append(names, name)
			}
			by[name].all++
			switch f[0] {
			case "useful":
				by[name].useful++
			case "useless", "wrong":
			default:
				return fmt.Errorf("verdict %q is none of useful, useless, wrong and form", f[0])
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		t := by[name]
		fmt.Fprintf(out, "%-28s %3d of %3d useful (%.1f %%)\n", name, t.useful, t.all, 100*float64(t.useful)/float64(t.all))
	}
	fmt.Fprintf(out, "%-28s %3d not counted\n", "right in form only", form)
	return nil
}
