package learn

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ambry.dev/ambry"
)

// lead is what may stand before what is really said.
const lead = `^(?:(?:please|pls|also|and|but|so|ok|okay|oh|hm|for the record|for reference|heads up|actually|thank you|note|remember|reminder|again|btw|by the way|fyi|important|one more thing|one thing|another thing|rule|general rule|going on|hey|thanks|great|good|nice|perfect|yes|no|right|well|just)[,:;!]?\s+(?:that\s+)?)*`

// verbs are what one may be told to do always, in the form of a command.
const verbs = `(?:use|write|run|add|put|keep|commit|push|pull|format|prefer|name|return|check|test|ask|respond|reply|answer|call|import|include|create|start|end|begin|squash|rebase|merge|deploy|handle|log|wrap|validate|sort|store|pin|document|comment|` +
	`leave|make|do|go|set|follow|stick|avoid|skip|omit|remove|delete|touch|edit|modify|change|rename|move|mock|stub|assume|guess|invent|explain|summari[sz]e|show|tell|give|provide|prefix|suffix|quote|escape|sign|verify|confirm|review|read|look|update|regenerate|generate|bump|` +
	`build|install|upgrade|lint|print|throw|raise|catch|ignore|swallow|suppress|disable|enable|hardcode|hard-code|inline|expose|export|access|query|connect|open|close|cache|retry|fail|pass|send|ship|release|tag|branch|fork|copy|paste|refactor|extract|split|group|order|indent|align|` +
	`capitali[sz]e|lowercase|translate|speak|talk|apologi[sz]e|mention|reference|link|cite|assert|cover|reuse|duplicate|rely|depend|wait|sleep|block|lock|mutate|cast|convert|encode|decode|declare|define|annotate|type|register|initiali[sz]e|propose|prefer|consult|load|save|back|stage|amend|force|force-push|overwrite|break|introduce|rewrite|mix|nest|let)`

var (
	alwaysVerb = re(lead + `(?:(?:you|we|i) (?:should |must |need to |have to |want you to |do )?|you'd better |i'd like you to |i want you to |i need you to |make sure (?:that )?(?:you |we |to )?|be sure to |(?:can|could|would|will) you (?:please )?)?(always|never)(?:,? ever)? ` + verbs + `\b`)
	neverEver  = re(lead + `(?:don't|do not|you must not|you should not) (?:you )?(?:ever )?` + verbs + `\b.*\b(?:ever|ever again|again|any ?more|any longer)$|` + lead + `(?:don't|do not) ever ` + verbs + `\b|` + lead + `no more [a-z]`)
	fromNowOn  = re(lead + `(?:from now on|going forward|from here on(?: out)?|moving forward|in (?:the )?future|henceforth|as a (?:general )?rule|by default|in general|from this point on)[,:]?\s+(.+)`)
	nowOnLast  = re(lead + `(?:you (?:should|must) |we (?:should |must )?|let's )?(?:` + verbs + `|don't|do not|stop|no)\b.+[, ](?:from now on|going forward|from here on(?: out)?|moving forward|in (?:the )?future|in all (?:our )?(?:projects|repos))$`)
	plans      = re(`^(?:we|you|i|it) (?:could|might|may|can|would|will|plan|hope|want to|are going|'ll)\b`)
	orders     = re(`^(?:please )?(?:always|never|don't|do not|only|no |all |every |each |let's |we |you |i want|i'd like|i prefer|prefer |keep |` + verbs + `\b)`)
	prefers    = re(lead + `(?:i|we) (?:really |strongly |generally |usually |definitely |always |much |would |'d |personally |still )*(?:prefer|favou?r) .{3,}|` + lead + `(?:i|we)(?:'d| would) (?:much )?rather (?:you |we |have |use ).+|` + lead + `i (?:really )?(?:like|love) .+ (?:better than|more than|rather than|instead of) .+`)
	dislikes   = re(lead + `i (?:really )?(?:hate|can't stand|don't (?:like|want)) (?:it when |seeing |to see |any )?(?:you |we |people )?(?:[a-z-]+(?:ing|ed|s)|comments|emojis?|abbreviations|mocks|globals|todos?)\b.*`)
	stopDoing  = re(lead + `(?:please )?stop (?:adding|using|writing|creating|committing|mocking|apologi[sz]ing|explaining|generating|putting|wrapping|inventing|guessing|importing|suppressing|disabling|hardcoding|inlining|summari[sz]ing|asking|touching|reformatting|renaming)\b.+`)
	convention = re(lead + `(?:our|my|the (?:team|project|repo|house|code|naming|commit)(?:'s)?|the) (?:[a-z]+ )?(?:convention|policy|style|house style|standard|practice|rule|guideline)(?: here| in this (?:repo|project)| for [a-z ]{3,30})? is (?:to |that |:)?.{6,}`)
	rememberTo = re(`^(?:please |and |also )?remember(?: that|:|,) ?((?:we|i|you|our|my|the|this|all|always|never|to|in|tests?|every|each|no)\b.{6,})`)
	conditionl = re(`^(?:when(?:ever)?|before|after|if|for|in|every time|each time) .{3,90}?, (?:please )?(?:you (?:should|must) )?(?:always|never) ` + verbs + `\b`)
	mustBefore = re(lead + `.{2,60}\b(?:must|has to|have to|needs? to) (?:always )?(?:be|pass|stay|have|go|run)\b.{0,60}\b(?:before|after|for|on|in|with) (?:each|every|any)\b .{3,}`)
	keepShort  = re(lead + `(?:keep|make) (?:the |your |all |all your )?(?:explanations?|answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|messages) .{0,12}(?:short|brief|concise|terse|to the point)\b`)
	noStyle    = re(lead + `(?:don't|do not) (?:add|write|use|put|leave|create|insert)(?: any)? (?:comments|emojis?|abbreviations|docstrings|type comments|console\.log|print statements|todos|mocks|default exports|globals?|global variables|semicolons|inline styles)\b(?: .+)?$`)
	wheneverDo = re(`^(?:please )?(?:(?:whenever|every time|each time) (?:you|we|i) .{3,70}?|when you (?:write|create|add|change|name|open|edit|touch|commit|push|answer|explain|refactor|use|review) (?:a |an |any |new |to )?[\w/ -]{3,50}?|before (?:you (?:commit|push|merge|deploy|release|touch|change|delete)\b[\w/ -]{0,40}|(?:each|every|any) [\w -]{3,30}?)), (?:please )?(?:don't |do not |also )?` + verbs + `\b`)
	oneThing   = re(`^\S+(?: \S+){0,3} (?:the|this|that|these|those|it)\b`)
	answerIn   = re(lead + `(?:always |only )?(?:reply|answer|respond|speak|talk|write|explain|communicate)(?: to me| back| everything| me)? (?:only )?in (?:simplified |traditional |plain )?(english|chinese|mandarin|german|japanese|french|spanish|korean|portuguese|russian|italian)\b`)
	german     = re(`^(?:(?:bitte|und|also|ok)[,:]? )*(?:ab (?:jetzt|sofort)|in zukunft|künftig|zukünftig|von jetzt an)\b.{6,}|^(?:bitte )?(?:nutze?|verwende|benutze|schreibe?|mache?|antworte|committe|formatiere|teste|setze|lege?) (?:bitte )?(?:immer|nie|niemals|stets|grundsätzlich)\b.{3,}|^(?:bitte )?(?:immer|nie|niemals|stets|grundsätzlich) .{4,}(?:en|ern|eln)(?:$|, (?:sondern|immer|nur|stets) )|^ich bevorzuge .{3,}|^antworte (?:mir )?(?:bitte )?(?:immer |nur )?auf (?:deutsch|englisch)|^wir (?:verwenden|nutzen|benutzen) (?:immer|nie|niemals|grundsätzlich) .{3,}`)

	wideFuture = re(`^(?:请|好的?[，,]?|那|还有[，,：:]?|另外[，,]?|对了[，,]?|注意[，,：:]?|记住[，,：:]?|麻烦)*(?:以后|今后|从现在开始|从现在起|从今往后|往后|从今天起)[，,]?(?:[^，,。]{0,12}[，,]?)?(?:都|请|要|不要|别|不许|不准|必须|一律|统一|只|每次|记得|把|就用|用|优先|禁止|默认|尽量|先)`)
	wideNever  = re(`^(?:请|你|我们|大家|注意[，,：:]?|记住[，,：:]?|另外[，,]?|麻烦)*(?:永远|绝对|千万|任何时候都|无论如何都)(?:不要|别|不能|不许|不可以|不准)|(?:^|[，,])(?:请|你|另外|还有|对了|麻烦)*(?:不要再|别再|不许再|不准再)[^了]`)
	wideAlways = re(`^(?:请|你|我们|注意[，,：:]?|记住[，,：:]?|另外[，,]?|代码|测试|注释|文档|提交信息|变量名|日志)*(?:一律|务必|始终|永远|总是|每次都|统一|默认)(?:都)?(?:要|用|使用|采用|写|跑|运行|加|先|保持|遵循|以|按|放|从|在)`)
	wideTopic  = re(`^(?:请|另外[，,]?|还有[，,]?)*(?:注释|代码|测试|单测|文档|变量名?|变量命名|函数名?|类名|文件名|命名|提交信息|提交说明|日志|回答|回复|解释|文案|报错信息|错误信息|接口|返回值|依赖|日期|时间)(?:里面?|中)?(?:也|都|请)?(?:不要|别|尽量|一定要|必须|只能|只用|都用|要用|用(?:中文|英文|拼音|驼峰|下划线|复数|单数))[^了]{2,}`)
	wideTeam   = re(`^(?:请|注意[，,：:]?|记住[，,：:]?)*[^，,。？\s]{1,12}\s?(?:一律|统一|务必)(?:都)?(?:要|用|使用|采用|写|加|以|按|放)`)
	wideOnlyOf = re(`^[^，,。？]{1,8}(?:都|全部|只|只能|都要)用[^，,。]{1,20}[，,](?:不要|别|不能|不准|不许|禁止)(?:用|使用)?.{1,}`)
	wideFirst  = re(`^[^，,。？]{1,16}(?:之前|以前|前)(?:都)?(?:必须|一定要|务必|都要)(?:先)?.{2,}|(?:这是|属于)?硬性(?:规定|要求)$`)
	wideEach   = re(`^(?:请|你|我们|记住[，,：:]?)*每次.{1,16}(?:都要|必须|前要|前都要|后都要|之前先|前先|都先|都必须)`)
	wideLike   = re(`^(?:我|我们)(?:个人)?(?:还是)?(?:不|更|比较|一般|通常|都|一直)*(?:喜欢|偏好|习惯|倾向于|倾向)(?:于|了)?.*(?:用|写|把|先|风格|而不是|方式|胜过|比|格式|中文|英文|短|简洁)`)
	wideTongue = re(`^(?:请|你|都|以后|之后|麻烦|务必|一律|全部|统一)*用?(?:简体|繁体)?(中文|英文|英语|日语|德语|日本語|英語)(?:来)?(?:回答|回复|交流|解释|沟通|说明|写注释|写文档|写提交)|^(?:请)?用(?:简体|繁体)?(中文|英文|英语|日语|德语)(?:来)?(?:回答|回复|交流|解释|沟通|说明|写注释|写文档|写提交)`)
	wideRemind = re(`^(?:请|你)?记住[，,：:]?.{5,}`)
	wideOften  = []string{"总是报", "总是失败", "总是出", "总是超", "总是返回", "总是显示", "每次都报", "每次都失败", "每次都出", "每次都要等", "每次都会", "总是会", "始终会", "始终无法", "始终没", "永远不会", "默认是", "默认值", "会不会", "以后可能", "以后会", "记住了"}

	japanese = re(`(?:^|[、。は])(?:今後は|これからは|以後は|必ず|常に|絶対に|二度と|いつも|毎回).*(?:してください|てください|ないでください|すること|しないこと|使うこと|書くこと|ように|禁止|ください|して|しない)$|^(?:すべて|全部|回答は)?(日本語|英語)で(?:答えて|回答して|返信して|書いて)`)
)

var preferenceCues = []string{
	"always", "never", "from now on", "going forward", "moving forward", "from here on", "in future", "in the future", "henceforth", "as a rule", "as a general rule", "by default", "in general",
	" each ", " every ", "every time", "each time", "whenever", "when you", "before ", "short", "brief", "concise", "terse", "don't add", "don't write", "don't use", "don't put", "don't leave", "don't create", "do not ",
	"prefer", "favor", "favour", "rather", "better than", "more than", "hate", "can't stand", "don't like", "don't want", " ever", "again", "anymore", "any more", "no more", "stop ", "convention", "policy", "house style", "guideline",
	"standard", "practice", "our rule", "the rule", "our style", "my style", "remember", " in english", " in chinese", " in german", " in japanese", " in french", " in spanish", " in korean", "from this point", "over ", "instead of",
	"ab jetzt", "ab sofort", "zukunft", "künftig", "immer", "niemals", "nie ", "stets", "grundsätzlich", "bevorzuge", "auf deutsch", "auf englisch",
	"以后", "今后", "从现在", "从今", "往后", "不要再", "别再", "不许", "不准", "永远", "绝对", "千万", "一律", "务必", "始终", "总是", "每次", "统一", "默认", "喜欢", "偏好", "习惯", "倾向", "记住", "中文", "英文", "英语", "日语", "任何时候", "无论如何", "注释", "代码", "测试", "单测", "文档", "变量", "函数", "类名", "文件名", "命名", "提交", "日志", "回答", "回复", "解释", "文案", "信息", "接口", "返回值", "依赖", "日期", "时间", "都用", "全部用", "只用", "只能用", "必须", "一定要", "都要", "硬性",
	"今後", "これから", "以後", "必ず", "常に", "絶対", "二度と", "いつも", "毎回", "日本語で", "英語で",
}

// preferences are how a person wants things done from now on.
func preferences(s *scene) {
	for i := range s.said {
		st := &s.said[i]
		if st.taken || !hasAny(st.low, preferenceCues) || !preferred(st) {
			continue
		}
		if wideRemind.in(st.low) || rememberTo.in(st.low) {
			if _, ok := factIn(st.low); ok {
				continue // something to know, not to do
			}
		}
		about := preferenceOf(st)
		s.say(ambry.Preference, ambry.L2, st, about, 0.85)
	}
}

// preferred reports whether a statement says how things are to be done.
func preferred(st *statement) bool {
	if conditionl.in(st.low) && !strings.HasSuffix(st.text, "?") && !st.reported() {
		return !emptyOrder.in(st.low)
	}
	if !st.firm() || emptyOrder.in(st.low) {
		return false
	}
	if m := fromNowOn.groups(st.low); m != nil {
		return orders.in(m[1]) && !plans.in(m[1]) && length(m[1]) > 1
	}
	if answerIn.in(st.low) || german.in(st.low) || japanese.in(st.low) {
		return true
	}
	if preferredWide(st) {
		return true
	}
	if past.in(st.low) || length(st.low) < 3 {
		return false
	}
	if m := neverAny.groups(st.low); m != nil && isCommand(m[1]) {
		return true
	}
	if wheneverDo.in(st.low) && !oneThing.in(st.low) {
		return true
	}
	for _, p := range []*pattern{alwaysVerb, neverEver, nowOnLast, prefers, dislikes, stopDoing, convention, rememberTo, mustBefore, keepShort, noStyle} {
		if p.in(st.low) {
			return true
		}
	}
	return false
}

// emptyOrder is an order whose object is not in it.
var emptyOrder = re(`\b(?:do|use|try|make|run|touch|change|edit|say|doing|add|commit|delete|mention|write) (?:that|this|it|those|these|them|so)(?: (?:again|ever|anymore|any more|please|ever again|from now on|going forward|in (?:the )?future))*$|^(?:以后)?(?:不要再|别再)(?:这样|这么|那样|犯|弄|搞|问|说|改|试)(?:了|做|干)?$`)

var neverAny = re(lead + `(?:never|always) ([a-z][a-z-]+) [^ ]`)

// noCommands follow "never" and "always" where nobody is told anything.
var noCommands = []string{
	"mind", "seen", "heard", "been", "again", "had", "got", "knew", "came", "was", "did", "done", "thought", "found", "once", "before", "more", "less", "gets", "got", "gonna", "the", "in", "on", "at", "to", "a", "an", "any", "ever", "happen", "happens", "said", "told", "met", "ran", "saw", "went", "took", "gave", "made", "quite", "really", "see", "get", "wrong", "same", "true", "false", "null", "empty", "slow", "fast", "red", "green", "late", "off", "here", "there", "about", "up", "down", "with", "for", "of", "as", "been", "be", "have", "has", "will", "would", "could", "if", "when", "so", "been", "something", "nothing", "great", "good", "nice", "fun", "one", "two", "too", "that", "this",
}

// isCommand reports whether a word tells somebody to do something.
func isCommand(word string) bool {
	if slices.Contains(noCommands, word) {
		return false
	}
	return !strings.HasSuffix(word, "ed") && !strings.HasSuffix(word, "ing") && (!strings.HasSuffix(word, "s") || strings.HasSuffix(word, "ss"))
}

func preferredWide(st *statement) bool {
	if utf8.RuneCountInString(st.low) < minRunes || hasAny(st.low, wideOften) {
		return false
	}
	for _, p := range []*pattern{wideFuture, wideNever, wideAlways, wideTopic, wideTeam, wideOnlyOf, wideFirst, wideEach, wideLike, wideTongue, wideRemind} {
		if p.in(st.low) {
			return true
		}
	}
	return false
}

// length counts words, and characters of scripts without spaces as half ones.
func length(text string) int {
	n := len(strings.Fields(text))
	wide := 0
	for _, r := range text {
		if r > 0x2e7f {
			wide++
		}
	}
	return n + wide/2
}

// preferenceOf tells what a preference is about.
func preferenceOf(st *statement) subject {
	for _, p := range []*pattern{answerIn, wideTongue, japanese} {
		if m := p.groups(st.low); m != nil {
			for _, g := range m[1:] {
				if g != "" {
					return subject{about: []string{"language", tongueOf(st.low)}, value: g, everywhere: true}
				}
			}
		}
	}
	about := choiceOf(st.low)
	about.everywhere = manners.in(st.low)
	return about
}

// manners are about how to talk to a person, whatever the project.
var manners = re(`\b(?:answers?|repl(?:y|ies)|respon(?:d|ses?)|apologi[sz]e|explanations?|emojis?|summari(?:es|[sz]e)|speak|talk|small talk|concise|verbose|flattery|praise|bullet points)\b|回答|回复|表情|道歉|客套|啰嗦|简洁地?(?:回|说)|解释|返信|auf deutsch`)

// tongueOf tells answers from comments and documents, which may be in another
// language.
func tongueOf(low string) string {
	for _, what := range []string{"comment", "commit", "注释", "文档", "提交", "docs"} {
		if strings.Contains(low, what) {
			return what
		}
	}
	return "answers"
}
