package learn

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// reason is the line of an output that says what went wrong.
type reason struct {
	text      string
	signature string // without what differs from one time to the next
	usage     bool   // the command itself was wrong
}

var (
	strongReason = re(`(?i)^(?:\S+:\d+:\d*:?\s*)?(?:[\w.:]*(?:error|exception)\b[^a-z]|panic:|fatal:|error(?:\[\w+\])?:|npm err! (?:code|missing|could not)|e\s{3}\s*\w*(?:error|exception)|uncaught|unhandled|caused by:|cannot |could not |can't |failed to |unable to )`)
	inReason     = re(`(?i)\b(?:undefined|cannot find|could not|not found|no such|permission denied|refused|already in use|unresolved|no module named|is not (?:a|assignable|defined|recognized|installed)|missing|unexpected|unknown|invalid|denied|timed? ?out|deadlock|data race|out of memory|overflow|duplicate|conflict|incompatible|deprecated|expired|unauthorized|forbidden|syntax error|does not (?:exist|implement|match)|too many|address already)\b|未找到|找不到|失败|错误`)
	usageReason  = re(`(?i)command not found|no such file or directory|unknown (?:flag|option|command|shorthand|argument|subcommand)|unrecognized (?:arguments?|option|subcommand)|missing script|no module named|is not recognized|unexpected argument|invalid (?:option|flag|choice)|no rule to make target|not a (?:git|valid) |externally-managed|requires? (?:go|node|python)`)
	notReason    = re(`(?i)doesn't want to proceed|user rejected|interrupted|was cancelled|permission to use|requires approval|blocked by|sandbox|\b0 errors?\b|no errors?\b|errors?: 0\b|--- fail|^fail\b|^fail:|^ok\b|assert(?:ion)?(?:error)?\b|^expected\b|^got\b|want\b.*got\b|got\b.*want\b|\(exit code|exited with|process exited|tests? failed|failing|short test summary|npm err! (?:a complete|errno|lifecycle|path|command)|see (?:the )?(?:above|log)|stack trace|^\s*at\s`)
	changing     = re(`0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*|/(?:tmp|home|var|users|root)/[^\s:,'")]*`)
)

// reasonCues are in every line that the expressions above take.
var reasonCues = []string{
	"error", "exception", "panic", "fatal", "cannot", "could not", "can't", "failed", "unable", "uncaught", "unhandled", "caused by", "undefined", "not found", "no such", "denied", "refused", "already", "unresolved", "no module", "is not", "missing", "unexpected", "unknown", "unrecognized",
	"invalid", "timed", "timeout", "deadlock", "data race", "out of memory", "overflow", "duplicate", "conflict", "incompatible", "deprecated", "expired", "unauthorized", "forbidden", "does not", "too many", "no rule", "not a ", "externally", "require", "未找到", "找不到", "失败", "错误",
}

// quotedLine is a line of a file or a difference, not of a program that failed.
var quotedLine = re(`^[+|<>-]\s|^\d+[:|\s]\s*(?:const|let|var|func|def|class|import|//|#)|//|/\*|^#`)

// maxOutput is how much of an output is looked at.
const maxOutput = 8 << 10

// reasonIn finds the line that says best what went wrong, false if none does.
func reasonIn(output string) (reason, bool) {
	best, rank := "", 0
	n := 0
	for line := range strings.Lines(clip(output, maxOutput)) {
		if n++; n > 200 {
			break
		}
		line = strings.TrimSpace(line)
		if len(line) < 12 || !hasAny(strings.ToLower(clip(line, 240)), reasonCues) {
			continue
		}
		line = strings.TrimSpace(ansi.without(line))
		if len(line) < 12 || quotedLine.in(line) || len(line) > 240 || strings.Contains(line, "[REDACTED:") || notReason.in(line) {
			continue
		}
		r := 0
		if usageReason.in(line) || strongReason.in(line) {
			r = 1
		}
		if inReason.in(line) {
			r++
		}
		if r > rank {
			best, rank = line, r
		}
	}
	if rank == 0 || utf8.RuneCountInString(best) < 10 {
		return reason{}, false
	}
	return reason{
		text: best, usage: usageReason.in(best),
		signature: strings.Join(strings.Fields(changing.get().ReplaceAllString(strings.ToLower(best), "#")), " "),
	}, true
}

var ansi = re(regexp.QuoteMeta("\x1b") + `\[[0-9;]*[A-Za-z]`)
