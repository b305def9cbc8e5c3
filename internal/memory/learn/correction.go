package learn

import (
	"strings"

	"ambry.dev/ambry"
)

var (
	denies = re(`^(?:no+|nope|nah|wrong|incorrect|actually|that's (?:wrong|not right|incorrect|not it|not correct|not what i (?:asked(?: for)?|meant|wanted|said))|that is (?:wrong|not right|incorrect)|not quite|hmm,? no|you(?: have|'ve)? misunderstood(?: me)?|you got (?:it|that|me) wrong|stop|wait|sorry,? no|you(?:'re| are) wrong|nein|falsch|stopp)\b[,.!:;— -]*`)
	only   = re(`^(?:no+|nope|nah|wrong|incorrect|that's (?:wrong|not right|incorrect|not it|not correct|not what i (?:asked|meant|wanted|said))|that is (?:wrong|not right|incorrect)|not quite|stop|wait|nein|falsch|stopp|不对|不是|错了|不是这样|不行|搞错了|你搞错了|弄错了|違います|違う|いいえ)[,.!。！, ]*$`)

	right     = re(`(?:\b(?:use|call|run|put|it's|it is|should be|must be|is called|is named|lives in|is in|goes in|belongs in|is at|is on|we use|has to be|needs to be|instead|i (?:said|meant|asked for|wanted)|nimm|verwende|nutze|benutze|heißt|statt)\b|port is|is not .+ but)`)
	useNotY   = re(`^(?:please )?(?:don't|do not|never) use [^,;]{1,50}[,;] ?(?:please )?use .{2,}|^(?:please )?use .{2,50}? (?:instead of|rather than|not) .{2,}|^(?:please )?use .{2,50}? instead$|^i (?:said|meant|asked for|wanted) .{2,50}?,? not .{2,}|^it'?s (?:called |named )?.{2,50}?, not .{2,}|^(?:the )?[a-z ]{2,30} (?:is|should be|must be) .{2,50}?, not .{2,}|^you should(?: have|'ve) (?:used|put|called|run|kept|written) .{3,}|^(?:bitte )?(?:nimm|verwende|nutze|benutze) .{2,50}? statt .{2,}|^nicht .{2,40}, sondern .{2,}`)
	wideRight = re(`^(?:不对|不是的?|错了|不行|不要|你?搞错了|你?弄错了|你?理解错了|你?写错了|你?看错了|等等|等一下)[，,。！! ]+.*(?:应该|用|是|叫|在|放|改成|写成|换成|要)|^(?:我的意思是|我是说|我要的是|我说的是|我指的是)[，,]?.{5,}|^(?:我)?说了?(?:多少|好几|很多|几)(?:次|遍)了?[，,].{5,}`)
	notThis   = re(`.{3,}(?:,| and) (?:not|nicht) .{2,}`)
	meant     = re(`^i (?:said|meant) .{3,}\b(?:and|both|only|each|instead|before|after|without)\b.{2,}`)
	meantNone = re(`^i (?:said|meant) (?:i|that|this|it|to|yes|no|we|you|so|what)\b`)
	wideUse   = re(`^(?:请)?(?:不要|别)(?:再)?用[^，,。]{1,20}[，,](?:要|请|应该|而是|改)?(?:改)?用.{1,}|^(?:请)?(?:应该|要)?用[^，,。]{1,20}[，,]?(?:而不是|不要用|别用|不是|不用)[^，,。]{1,}|^(?:是|叫)[^，,。]{1,20}[，,]?(?:而不是|不是)[^，,。]{1,}|^不是[^，,。]{1,20}[，,](?:而)?(?:是|叫|用|在).{1,}|^(?:这里|那里|这个|端口|路径|名字|变量|文件|接口|字段)?应该(?:是|用|放在|叫|改成|写成)[^，,。]{1,30}[，,]?(?:而不是|不是|不要)[^，,。]{1,}`)
	iSaid     = re(`^i (?:said|meant|asked for|wanted)\b`)
	forGood   = re(`\b(?:from now on|going forward|moving forward|in (?:the )?future|always|never|ab jetzt|immer)\b|以后|今后|一律|永远|今後|これから`)
	japaneseC = re(`^(?:いや、|いえ、|違います、|違う、)?.{1,30}(?:ではなく|じゃなくて|ではなくて)、?.{1,40}`)
)

var (
	// pointing corrects something that was named before.
	pointing = re(`^(?:for:? )?(?:it|this|that|they) (?:should|must|is|has|needs)\b|\b(?:want|wanted|meant|need) it\b|^i (?:said|meant) (?:in|on|at|for|to|with|from|by|as)\b`)
	// wideNotBut sets two things against each other; they need names to be understood.
	wideNotBut = re(`^不是[^，,。]{1,20}[，,](?:而)?是`)
	hasLatin   = re(`[a-z0-9]`)
)

var japaneseNo = re(`^(?:いや|いえ|違)`)

var correctionCues = []string{
	"no", "don't", "do not", "use ", "wrong", "actually", "that's", "that is", "not ", "instead", "rather", "wait", "stop", "should have", "should've", "i meant", "i said", "nein", "falsch", "statt", "sondern",
	"misunderstood", "我的意思", "我是说", "我要的", "我说的", "我指的", "次了", "遍了", "不对", "不是", "错了", "不行", "不要", "别用", "别再用", "而不是", "应该", "ではなく", "じゃなく", "違",
}

// maxCorrection is how far into a message a correction is looked for.
const maxCorrection = 3

// corrections are what a person says was wrong, with what is right.
func corrections(s *scene) {
	denied := false
	for i := range s.said {
		st := &s.said[i]
		if st.nth >= maxCorrection {
			continue
		}
		if st.nth == 0 {
			denied = false
		}
		if only.in(st.low) {
			denied = true
			continue
		}
		if st.nth == 1 && only.in(plainLow(st.before)) {
			denied = true
		}
		if st.taken || !hasAny(st.low, correctionCues) || forGood.in(st.low) || !st.firm() && !(iSaid.in(st.low) && !st.asks() && !st.hedged()) {
			continue
		}
		if corrected(st, denied) {
			s.say(ambry.Correction, ambry.L2, st, choiceOf(denies.without(st.low)), 0.8)
		}
	}
}

func plainLow(text string) string {
	if st, ok := newStatement(text); ok {
		return st.low
	}
	return only.get().FindString(lowTrim(text))
}

// corrected reports whether a statement says what is right, and can be understood
// by itself.
func corrected(st *statement, denied bool) bool {
	said := denies.without(st.low)
	outright := denied || strings.ContainsAny(st.low[:len(st.low)-len(said)], ",.!:;—")
	denied = denied || said != st.low
	if length(said) < 3 || past.in(said) && !useNotY.in(said) {
		return false
	}
	if vagueInstead.in(said) || emptyOrder.in(said) || st.before == "" && pointing.in(said) || wideNotBut.in(said) && !hasLatin.in(said) {
		return false
	}
	if useNotY.in(said) || wideUse.in(said) || wideRight.in(said) && length(said) > 3 || meant.in(said) && !meantNone.in(said) && length(said) >= 5 {
		return true
	}
	if japaneseC.in(said) {
		return !japaneseD.in(said) || japaneseNo.in(said)
	}
	if outright && notThis.in(said) {
		return true
	}
	return denied && right.in(said) && named.in(st.text)
}

var (
	// vagueInstead names only one of the two by a word that points.
	vagueInstead = re(`\b(?:use|try|do|take) (?:that|this|it|those|these|the (?:other|first|second|last|new|old|same|latter|former)(?: (?:one|way|approach|version))?|another|one|a different (?:one|way|approach))\b|\b(?:said|meant|wanted) (?:that|this|it)\b|^(?:it's|it is|that's|is) not\b|用(?:这个|那个|别的|另一个|上面)`)
	// named is something with a name of its own: code, a path, a number, a proper name.
	named = re("`[^`]+`|[\\w-]+\\.[a-z]{1,5}\\b|[\\w.-]+/[\\w.-]+|\\d{2,}|\\b[a-z]+[A-Z]\\w*|\\w+_\\w+|[A-Z]{2,}|\\s[A-Z][a-z]{2,}|\\b[a-z]+-[a-z]+\\b|[\\p{Han}\\p{Hiragana}\\p{Katakana}]")
)
