package recall

import (
	"strings"
	"sync"
)

// stopWords carry no content in a question. They stay in the index, so that a
// query of nothing else still works.
var stopWords = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`
		a about after again all also am an and any are as at be because been before being between both but by can
		could did do does doing done down during each few find for from further get give go got had has have having
		he her here hers him his how i if in into is it its just let like make me more most my no nor not now of off
		on once only or other our out over own please same she should show so some such tell than that the their
		them then there these they this those through to too under until up us very was way we were what when where
		which while who whom why will with would you your
		many much
		ist das der die den dem des ein eine einen einem einer und oder wie was wo wer wen wem wann warum wieso weshalb womit wofür
		woran welche welcher welches welchen welchem ich du er sie wir ihr mein unser unsere unserer unserem unseren haben hat habe
		hatte hatten sind war waren wird werden wurde wurden kann können soll sollte muss müssen viel viele auf aus bei bis für im
		nach seit über um unter von vor zu zum zur am als auch aber denn doch noch nur wenn dann da hier dort sich mir mich uns
		la le les un une est et ou que qui el los las una es y
		什么 什麼 怎么 怎麼 为什 為什 是什 么样 怎样 哪个 哪些 哪里 多少 我们 你们 这个 那个 一个 的是 了什 的什 是怎 如何 是否
		です ます した して する どう いつ どこ どれ どの とは のは まし でし たの のか すか`) {
		set[w] = true
	}
	return set
})

// Characters that hold a sentence together. A pair with one of them says little,
// and happens to be rare.
const holding = "的是了在吗嗎呢么麼和与與就都也把被这這那我你他们們哪怎什吧啊呀之几多" +
	"をはがのにへとでもやかよねだた"

// weakPair is what a pair with such a character counts, against others.
const weakPair = 0.3

func isWeak(pair string) bool {
	return strings.ContainsAny(pair, holding)
}
