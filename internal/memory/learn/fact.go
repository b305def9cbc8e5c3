package learn

import (
	"slices"
	"strings"

	"ambry.dev/ambry"
)

const (
	wideLead = `^(?:另外[，,]?|对了[，,]?|注意[，,：:]?|记住[，,：:]?|顺便(?:说|提)?[一下]*[，,]?|谢谢[，,]?)*`

	thing = `(?:the |our |all |your |unser[e]? |die |der |das )?((?:[\w./'-]+|` + "`[^`]+`" + `)(?: (?:[\w./'-]+|` + "`[^`]+`" + `)){0,5})`
	place = `((?:https?://|~?/|\.{1,2}/|[\w-]+/)[^\s,;]*|` + "`[^`]+`" + `|"[^"]+"|[\w.-]+\.[a-z]{2,8}\b(?::\d+)?|[\w.-]+:\d{2,5}|(?:the |our )?[\w./-]+ (?:repo|repository|directory|folder|branch|bucket|vault|server|cluster|namespace|package|module|file|table|schema|database|workspace|crate|host|machine|account|region|project))`
)

var (
	livesIn = re(lead + thing + ` (?:lives?|is located|are located|resides?|sits?|is stored|are stored|is kept|are kept|is defined|are defined|is configured|are configured|is implemented|are implemented|is documented|are documented|can be found|gets? written|is written|are written|goes|go|belongs?|is checked in|liegen?|liegt|befinde[nt]t? sich|stehen?|steht) (?:to |in(?:to|side)? |at |under |on |unter |im |auf )(?:the |our )?` + place)
	isAt    = re(lead + `(?:the |our |[a-z]+'s )?((?:[\w-]+ ){0,4}(?:url|host|hostname|endpoint|domain|address|dashboard|repo|repository|bucket|registry|cluster|region|namespace|branch|config(?:uration)?|schema|entry ?point|database|db|queue|topic|channel|server|proxy|board|wiki|runbook|spec|contract|password|secret|key|credentials?|token|env(?:ironment)? (?:var|variable)|directory|folder|file)s?(?: (?:for|of) [\w -]{2,30}?)?) (?:is|are)(?: (?:at|on|in|under|called|named|stored in|kept in))? (?:the |our )?` + place)
	port    = re(lead + thing + ` (?:is running|runs|listens?|is listening|is served|is exposed|is reachable|is available|is|are|lauscht|läuft) (?:locally )?(?:on|at|auf)? ?port (\d{2,5})\b|` + lead + `(?:the |our )?((?:[\w-]+ ){0,4})port (?:for (?:the )?([\w -]{2,30}?) )?(?:is|ist|=|must be|has to be) (\d{2,5})\b|` + lead + thing + ` uses port (\d{2,5})\b`)
	called  = re(lead + `(?:the |our )((?:[\w-]+ ){0,4}[\w-]+) (?:is|are) (?:called|named|heißt) ` + "(`[^`]+`|\"[^\"]+\"|[\\w./-]+)$")
	weRun   = re(lead + `(?:we|this (?:project|repo|app|service|codebase)|the (?:project|repo|app|service|backend|frontend|api|server|codebase|ci|pipeline|database|cluster|site|stack)|our (?:project|app|service|backend|frontend|api|server|ci|pipeline|database|cluster|stack)|ci|production|prod|staging)(?: is| are)? (?:uses?|using|runs?(?: on| in| with)?|running (?:on|with|in)|written in|built (?:with|on|in)|deployed (?:on|to|with|via|from)|hosted on|targets?|supports?|require[sd]?|depends? on|is on|läuft auf|verwendet|nutzt) (.{2,80})$`)
	// answersAt needs a place that is one beyond doubt.
	answersAt = re(lead + thing + ` (?:(?:is|are)(?: reachable| available| hosted| served| mounted| exposed)? (?:at|under|on)|(?:arrives?|listens?|answers?|lives?|resides?|runs?|(?:speaks?|talks?|connects?|logs?|writes?|uploads?|pushes?|sends?|pulls?|reads?|scrapes?) ?[^,;]{0,30}?) (?:at|on|under|to|from|over|via|into|in)|kommen von|kommt von|ist unter|sind unter|ist erreichbar unter) ((?:[a-z][a-z+]{1,9}://|~/|/[\w.-]+/|/dev/|:\d{2,5}/?)[^\s,;]*|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|[\w.-]+:\d{2,5}\b)`)
	versionIs = re(lead + `(?:the |our )([\w+#.-]+(?: [\w-]+)?)(?: version)? is v?(\d+(?:\.\d+)+)\b`)
	doneWith  = re(lead + `(?:the |our )((?:[\w-]+ ){0,3}[\w-]+) (?:is|are|gets?) (?:reset|seeded|built|deployed|started|run|generated|regenerated|migrated|released|tested|linted|formatted|restored|backed up|filled|cleared|published) (?:with|via|using|by|by running) (` + "`[^`]+`" + `)`)
	keptAs    = re(lead + `(?:the |our |all )?((?:[\w-]+ ){0,2}[\w-]+) (?:is|are) (?:always )?(?:stored|kept|saved|measured|encoded|seriali[sz]ed|represented|counted) (?:in|as) ((?:[\w-]+ ?){1,5})(?:,? (?:everywhere|always|not .+))?$`)

	runWith = re(lead + `(?:(?:the )?(?:unit |integration |e2e |end-to-end )?tests? (?:are |is |must be |can be |should be )?(?:run|started|executed) (?:with|via|using|by)|(?:to|you can) (?:run|build|test|start|deploy|lint|format|migrate|seed|release)(?: the| all| our)?(?: [\w-]+){0,3}?,? (?:use|run|with|via)|the (?:test|build|lint|deploy|dev|start|format|release|migration) command is|(?:build|deploy|lint|release|format|start) it with) ` + "(`[^`]+`|(?:make|npm|pnpm|yarn|go|cargo|pytest|python|uv|docker|just|task|\\./)\\S*(?: [\\w:./-]+){0,4})")

	widePlace   = re(wideLead + `([^，,。在]{1,16}?)(?:都|统一)?(?:位于|存放在|保存在|存放于|落在|放在|放到|存到|写到|存在|写在|定义在|部署在|跑在|运行在|在)\s*([~./\w][\w./~:-]*[/.:][\w./:-]*|` + "`[^`]+`" + `|[^，,。]{1,16}(?:目录|文件夹|文件|仓库|服务器|机器|集群|分支|模块|包|表|库)(?:里|下|中|上)?)`)
	widePort    = re(wideLead + `([^，,。]{0,16}?)(?:的)?端口(?:号)?(?:是|为|用|改成|改为|换成|监听)\s*(\d{2,5})|^([^，,。]{1,16}?)(?:跑在|监听|运行在|用的是|在)\s*(\d{3,5})\s*端口`)
	wideIs      = re(wideLead + `([^，,。是]{0,16}(?:地址|域名|主机|主机名|分支|数据库|仓库|命令|版本|入口|配置|路径|目录|环境变量|网址|桶|队列|表名|用户名))(?:是|叫|为|叫做|要用|必须是|必须用|得用)\s*([\w./~:@-]{2,}|` + "`[^`]+`" + `|[^，,。]{0,6}[\w./~:-]{3,}[^，,。]{0,12})(?:[，,].*)?$|` + wideLead + `([^，,。是]{0,12}(?:地址|域名|主机|分支|数据库|仓库|路径|目录|网址))(?:换成|改成|改为|变成)(?:了)?\s*([\w-]*[./:][\w./~:-]{3,})\s*了?$|` + wideLead + `([^，,。是]{0,12}(?:文件|数据|日志|图片|脚本|结果|备份))(?:都|统一)?(?:放|存)\s*([\w.-]*/[\w./-]*)|` + wideLead + `((?:最低|最高|只)支持)\s*([^，,。]*\d[^，,。]*)$`)
	wideWeUse   = re(`^(?:另外[，,]?|对了[，,]?|注意[，,：:]?|记住[，,：:]?)*((?:我们|这个|本)?(?:项目|后端|前端|服务|数据库|缓存|接口|网关|团队|线上|生产|测试环境|服务端|客户端))(?:里|上)?(?:是|都|目前|现在)?(?:用的?是?|使用的?是?|基于|跑在|采用)\s*(.*[a-z0-9].*)$`)
	japaneseF   = re(`^(.{1,20})(?:は)\s*([\w./~:-]*[/.:][\w./~:-]+)\s*(?:に|の|で).{0,20}(?:あります|ある|置いて|定義|保存)|^(.{0,16})ポート(?:番号)?は\s*(\d{2,5})`)
	backticked  = re("`[^`]*[/.][^`]*`")
	toldPlace   = re(`^(?:the |all )?((?:[\w-]+|` + "`[^`]+`" + `)(?: (?:[\w-]+|` + "`[^`]+`" + `)){0,4}) (?:lives?|is defined|are defined|is implemented|are implemented|is configured|are configured|is stored|are stored|is located|are located) (?:in|at|under) ` + "(`[\\w./~-]*[/.][\\w./~-]*`)")
	vagueThings = re(`^(?:it|that|this|they|these|those|he|she|there|here|what|which|who|one|everything|something|nothing|and|but|if|when|so|problem|issue|bug|error|fix|idea|point|thing|reason|question|answer|plan|change|code|i|you|we|now|then)\b|\b(?:that|which|who|because|but|then|error|bug|failure|failing|crash(?:es)?)\b|^(?:它|这|那|这个|那个|问题|错误|报错|我|你|原因|bug|现在|如果|是不是|不)`)
)

var factCues = []string{
	" live", " located", " reside", " sits", " sit ", " stored", " kept", " defined", " configured", " implemented", " documented", " found", " written", " goes", " go ", " belong", " checked in",
	" is ", " are ", " port", "://", ":/", "kommt von", "kommen von", " arrive", " listen", " answer", " speak", " talk", " connect", " log", " write", " upload", " push", " send", " pull", " read", " scrape", " uses", " use ", " using", " runs", " run ", " running", " written", " built", " deployed", " hosted", " target", " support", " require", " depend", "tests", " command", " with ",
	" liegt", " liegen", " befinde", " steht", " stehen", " läuft", " lauscht", " heißt",
	"位于", "放在", "存在", "写在", "定义在", "部署在", "跑在", "运行在", "在", "端口", "地址", "域名", "主机", "分支", "数据库", "仓库", "命令", "版本", "入口", "配置", "路径", "目录", "环境变量", "网址", "用", "基于", "采用", "监听", "放", "存", "落在", "支持",
	"ポート", "は",
}

// facts are where something is, what it is called, and what runs.
func facts(s *scene) {
	for i := range s.said {
		st := &s.said[i]
		if st.taken || !hasAny(st.low, factCues) || !st.firm() || length(st.low) < 3 || needy.in(st.low) {
			continue
		}
		low := st.low
		if past.in(low) { // what was so before may follow what is so now
			first, _, more := strings.Cut(low, ", ")
			if !more || past.in(first) {
				continue
			}
			low = first
		}
		if about, ok := factIn(low); ok {
			s.say(ambry.Fact, ambry.L3, st, about, 0.85)
		}
	}
	for i := range s.told {
		st := &s.told[i]
		if !strings.Contains(st.low, "`") || !st.firm() || !backticked.in(st.low) {
			continue
		}
		if m := toldPlace.groups(st.low); m != nil && !vagueThings.in(m[1]) && length(st.low) <= 24 {
			s.say(ambry.Fact, ambry.L3, st, subject{about: []string{"place", plain(m[1])}, value: plain(m[2])}, 0.6)
		}
	}
}

// needy sentences are requests or complaints, whatever else they say.
var needy = re(`^(?:please|pls|can|could|fix|add|make|change|update|move|rename|create|write|look|check|see|find|open|read|implement|refactor|remove|delete|put|show|tell|explain|investigate|bitte|i (?:think|guess|want|need|see|get|got|have|found|noticed|believe|tried)|it (?:looks|seems))\b|\b(?:not working|broken|doesn't work|does not work|should (?:be|live|go|use|run)|wrong|missing|is (?:slow|down|empty|unused|flaky|failing)|fails?|crash(?:es|ed)?|stuck|hangs)\b|^(?:请|帮我|帮忙|看看|看一下|检查|修改?|加|改|把|给|写|实现|在)|报错|失败|有问题|不对|坏了|挂了|没有|不见|出错`)

// factIn tells what a statement says of which thing.
func factIn(low string) (subject, bool) {
	if m := port.groups(low); m != nil {
		of, value := cmpOr(cmpOr(m[1], m[3]), cmpOr(m[4], m[6])), cmpOr(cmpOr(m[2], m[5]), m[7])
		return named3("port", of, value)
	}
	if m := widePort.groups(low); m != nil {
		return named3("port", cmpOr(m[1], m[3]), cmpOr(m[2], m[4]))
	}
	if m := japaneseF.groups(low); m != nil {
		if m[4] != "" {
			return named3("port", m[3], m[4])
		}
		return named3("place", m[1], m[2])
	}
	for _, p := range []*pattern{livesIn, isAt, answersAt, widePlace, wideIs} {
		if m := filled(p.groups(low)); m != nil {
			if len(m) < 2 || len(m[1]) < 2 {
				return subject{}, false
			}
			return named3("place", m[0], m[1])
		}
	}
	for _, k := range []struct {
		attribute string
		*pattern
	}{{"name", called}, {"version", versionIs}, {"how", doneWith}, {"kept", keptAs}} {
		if m := filled(k.groups(low)); len(m) == 2 {
			return named3(k.attribute, m[0], m[1])
		}
	}
	if m := runWith.groups(low); m != nil {
		return named3("how", plain(low[:strings.Index(low, m[1])]), m[1])
	}
	for _, p := range []*pattern{weRun, wideWeUse} {
		m := p.groups(low)
		if m == nil {
			continue
		}
		object := m[len(m)-1]
		if pronounFirst.in(object) || !runs(object) {
			return subject{}, false
		}
		return choiceOf(low), true
	}
	return subject{}, false
}

// filled returns the groups of a match that took part in it.
func filled(groups []string) []string {
	if groups == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(groups[1:]), func(g string) bool { return g == "" })
}

// named3 is a fact about something that can be understood by itself. What has no
// name is the project's only one.
func named3(attribute, of, value string) (subject, bool) {
	of = strings.TrimSpace(of)
	if vagueThings.in(of) || vague(value) {
		return subject{}, false
	}
	return subject{about: []string{attribute, plain(of)}, value: plain(value)}, true
}

// runs reports whether something is named that one can run or use.
func runs(object string) bool {
	return nameIn(object) != "" || version.in(object) || products.in(object)
}

var (
	version  = re(`\b[a-z][\w+#-]*(?:\.js)? v?\d+(?:\.\d+)*\b`)
	products = re(`\b(?:go|golang|rust|python|typescript|javascript|java|kotlin|swift|ruby|php|elixir|scala|c\+\+|c#|\.net|node(?:\.js)?|deno|rails|django|flask|fastapi|spring|laravel|next(?:\.js)?|nuxt|remix|astro|express|kubernetes|k8s|nomad|helm|aws|gcp|azure|fly\.io|vercel|netlify|heroku|cloudflare|lambda|ecs|ec2|s3|nginx|caddy|traefik|debian|ubuntu|alpine|arm64|bazel|nix|gitlab|github actions|argocd|flux|prometheus|grafana|sentry|datadog|opentelemetry|elasticsearch|opensearch|meilisearch|sqlc|gorm|ent|hibernate|celery|sidekiq|temporal|airflow|spark|dbt|bigquery|snowflake|protobuf|openapi|oauth|jwt|wasm|electron|tauri|flutter|react native|expo|monorepo|trunk[- ]based|conventional commits|semver)\b`)
)
