package learn

import (
	"slices"
	"strings"
)

// alternatives are things of which one uses one: who chooses another, has changed
// their mind.
var alternatives = [][]string{
	{"npm", "pnpm", "yarn", "bun"},
	{"pip", "uv", "poetry", "conda", "pipenv", "pdm"},
	{"jest", "vitest", "mocha", "ava"},
	{"pytest", "unittest", "nose"},
	{"playwright", "cypress", "selenium", "puppeteer"},
	{"postgres", "postgresql", "mysql", "mariadb", "sqlite", "mongodb", "mongo", "dynamodb", "cockroachdb", "duckdb", "clickhouse"},
	{"redis", "memcached", "valkey"},
	{"kafka", "rabbitmq", "nats", "sqs", "pulsar"},
	{"prettier", "biome", "dprint"},
	{"black", "ruff", "yapf", "autopep8"},
	{"gofmt", "gofumpt"},
	{"tabs", "spaces", "tab", "空格"},
	{"chi", "gin", "echo", "fiber"},
	{"prisma", "drizzle", "typeorm", "sequelize", "kysely"},
	{"zap", "slog", "logrus", "zerolog"},
	{"react", "vue", "svelte", "angular", "solid"},
	{"tailwind", "bootstrap"},
	{"jenkins", "circleci", "buildkite", "github actions", "gitlab ci"},
	{"podman", "docker"},
	{"terraform", "pulumi", "opentofu"},
	{"rest", "graphql", "grpc", "trpc"},
	{"single quotes", "double quotes"},
	{"snake_case", "camelcase", "kebab-case", "pascalcase"},
	{"乐观锁", "悲观锁"},
	{"unwrap", "expect"},
	{"vim", "emacs", "vscode"},
	{"fastapi", "flask", "django"},
	{"webpack", "vite", "esbuild", "rollup", "parcel"},
	{"testify", "gomega"},
}

var (
	contrast = re(`\b(?:use|using|prefer|choose|pick|go with|stick (?:with|to)|want|call|run|it's|it is|is|be|to|rather use|like|said|meant|on)\s+(?:the\s+)?([^,;]{1,50}?),?\s+(?:instead of|rather than|and not|not|over|in place of)\s+(?:the\s+|use\s+|using\s+)?([^,;.]{1,50}?)(?:\s+(?:for|in|when|because|since|as|here|please|everywhere|from now on|going forward)\b.*)?$`)
	insteadY = re(`\b(?:don't|do not|never|stop) (?:use|using|call|run|import|importing)\s+(?:the\s+)?([^,;]{1,50}?)[,;—-]+\s*(?:but\s+|please\s+)?(?:use|run|call|prefer|go with)\s+(?:the\s+)?([^,;]{1,50}?)(?:\s+instead)?(?:\s+(?:for|in|when|because|since|as|here|please|everywhere|from now on|going forward)\b.*)?$`)
	switches = re(`\b(?:switch(?:ing|ed)?|mov(?:e|ing|ed)|migrat(?:e|ing|ed)|chang(?:e|ing|ed))(?: over)? from\s+([^,;]{1,40}?)\s+to\s+([^,;]{1,40}?)(?:\s+(?:for|in|when|because|since|as|here|please)\b.*)?$`)

	contrastWide = re(`(?:用|使用|采用|选|写)\s*([^，,。]{1,20}?)\s*[，,]?(?:而不是|不要用|别用|不用|而非)\s*([^，,。]{1,20})`)
	insteadWide  = re(`(?:不要|别|不)(?:再)?(?:用|使用)\s*([^，,。]{1,20}?)\s*[，,]\s*(?:要|请|应该|而是|而|改)?(?:改)?(?:用|使用)\s*([^，,。]{1,20})`)
	switchWide   = re(`从\s*([^，,。]{1,16}?)\s*(?:换成|换到|改成|切换到|迁移到|改用)\s*([^，,。]{1,16})`)

	// usedThing is what directly follows a word for using.
	usedThing = re(`(?:\b(?:use|using|uses|prefer|go with|going with|went with|switch(?:ing)? to|mov(?:e|ing) to|migrate to|stick (?:with|to)|settled? on|choose|chose|pick|picked|adopt|verwende|nutze|nehmen)\s+(?:the\s+|only\s+)?|用|使用|采用|改用|选择?|换成|换到)\s*([\pL\pN_./-]+(?: quotes| actions| ci)?)`)

	negative  = re(`\b(?:never|don't|do not|no|not|avoid|stop|without|nie|niemals|kein[e]?|hate|can't stand)\b|不要|别|不许|不准|不能|禁止|不用|不喜欢|しない|ないで|二度と`)
	filler    = re(`\b(?:please|always|never|ever|again|any ?more|don't|do not|no|from now on|going forward|moving forward|in (?:the )?future|as a rule|make sure (?:to|you|that you)|be sure to|you (?:should|must)|we|i|also|and|but|so|ok|okay|remember|that|the|a|an|stop|only|just|really|here|everywhere|bitte|immer|nie|niemals)\b|请|以后|今后|都|一律|永远|绝对|不要再|别再|不要|别|要|从现在开始|从现在起|务必|记住|始终`)
	forWhat   = re(`\b(?:for|in|when|on|bei|für)\s+((?:[a-z0-9_./-]+\s?){1,3})`)
	separator = re(`[^\pL\pN_./-]+`)
)

// choiceOf tells what a statement about doing things is about: a choice among
// known alternatives, a thing that is used instead of another one, or else just
// what it says.
func choiceOf(low string) subject {
	yes, no := contrasted(low)
	used := yes
	if m := usedThing.groups(low); used == "" && m != nil {
		used = m[1]
	}
	if group := groupOf(used); group != "" {
		about := []string{"choice", group, forPart(low)}
		name := nameIn(used)
		if yes == "" && negative.in(low) {
			return subject{about: []string{"use", name}, value: "-"}
		}
		return subject{about: about, value: name}
	}
	if yes != "" && !vague(yes) {
		out := subject{about: []string{"use", plain(yes)}, value: "+"}
		if no = plain(no); no != "" && !vague(no) {
			out.ends = [][]string{{"use", no}}
		}
		return out
	}
	value := "+"
	if negative.in(low) {
		value = "-"
	}
	return subject{about: []string{"say", plain(filler.without(low))}, value: value}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// contrasted returns what is to be used, and what is not.
func contrasted(low string) (yes, no string) {
	for _, p := range []*pattern{insteadY, insteadWide, switches, switchWide} {
		if m := p.groups(low); m != nil {
			return m[2], m[1]
		}
	}
	for _, p := range []*pattern{contrast, contrastWide} {
		if m := p.groups(low); m != nil {
			return m[1], m[2]
		}
	}
	return "", ""
}

// plain reduces a text to its words.
func plain(text string) string {
	return strings.TrimSpace(separator.get().ReplaceAllString(strings.ToLower(text), " "))
}

// nameIn returns the first alternative that stands in a text, "" if there is none.
func nameIn(text string) string {
	text = " " + plain(text) + " "
	best, at := "", len(text)
	for _, group := range alternatives {
		for _, name := range group {
			needle := " " + name + " "
			if name[0] >= 0x80 {
				needle = name
			}
			if i := strings.Index(text, needle); i >= 0 && i < at {
				best, at = name, i
			}
		}
	}
	return best
}

func groupOf(text string) string {
	name := nameIn(text)
	if name == "" {
		return ""
	}
	i := slices.IndexFunc(alternatives, func(group []string) bool { return slices.Contains(group, name) })
	return alternatives[i][0]
}

// forPart is what a choice is for: another one may be for something else.
func forPart(low string) string {
	if m := forWhat.groups(low); m != nil {
		part := strings.TrimSpace(m[1])
		switch part {
		case "now on", "the future", "this project", "this repo", "the project", "the repo", "here", "everything", "all":
			return ""
		}
		return part
	}
	return ""
}
