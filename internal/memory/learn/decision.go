package learn

import (
	"slices"
	"strings"

	"ambry.dev/ambry"
)

const weLead = `^(?:(?:ok|okay|so|and|yes|yeah|alright|right|great|good|cool|fine|perfect|agreed|sounds good|also|then|thanks|actually|hmm|well|after (?:the|our) [a-z ]{3,30})[,.:;!]?\s+)*`

var (
	decided = re(weLead + `(?:we|i|the team)(?:'ve| have| had|'re| are)? (?:now |finally |just |all )?(?:decided|agreed|chose|chosen|picked|settled) (?:to |on |that |against |not to |for )?(.{4,})`)
	goWith  = re(weLead + `(?:let's|lets|we'll|we will|i'll|we are going to|we're going to|we are|we're|we|please) (?:go(?:ing)? (?:with|for)|went with|stick(?:ing)? (?:with|to)|stay(?:ing)? (?:with|on)|settl(?:e|ing) (?:on|for)|switch(?:ing)?(?: over)? (?:to|from)|mov(?:e|ing) (?:to|from|away from)|migrat(?:e|ing) (?:to|from|away from)|standardi[sz](?:e|ing) on|adopt(?:ing)?|drop(?:ping)? support for)\s+(.{2,})`)
	goOn    = re(weLead + `(?:just )?go with (.{4,})`)
	weUse   = re(weLead + `(?:let's|lets|we'll|we will|we are going to|we're going to) (?:use|keep|store|expose|version|deploy|host|ship|target|support)\s+(.{3,}\b(?:instead of|rather than|over|not|because|since|so that|as (?:the|our)|for (?:the|all|every|our)|everywhere)\b.{2,})`)
	stated  = re(`^(?:decision|decided|final decision|decision noted[^:]{0,40}|entscheidung|决定|结论|決定)\s*[:：]\s*(.{6,})`)
	germanD = re(`^(?:ok[,.]? |also |gut[,.]? )?wir (?:haben (?:uns )?(?:entschieden|beschlossen|für .{2,60} entschieden)|nehmen|bleiben bei|wechseln (?:zu|auf)|einigen uns auf)\b(.*)`)

	wideDecided = re(`^(?:好的?[，,]?|那|嗯[，,]?|行[，,]?|可以[，,]?|我们|最终|最后|还是|所以|讨论后|经过讨论[，,]?)*(?:决定|确定|定了|敲定|拍板)(?:了)?(?:[：:，,]|用|使用|采用|改用|把|不再?|还是|选|就|以|将|让|放弃|保留|统一|全部|裁|删|拆|合并|升级|迁移|移除|引入|加|关)(.{2,})`)
	wideGo      = re(`^(?:好的?[，,]?|那|嗯[，,]?|行[，,]?|可以[，,]?|我们|最终|最后|还是|所以|以后)*(?:就用|改用|换成|换用|统一用|统一使用|采用|选用|沿用|切换到|迁移到|迁到)(.{2,}?)(?:吧|了|方案|$)`)
	wideTake    = re(`^(?:好的?[，,]?|那|嗯[，,]?|行[，,]?|可以[，,]?|我们|讨论过了[，,]?|商量过了[，,]?)*(?:[^，,。]{0,8}我们(?:就)?(?:选|选了|选择|定了用|打算用|准备用)\s*([^，,。]{2,20})|[^，,。]{1,8}(?:改用|换用|选用|沿用)\s*([^，,。]{2,20})[，,](?:不用|不再用|弃用|去掉|放弃))`)
	wideNo      = []string{"决定一下", "决定下", "由你决定", "你决定", "你来决定", "没决定", "还没", "未决定", "不确定", "取决", "帮我决定", "决定因素", "决定于", "换成了什么"}
	japaneseD   = re(`^(?:では、|じゃあ、|結局、|今回から)?.{2,40}(?:にします|に決めました|に決定しました|を採用します|を採用する|に移行します|に統一します|を使うことにします|を使うことにしました|ことに決めました)$`)
)

var decisionCues = []string{
	"decided", "decision", "agreed", "chose", "picked", "settle", "go with", "going with", "went with", "go for", "stick", "stay with", "stay on", "staying", "switch", "move to", "moving to", "move from", "migrat", "standardi", "adopt", "let's", "lets ", "we'll", "we will", "going to", "drop support", "dropping support",
	"entschieden", "beschlossen", "wir nehmen", "bleiben bei", "wechseln", "einigen", "entscheidung",
	"决定", "确定", "敲定", "拍板", "定了", "就用", "改用", "换成", "换用", "统一用", "统一使用", "采用", "选用", "沿用", "切换到", "迁移到", "迁到", "结论", "我们选", "我们就选", "打算用", "准备用", "定了用",
	"にします", "決め", "決定", "採用", "移行します", "統一します", "ことにし",
}

// decisions are what was chosen.
func decisions(s *scene) {
	for i := range s.said {
		st := &s.said[i]
		if st.taken || !hasAny(st.low, decisionCues) || !chosen(st) {
			continue
		}
		s.say(ambry.Decision, ambry.L2, st, choiceOf(st.low), 0.8)
	}
	if !s.changes() {
		return // an adviser decides nothing
	}
	for i := range s.told {
		st := &s.told[i]
		if !st.taken && hasAny(st.low, []string{"decision", "entscheidung", "决定", "决定", "決定"}) && stated.in(st.low) && st.firm() {
			s.say(ambry.Decision, ambry.L2, st, choiceOf(st.low), 0.6)
		}
	}
}

// changes reports whether a file was changed in the turn.
func (s *scene) changes() bool {
	return slices.ContainsFunc(s.calls, func(c call) bool { return c.file != "" && c.Done && !c.Failed })
}

// chosen reports whether a statement tells of a choice that can be understood by
// itself.
func chosen(st *statement) bool {
	if !st.firm() || length(st.low) < 3 {
		return false
	}
	if hasAny(st.low, wideNo) {
		return false
	}
	if wideDecided.in(st.low) || japaneseD.in(st.low) {
		return true
	}
	if m := wideGo.groups(st.low); m != nil {
		return !vague(m[1])
	}
	if m := wideTake.groups(st.low); m != nil {
		what := strings.Join(filled(m), "")
		return !vague(what)
	}
	for _, p := range []*pattern{stated, decided, goWith, goOn, weUse, germanD} {
		m := p.groups(st.low)
		if m == nil {
			continue
		}
		object := strings.TrimSpace(m[len(m)-1])
		return object == "" || !vague(object) && !pronounFirst.in(object)
	}
	return false
}

// pronounFirst begins what is only understood with what was said before.
var pronounFirst = re(`^(?:it|that|this|these|those|them|one|option|plan|approach|variant|the (?:first|second|third|latter|former|other|plan|schedule|real|original|current|existing)\b|your|what|whatever|which|(?:[a-z]|\d)\b|ahead|through|on\b|with (?:it|that|this|your)|back|forward)`)
