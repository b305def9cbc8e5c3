package when

// Tense is which state a question asks for.
type Tense int

// The tenses. Most questions do not tell.
const (
	Any Tense = iota
	Present
	Past
)

var (
	past    = lazily(pastText)
	present = lazily(presentText)
	asksFor = lazily(`(?i)^\W*(when|since when|until when|wann|seit wann|bis wann)\b`)
	asks    = lazily(`(?i)\b(what|which) (date|day|month|year|time)\b|\bhow long ago\b|\bhow long\b|什么时候|何时|几号|几月|哪天|哪一天|多久|いつ|何月|何日`)
	tells   = lazily(tellsText)
	changes = lazily(changesText)
)

// TenseOf returns the tense of a question. One that names the present asks for
// it, whatever else it says.
func TenseOf(question string) Tense {
	switch {
	case present.MatchString(question):
		return Present
	case past.MatchString(question):
		return Past
	}
	return Any
}

// Asks reports whether a question is for a time.
func Asks(question string) bool { return asksFor.MatchString(question) || asks.MatchString(question) }

// Told reports whether a text names a time.
func Told(text string) bool { return tells.MatchString(text) }

// Changed reports whether a text sounds like something is to be otherwise from
// now on: "make it 30 from now on", 改成.
func Changed(text string) bool { return changes.MatchString(text) }

var (
	asksNumber = lazily(`(?i)\b(how (many|much|long|often|big|large|fast|far|old)|what (is the )?(number|size|limit|value|port|version|price|rate|percentage|count)|wie (viele?|lange|oft|gro(ß|ss)|schnell|alt|hoch)|which (port|version))\b|多少|几[个次天条位]|多大|多久|多长|いくつ|何[回個件人秒分]|どのくらい|いくら`)
	countWords = lazily(countWordsText)
)

// AsksNumber reports whether a question is for a number.
func AsksNumber(question string) bool { return asksNumber.MatchString(question) }

// Counted reports whether a text has a number in words.
func Counted(text string) bool { return countWords.MatchString(text) }

const pastText = `(?i)\b(was|were|did|had|originally|initially|at first|the first|used to|earlier|previously|formerly|before|history|all the times|why|` +
	`war|waren|hatte|hatten|früher|ursprünglich|zuerst|vorher|damals|warum|wieso|weshalb|verlauf)\b|以前|最初|之前|当初|原来|原先|一开始|曾经|历史|为什么|为何|当时|前は|初めは|当初|なぜ|かつて|以前は|経緯`

const presentText = `(?i)\b(current|currently|now|nowadays|latest|newest|still|at the moment|these days|up to date|up-to-date|at present|` +
	`aktuell|aktuelle|aktueller|aktuellen|derzeit|jetzt|momentan|zurzeit|mittlerweile|inzwischen|heutzutage|noch)\b|现在|目前|当前|最新|如今|眼下|還在|还在|現在|目下|いま|今は|今の|今なに|いまは|今も`

const tellsText = `(?i)\b(yesterday|today|tonight|tomorrow|last|next|ago|recently|week|weekend|month|year|(mon|tues|wednes|thurs|fri|satur|sun)day|` +
	`january|february|march|april|may|june|july|august|september|october|november|december|(19|20)\d\d|\d{1,2}(st|nd|rd|th)|since|just|` +
	`gestern|heute|morgen|woche|monat|jahr|seit)\b|昨天|今天|明天|上周|下周|上个月|去年|今年|\d月|\d号|\d日|[一二三四五六七八九十]月|星期|昨日|今日|明日|先週|来週|先月|曜日`

const changesText = `(?i)\b(from now on|no longer|not any ?more|any ?more|instead|chang(e|ed|es) (my|our|the|it|this|that|to)|on second thought|correction|actually|` +
	`switch(ed|es|ing)?|mov(e|ed|ing) (\w+ ){0,3}to|go(es)? (back )?(to|with)|use [\w.-]+ (now|instead)|replac(e|ed|es)|` +
	`rais(e|ed)|lower(ed)?|increas(e|ed)|decreas(e|ed)|reduc(e|ed)|bump(ed)?|doubl(e|ed)|halv(e|ed)|shorten(ed)?|extend(ed)?|cut (\w+ ){0,3}to|went (up|down)|` +
	`upgrad(e|ed)|downgrad(e|ed)|new (limit|default|value|rule|port|version|plan|name|address|key|host|policy)|make (it|that|them)|set (it|that|them|the \w+) to|` +
	`renam(e|ed)|drop(ped)?|remov(e|ed)|revert(ed)?|get rid of|turn(ed)? (it )?o(n|ff)|disabl(e|ed)|migrat(e|ed)|as of|starting (on|from|with)|effective|` +
	`adjust(ed)?|reschedul(e|ed)|postpon(e|ed)|improved|reached|swap(ped)?|chang(e|ed) (my |our )?mind|(is|are|has|have) now|now (is|are|has|have|at|on|uses?|takes?|runs?)|` +
	`too (long|short|small|big|large|slow|high|low|many|few|much|little|often|expensive)|(fast|slow|bigg|small|larg|long|short|high|low|new)er|(more|less) often|at most|at least|no more than|` +
	`from (\w+ ){0,2}on(wards)?|` +
	`zu (lang|kurz|klein|groß|langsam|hoch|niedrig|viele?|wenige?|oft|teuer)|höchstens|mindestens|angepasst|anpassen|von nun an|verkürzt|verlängert|tausch(en|t)|getauscht|` +
	`ab jetzt|ab sofort|ab heute|ab \d\S*|künftig|nicht mehr|stattdessen|statt|lieber|doch|zurück auf|umstellen|umgestellt|umziehen|umgezogen|geändert|erhöhen|erhöht|` +
	`gesenkt|senken|ersetzt|ersetzen|wechseln|gewechselt|verschieben|verschoben|verlegt|abschaffen|abschalten|neuer|neue|neues)\b|ändern|` +
	`[改换換调調升降移迁遷切缩縮延挪](成|为|為|到|用|回|掉|了|至)|不再|不用了|别再|以后|以後|从现在起|从今|升级|提高|降低|替换|取代|取消|推迟|提前|统一用|还是用|停用|关掉|去掉|恢复|下线|新的|太[长長短大小慢快多少高低贵]|最多|不超过|[换換]掉|调整|調整|` +
	`変更|変え|これから|今後|切り替|移行|移す|移した|やめ|使わない|ではなく|代わりに|上げ|下げ|増やす|増やし|減らす|減らし|戻す|戻し|廃止|新しい|すぎ[てるた。]|過ぎ[てるた]|乗り換え|置き換え|以内に`

const countWordsText = `(?i)\b(one|two|three|four|five|six|seven|eight|nine|ten|dozen|once|twice|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)\b|[一二三四五六七八九十两]`
