package learn

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// maxTrouble is how many failed commands of a turn are kept in mind.
const maxTrouble = 16

// trouble is a command that failed.
type trouble struct {
	at   int // index of the call
	line line
}

// fixes are errors that went away within a turn, and what was done about them.
func fixes(s *scene) {
	var open []trouble
	for i := range s.calls {
		c := &s.calls[i]
		well, badly := c.ran()
		if !well && !badly {
			continue
		}
		lines := linesOf(c.command)
		if len(lines) == 0 {
			continue
		}
		l := lines[len(lines)-1]
		if badly {
			if len(open) < maxTrouble && !slices.Contains(lookers, l.fields[0]) {
				open = append(open, trouble{i, l})
			}
			continue
		}
		open = slices.DeleteFunc(open, func(t trouble) bool { return s.tryFix(t, i, l) })
	}
	s.solved()
}

// lookers are commands that fail when they find nothing, or that only look.
var lookers = []string{"grep", "rg", "ag", "find", "ls", "cat", "head", "tail", "diff", "cmp", "test", "which", "type", "ps", "pgrep", "kill", "pkill", "curl", "wget", "ping", "sed", "awk", "wc", "stat", "file", "echo", "git", "gh", "rm", "mv", "cp", "mkdir", "touch", "sleep", "jq", "fd", "tree", "cd", "[", "lsof", "nc"}

// tryFix adds a fix if a call is the success of what failed.
func (s *scene) tryFix(t trouble, now int, l line) bool {
	if sameCommand(t.line, l) {
		switch files := s.changed(t.at, now); {
		case len(files) == 0:
			s.prepared(t, now, l)
		case len(files) <= maxFiles:
			s.explained(t, now, l, files)
		}
		return true // it works again, whatever was done
	}
	if now-t.at > 4 || !related(t.line, l) || len(s.changed(t.at, now)) > 0 {
		return false
	}
	r, ok := reasonIn(s.calls[t.at].Output)
	if !ok || !r.usage {
		return false
	}
	s.otherCommand(t, l, r)
	return true
}

// sameCommand reports whether two lines run the same, but for how much they say.
func sameCommand(a, b line) bool {
	if a.String() == b.String() {
		return true
	}
	i, ok := purposeOf(a)
	j, also := purposeOf(b)
	return ok && also && i == j && a.fields[0] == b.fields[0]
}

// related reports whether a line is another way to run what the first one ran.
func related(a, b line) bool {
	same := 0
	for _, f := range a.fields {
		if slices.Contains(b.fields, f) {
			same++
		}
	}
	begin := a.fields[0]
	close := b.fields[0] != begin && (strings.HasPrefix(b.fields[0], begin) || strings.HasPrefix(begin, b.fields[0]) || slices.Contains(b.fields, begin) || slices.Contains(b.fields, path.Base(begin)))
	return a.String() != b.String() && (close && (same > 0 || len(a.fields) == 1) || same*2 > max(len(a.fields), len(b.fields)) && same > 0)
}

// changed returns the files that were changed between two calls.
func (s *scene) changed(from, to int) []string {
	var out []string
	for _, c := range s.calls[from+1 : to] {
		if c.file == "" || !c.Done || c.Failed {
			continue
		}
		file := strings.TrimPrefix(c.file, s.Project+"/")
		if !slices.Contains(out, file) {
			out = append(out, file)
		}
	}
	return out
}

// maxFiles is how many files a change may touch to say something about one error.
const maxFiles = 4

// explained adds a fix if the agent said why it was one.
func (s *scene) explained(t trouble, now int, l line, files []string) {
	why := s.explanation(t.at, now)
	if why == "" {
		return
	}
	r, ok := reasonIn(s.calls[t.at].Output)
	if !ok {
		return
	}
	body := fmt.Sprintf("Error: %s\nCommand: `%s`\nFix: %s\nChanged: %s\nAfterwards `%s` succeeded.", withoutError(r.text), t.line, why, strings.Join(files, ", "), l)
	s.add(store.Claim{
		Rule: ambry.Fix, Layer: ambry.L2, Project: s.Project, Topic: store.TopicOf(s.Project, "fix", r.signature),
		Value: plain(why), Title: "Fix for: " + r.text, Body: body, Sure: 0.75,
	})
}

// prepared adds a fix that consists of commands: those that had to be run first.
func (s *scene) prepared(t trouble, now int, l line) {
	var did []string
	bare := false
	for i := t.at + 1; i < now; i++ {
		c := &s.calls[i]
		if well, _ := c.ran(); !well || len(c.command) > 120 {
			continue
		}
		for _, step := range linesOf(c.command) {
			text := step.String()
			if !acts(step) || slices.Contains(did, text) {
				continue
			}
			if killers.in(text) {
				bare, text = true, processes.get().ReplaceAllString(text, "PID")
			}
			did = append(did, text)
		}
	}
	if len(did) == 0 || len(did) > maxSteps {
		return
	}
	r, ok := reasonIn(s.calls[t.at].Output)
	if !ok {
		return
	}
	why := s.explanation(t.at, now)
	if bare && why == "" {
		return // which process it was says nothing
	}
	steps := "`" + strings.Join(did, "`, `") + "`"
	body := fmt.Sprintf("Error: %s\nCommand: `%s`\nFix: run %s first\nAfterwards it succeeded.", withoutError(r.text), t.line, steps)
	if why != "" {
		body += "\nWhy: " + why
	}
	s.add(store.Claim{
		Rule: ambry.Fix, Layer: ambry.L2, Project: s.Project, Topic: store.TopicOf(s.Project, "fix", r.signature),
		Value: steps, Title: "Fix for: " + r.text, Body: body, Sure: 0.7,
	})
}

// withoutError is a reason without the word that is said anyway.
func withoutError(text string) string {
	if rest, ok := strings.CutPrefix(strings.ToLower(text[:min(len(text), 7)]), "error: "); ok && rest == "" {
		return text[7:]
	}
	return text
}

// maxSteps is how many commands may have fixed an error.
const maxSteps = 3

var (
	// movers are among the lookers, but do something.
	movers    = re(`^(?:kill|pkill|rm|mv|cp|mkdir|touch|chmod|chown)\b|^git (?:mv|submodule|lfs|config)\b`)
	processes = re(`\b\d{2,}\b`)
	killers   = re(`^p?kill\b`)
)

// acts reports whether a command changes something that others need.
func acts(l line) bool {
	if i, ok := purposeOf(l); ok {
		switch purposes[i].name {
		case "test", "lint", "types", "format":
			return false
		}
		return true
	}
	return movers.in(l.String()) || !slices.Contains(lookers, l.fields[0]) && !looks.in(l.String())
}

// looks is a command that only shows something.
var looks = re(`(?i)(?:^|\s)(?:--version|-v|--help|-h|version|status|ps|list|ls|show|info|logs?|describe|get|inspect|config|env|printenv|whoami|doctor|why|outdated|tree|view|check|dry-run|--dry-run|test|tests|print|nc|date|pwd|uname|less|more|go env|go doc|go version)(?:\s|$)|^(?:python3?|node|ruby|perl|psql|sqlite3|mysql|redis-cli)\b`)

func (s *scene) otherCommand(t trouble, l line, r reason) {
	s.add(store.Claim{
		Rule: ambry.Fix, Layer: ambry.L2, Project: s.Project, Topic: store.TopicOf(s.Project, "instead", t.line.String()),
		Value: l.String(), Title: fmt.Sprintf("Use `%s` instead of `%s`", l, t.line),
		Body: fmt.Sprintf("`%s` fails: %s\n`%s` works.", t.line, r.text, l), Sure: 0.7,
	})
}

var (
	because = re(`\b(?:root cause|because (?:of|the|it|its|there|a|an|we|no|your)|caused by|cause (?:is|was)|due to|the (?:actual |real |underlying )?(?:problem|issue|bug|culprit|reason|failure|error) (?:is|was|came|comes)|turn(?:s|ed) out|the fix (?:is|was)|fixed (?:it )?by|(?:now|fixed)[:,] |(?:is|was|were|are) missing|lack(?:s|ed)\b|was never|wasn't|weren't|(?:was|were|is|are|did|had|does|do) not\b|isn't|aren't|doesn't|didn't|hadn't|still (?:holds?|held|listening)|already (?:used|taken|running)|shadow(?:s|ed)|depend(?:s|ed) on|expects?|expected|requires?|out of date|outdated|stale|too old|no longer|fehlt|fehlte|fehlten|veraltet|forgot|needed to|needs to|has to|had to|must be|instead of|weil|ursache|lag daran)\b|原因|问题(?:出)?在|问题是|是因为|因为|根因|由于|修复(?:了|方法)|导致|缺少|缺了|少了|没有(?:启动|安装|配置|加|设置|运行)|没(?:启动|安装|装|配置|加|设置)|占用|需要先|要先|必须先|不支持|过期|写错|拼错|原因は|ため|ありませんでした|足り`)
	planned = re(`^(?:let me|i'll|i will|i'm going to|now i|next|first|let's|i need to|we need to|we should|i should|checking|looking|running|让我|我来|我先|接下来|ich werde)\b`)
)

// explanation is the sentence that tells why the error was there, from what the
// agent said after it.
func (s *scene) explanation(failed, now int) string {
	from := s.calls[failed].nth
	best := ""
	for i := from + 1; i < len(s.Messages); i++ {
		m := s.Messages[i]
		if m.Role == ambry.User {
			break
		}
		if m.Role != ambry.Assistant || m.Text == "" {
			continue
		}
		for _, st := range sentences(clean(clip(m.Text, lastWords))) {
			if because.in(st.low) && !planned.in(st.low) && !st.asks() && !st.hedged() && length(st.low) >= 5 {
				best = st.text
				if i > s.calls[now].nth {
					return best // said when it was known to be right
				}
				break
			}
		}
	}
	return best
}

var (
	// ails is what a person says of something that does not work.
	ails     = re(`\b(?:fail(?:s|ed|ing|ure)?|errors?|crash(?:es|ed|ing)?|broken|breaks?|bug|wrong|slow(?:er)?|times? out|timeouts?|hangs?|stuck|twice|duplicate[sd]?|missing|lost|empty|leaks?|flaky|doesn't|does not|don't work|not working|can't|cannot|won't|stopped|no longer|panics?|exception|50[0234]|404|403|kaputt|fehler|geht nicht|schlägt fehl)\b|报错|失败|重复|超卖|很慢|越来越慢|变慢|太慢|不对|不到|不了|不行|对不上|丢了|丢失|崩溃|卡住|卡死|超时|异常|错误|少了|多了|没有反应|两张|两次|失效|エラー|失敗|遅い|落ち|動かない|おかしい`)
	strongly = re(`\b(?:root cause|caused by|the (?:actual |real |underlying )?(?:problem|issue|bug|culprit|reason|failure|error|cause) (?:is|was|came|comes)|turn(?:s|ed) out|the fix (?:is|was)|why it \w+:|weil|ursache)\b|原因|问题(?:出)?在|问题是|根因|是因为|因为|由于|修复[：:了]|原因は|ためです`)
)

// solved adds what a person had complained of, when the agent changed something,
// saw it work, and said why.
func (s *scene) solved() {
	if len(s.said) == 0 || s.said[0].nth != 0 && len(s.said) < 2 {
		return
	}
	lastChange, worked := -1, false
	var files []string
	for i := range s.calls {
		c := &s.calls[i]
		if c.file != "" && c.Done && !c.Failed {
			lastChange, worked = i, false
			if file := strings.TrimPrefix(c.file, s.Project+"/"); !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
		if well, _ := c.ran(); well && lastChange >= 0 {
			worked = true
		}
	}
	if !worked || len(files) > maxFiles || s.hasFix() {
		return
	}
	problem := s.complaint()
	if problem == nil {
		return
	}
	for i := range s.told {
		st := &s.told[i]
		if st.taken || !strongly.in(st.low) || planned.in(st.low) || st.asks() || st.hedged() || length(st.low) < 5 {
			continue
		}
		body := fmt.Sprintf("Problem: %s\nCause and fix: %s\nChanged: %s", problem.text, st.text, strings.Join(files, ", "))
		if i+1 < len(s.told) && s.told[i+1].nth == st.nth+1 {
			body = fmt.Sprintf("Problem: %s\nCause and fix: %s %s\nChanged: %s", problem.text, st.text, s.told[i+1].text, strings.Join(files, ", "))
		}
		s.add(store.Claim{
			Rule: ambry.Fix, Layer: ambry.L2, Project: s.Project, Topic: store.TopicOf(s.Project, "solved", plain(problem.low)),
			Value: plain(st.low), Title: "Solved: " + problem.text, Body: body, Sure: 0.7,
		})
		return
	}
}

func (s *scene) hasFix() bool {
	return slices.ContainsFunc(s.claims, func(c store.Claim) bool { return c.Rule == ambry.Fix })
}

// complaint is the sentence in which a person says what does not work.
func (s *scene) complaint() *statement {
	for i := range s.said {
		if st := &s.said[i]; !st.taken && ails.in(st.low) && length(st.low) >= 4 {
			return st
		}
	}
	return nil
}
