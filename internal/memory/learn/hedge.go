package learn

import "strings"

// What a sentence says is worth nothing when it only asks, supposes, reports what
// others say, or holds for this once.

var (
	asking = re(`^(?:so |and |but |ok,? |hmm,? |also,? )?(?:why|what|where|who|whose|which|how|is|are|am|was|were|does|did|has|have you|have we|can|could|should|shall|would|will|` +
		`isn't|aren't|wasn't|doesn't|didn't|don't (?:you|we|i)|won't|can't|couldn't|shouldn't|wouldn't|any (?:idea|chance|reason)|do (?:you|we|i|they|the|these|those|any)|` +
		`wer|was|wie|warum|wieso|wo|wann|welche[rs]?|kannst|könn(?:en|test)|soll(?:en|te|ten)?|ist|sind|hat|gibt es)\b`)
	polite = re(`^(?:can|could|would|will) (?:you|we) (?:please )?(?:always|never|stop|from now on)\b`)

	askingWide = []string{
		"?", "？", "吗", "要不要", "是不是", "是否", "能不能", "可不可以", "为什么", "怎么", "如何", "什么意思", "哪个", "哪里", "哪些", "有没有", "难道", "呢。", "几个",
		"ですか", "ますか", "でしょうか", "かな",
	}

	hedges = re(`\b(?:maybe|perhaps|possibly|might|i wonder|wondering|not sure|unsure|suppose|supposing|imagine|hypothetically|what if|let's say|say we|as if|` +
		`if (?:we|you|they|i|it|the|this|that|there|somebody|someone|only)\b[^,]*$|if (?:we|i|they|it|there)\b|would (?:be|have|need|break|make|work|hang|fail|never|always)|could (?:be|have|also)|` +
		`for now|for the moment|for the time being|this time|just this once|this once|for this (?:one|pr|commit|change|file|task|session|test|step)|in this (?:pr|commit|change|session)|temporarily|right now|today|until|unless|` +
		`at some point|someday|one day|eventually|for example|for instance|e\.g\.|like you said|never ?mind|no worries|don't worry|just kidding|never heard|` +
		`vielleicht|eventuell|vorerst|diesmal|erstmal|könnten|würde)\b`)
	hedgesWide = []string{
		"如果我们", "如果你", "假如", "假设", "要是", "万一", "可能", "也许", "或许", "大概", "暂时", "临时", "这次", "这一次", "先这样", "目前先", "比如说", "打个比方", "算了", "没关系", "不用管", "开玩笑",
		"以后再", "之后再说", "再说吧", "再议", "好像", "似乎", "感觉", "もし", "とりあえず", "今回は", "一旦", "かもしれ", "たぶん",
	}

	reports = re(`\b(?:says?|said|saying|according to|told (?:me|us)|tells (?:me|us)|claims?|recommends?|recommended|suggests?|suggested|advises?|reads:|(?:docs?|documentation|readme|manual|tutorial|article|blog(?: post)?|guide|book) (?:always|never|wants?|requires?|states?|shows?)|stack ?overflow|chatgpt|` +
		`the (?:linter|compiler|error|log|message|warning|comment|ticket|issue|spec|review(?:er)?|test|output)s? (?:says?|prints?|reads?|complains?|shows?|states?)|he|she|they (?:always|never|want|think)|his|her|my (?:boss|manager|colleague|coworker)|` +
		`(?:people|everyone|everybody|users|customers) (?:always|never|prefer|want|like|think|expect)|laut|angeblich)\b`)
	reportsWide = []string{
		"文档里", "文档说", "文档写", "手册", "官方", "据说", "他说", "她说", "他们", "网上", "老板", "同事", "客户", "用户说", "日志里", "报错说", "提示说", "评论说", "博客", "ドキュメント", "と書いて", "らしい", "そうです",
	}

	past = re(`\b(?:used to|last time|yesterday|last (?:week|month|year)|back then|in the past|previously|earlier|had (?:always|never)|was|were|got|took|went|forgot|seemed|failed|worked|happened)\b`)
)

// firm reports whether a statement states something, here and for good.
func (s *statement) firm() bool { return !s.asks() && !s.hedged() && !s.reported() }

func (s *statement) asks() bool {
	if polite.in(s.low) {
		return false
	}
	return asking.in(s.low) || hasAny(s.low, askingWide)
}

func (s *statement) hedged() bool { return hedges.in(s.low) || hasAny(s.low, hedgesWide) }

func (s *statement) reported() bool { return reports.in(s.low) || hasAny(s.low, reportsWide) }

// vague reports whether a text means nothing outside of its conversation.
func vague(text string) bool {
	text = strings.Trim(strings.ToLower(text), " .,!`\"'")
	return text == "" || vagueObject.in(text)
}

var vagueObject = re(`^(?:it|that|this|these|those|them|him|her|one|ones|the (?:other|first|second|third|last|latter|former|same|new|old|right|correct|wrong|existing|original|above|following)(?: (?:one|way|approach|option|thing|version|file|name))?|` +
	`(?:option|plan|approach|variant|version|solution|choice|number|path|alternative) [a-z0-9]|[a-z0-9]|your\b.*|my\b.*|what\b.*|whatever.*|how .*|both|all|either|same|something.*|anything.*|everything.*|(?:this|that|your|the (?:other|first|second|former|latter)) (?:approach|option|plan|one|way|solution|idea|version|suggestion|design)|` +
	`这个|那个|它|这样|那样|第[一二三四五]个.*|方案[a-z一二三四五0-9].*|你说的.*|上面.*)$`)
