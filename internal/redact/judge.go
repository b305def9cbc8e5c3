package redact

import (
	"strings"
)

// trust is how much the name of a field says that its value is a secret.
type trust int

const (
	never  trust = iota
	weak         // token: only what looks random is a secret
	strong       // password: all but placeholders and code is a secret
)

// passwords judges fields with password in their name, secrets those with
// secret, and so on.
func passwords(x *scan, f *field) bool { return x.secret(f, f.trust(strong)) }

// abbreviations judges pass and pwd, which stand for a secret only as a word of
// their own.
func abbreviations(x *scan, f *field) bool {
	if !f.whole() || f.op == gap && !f.flag || f.name == "PWD" || f.name == "OLDPWD" {
		return false
	}
	assigned := f.env || f.flag || f.query || f.quote.mark != 0 || f.in.mark != 0 || strings.EqualFold(f.keyword(), "pwd")
	return assigned && x.secret(f, f.trust(strong))
}

// secrets judges fields with secret in their name. One that is not in quotes
// may be the name of a secret, as Kubernetes has them.
func secrets(x *scan, f *field) bool {
	if f.in.mark != 0 || f.glued() {
		return x.secret(f, f.trust(strong))
	}
	return x.secret(f, f.trust(f.qualified("client", "app", "api", "shared", "jwt", "hook", "signing", "consumer", "oauth", "user", "master")))
}

// glued reports whether the value follows its name as in name=value.
func (f *field) glued() bool { return f.op == equals && f.start == f.begin+len(f.name)+1 }

// tokens judges fields with token in their name; many are counts, or parts of a
// text.
func tokens(x *scan, f *field) bool {
	if hasSuffixFold(f.left, "publickey") { // the name of a .NET assembly
		return false
	}
	return x.secret(f, f.trust(f.qualified("access", "auth", "api", "refresh", "bot", "private", "bearer", "secret", "personal", "vault", "deploy")))
}

// keys judges fields that end in key, if what is before says which key.
func keys(x *scan, f *field) bool {
	left := strings.TrimRight(f.left, "_-. ")
	if left == "" {
		left = x.wordBefore(f)
	}
	for _, s := range []string{
		"api", "access", "secret", "private", "encryption", "encrypt", "signing", "auth", "account", "shared",
		"storage", "master", "crypto", "cipher", "hmac", "aes", "preshared", "license", "subscription",
	} {
		if hasSuffixFold(left, s) {
			return x.secret(f, f.trust(x.assigned(f)))
		}
	}
	if hasSuffixFold(left, "public") || hasSuffixFold(left, "publishable") || !f.env && !hasSuffixFold(left, "service") && !hasSuffixFold(left, "admin") {
		return false
	}
	return len(f.value(x)) >= 16 && x.secret(f, f.trust(weak))
}

// assigned is strong for a key of some length that is in quotes or was set on
// purpose. In code, a key is assigned to a key all the time.
func (x *scan) assigned(f *field) trust {
	if v := f.value(x); len(v) >= 6 && !dotted(v) && (f.in.mark != 0 || f.op == said || f.glued() || f.flag) {
		return strong
	}
	return weak
}

func credentials(x *scan, f *field) bool {
	return !strings.HasSuffix(f.value(x), "aws4_request") && x.secret(f, f.trust(weak))
}

// mnemonics judges the words that a wallet is restored from.
func mnemonics(x *scan, f *field) bool {
	v := f.value(x)
	return f.in.mark != 0 && len(strings.Fields(v)) >= 12 && words(v)
}

// auths judges _auth in an npmrc and auth in a Docker configuration, which are
// a user and a password in base64.
func auths(x *scan, f *field) bool {
	return f.whole() && x.secret(f, f.trust(weak)) && len(f.value(x)) >= 12
}

// chinese judges what follows the Chinese words, and those of other scripts
// that need no blanks: their sentences have no other text in ASCII with digits.
func chinese(x *scan, f *field) bool {
	v := f.value(x)
	if placeholder(v) || digest(v) || codec(v) || len(v) < 4 {
		return false
	}
	if f.op == gap {
		return len(v) >= 6 && numbers(v) > 0 && !digits(v)
	}
	return f.in.mark != 0 || strings.ContainsAny(v, "0123456789@#$%^&*")
}

func (f *field) value(x *scan) string { return x.text[f.start:f.end] }

func (f *field) keyword() string { return f.name[len(f.left) : len(f.name)-len(f.right)] }

// whole reports whether the keyword is a word of its own in the name.
func (f *field) whole() bool {
	k := f.keyword()
	before := f.left == "" || is(f.left, len(f.left)-1, ^letter) || is(k, 0, upper) && is(f.left, len(f.left)-1, lower)
	return before && (f.right == "" || is(f.right, 0, ^letter))
}

// qualified is strong if what is before the keyword is one of the words.
func (f *field) qualified(words ...string) trust {
	left := strings.TrimRight(f.left, "_-. ")
	for _, w := range words {
		if hasSuffixFold(left, w) {
			return strong
		}
	}
	return weak
}

// wordBefore returns the word that a blank parts from the name, for "API key".
func (x *scan) wordBefore(f *field) string {
	end := f.begin - 1
	if !is(x.text, end, blank) {
		return ""
	}
	return x.text[skipBack(x.text, end, max(x.from, end-16), letter):end]
}

// trust returns t, or less if other words in the name say that it is about the
// secret and not the secret.
func (f *field) trust(t trust) trust {
	for w := range parts(f.right) {
		switch {
		case in(aboutWords, w):
			return never
		case !in(restWords, w) && !digits(w):
			t = min(t, weak)
		}
	}
	if f.right != "" && is(f.right, 0, lower) && f.right != "s" && !in(restWords, f.right) {
		return never // another word: secretary, tokenizer, keyboard
	}
	if strings.EqualFold(f.right, "s") {
		t = min(t, weak)
	}
	for w := range parts(f.left) {
		if in(doubtWords, w) {
			t = min(t, weak)
		}
	}
	return t
}

// parts yields the words of a name in snake, kebab or camel case.
func parts(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(name); {
			start := skip(name, i, ^alnum)
			end := skip(name, start, upper|digit)
			end = skip(name, end, lower)
			if end > start && !yield(name[start:end]) {
				return
			}
			i = max(end, start+1)
		}
	}
}

var aboutWords = names(`file path dir name names id ids ref url uri endpoint type kind count counter limit budget
	length len size min max policy rule rules strength field input label placeholder hint help title message error err
	errors regex pattern format expires expiry expiration expire exp ttl age timeout reset change changed required
	enabled disabled valid invalid validator validation schema env var prompt store manager provider stdin arn version
	usage used index idx offset position map list set array stream source at by scope scopes algorithm alg method mode
	status state column table alias ring per sec second rate speed cost price header headers`)

var restWords = names(`prod production dev development test testing stage staging live local value val string str text
	plain raw base key old new current default main root admin user db data hash primary secondary v1 v2 confirmation
	confirm again b64 base64 hex`)

var doubtWords = names(`max min num n total count is has no forgot forgotten reset show hide toggle require requires
	invalid wrong missing bad next prev page continuation cursor eos bos pad unk sep cls mask public input output
	prompt completion cached pagination use with without enable allow`)

// secret judges the value of a field.
func (x *scan) secret(f *field, t trust) bool {
	if t == never {
		return false
	}
	v := f.value(x)
	switch f.op {
	case gap:
		return x.bySpace(f, v, t)
	case said:
		f.end -= len(v) - len(strings.TrimRight(v, ".,!?"))
		v = f.value(x)
		return (t == strong || len(v) >= 20) && random(v) && v[0] != '*' && !placeholder(v) && !label(v) && !codec(v)
	case tag:
		return !placeholder(v) && !strings.Contains(v, " ") && (t == strong || random(v))
	}
	if f.in.mark != 0 {
		return x.quotedSecret(f, v, t)
	}
	return x.bareSecret(f, v, t)
}

// bySpace judges a value that only blanks part from its name.
func (x *scan) bySpace(f *field, v string, t trust) bool {
	switch {
	case placeholder(v) || digest(v):
		return false
	case f.flag:
		return v[0] != '-' && !in(flagWords, v) && (t == strong || random(v) || len(v) >= 20)
	case f.in.mark == '\'' && t == strong: // PASSWORD '…' in SQL
		return f.ending == closed && !strings.Contains(v, " ")
	case f.in.mark != 0:
		return false
	case strings.EqualFold(f.name, "password") && x.netrc(f):
		return true
	}
	// A long random text right behind the word, but not the hash of a commit.
	commit := len(v) == 40 && skip(v, 0, hex) == 40
	return len(v) >= 32 && skip(v, 0, base64|minus|under) == len(v) && random(v) && !commit && !label(v)
}

// netrc reports whether the field stands behind a login, as in a .netrc file.
func (x *scan) netrc(f *field) bool {
	before := x.text[max(0, f.start-96):f.start]
	return strings.Contains(before, "login ") && strings.Contains(before, "machine ")
}

var flagWords = names(`flag flags option options argument arguments arg parameter parameters param value values is
	and or to for from in on the a an with of as if when where which that this must should can will not instead
	directly via using file prompt it so but are was`)

// quotedSecret judges a value in quotes.
func (x *scan) quotedSecret(f *field, v string, t trust) bool {
	sure := f.quote.mark != 0 || f.flag
	switch {
	case placeholder(v), f.prefixed && strings.Contains(v, "{"), label(v), strings.EqualFold(v, f.keyword()), strings.EqualFold(v, f.name):
		return false
	case !sure && strings.IndexByte(",:;)]}>+=|&? .", v[0]) >= 0:
		return false // the quote closed a string, it opened none
	case f.ending == unended:
		return random(v)
	case strings.ContainsAny(v, " \t"):
		return t == strong && (f.env || f.flag || phrase(f, v))
	}
	return t == strong || random(v) && !strings.Contains(v, "&") || len(v) >= 8 && strings.ContainsAny(v, "!@#$%^&*") && skip(v, 0, letter) > 0 && !identifier(v)
}

// phrase reports whether a text with blanks is a secret and no sentence about
// one: words where a pass phrase is asked for, else a word that looks random.
func phrase(f *field, v string) bool {
	list := strings.Fields(v)
	if strings.EqualFold(f.keyword(), "passphrase") {
		return len(list) >= 3 && words(v)
	}
	if f.quote.mark == 0 || len(list) > 4 {
		return false
	}
	for _, w := range list {
		if random(w) && !digest(w) {
			return true
		}
	}
	return false
}

// bareSecret judges a value without quotes.
func (x *scan) bareSecret(f *field, v string, t trust) bool {
	if k := f.keyword(); len(v) > len(k) && hasPrefixFold(v, k) && is(v, len(k), equal) {
		return false // the next field, which is looked at next
	}
	sure := f.env || f.flag || f.query
	if !sure {
		f.end -= len(v) - len(strings.TrimRight(v, ".:"))
		v = f.value(x)
	}
	if placeholder(v) || strings.EqualFold(v, f.keyword()) || path(v) || digest(v) || strings.HasPrefix(v, "-----") || !f.line && strings.ContainsAny(v, "([{") {
		return false
	}
	number := digits(v)
	switch {
	case t == strong && number:
		return sure || len(v) >= 4
	case number || !f.long && codeFollows(x.text, f.end) || t == weak && strings.Contains(v, "*"):
		return false
	case sure && t == strong:
		return !in(flagWords, v) || !f.flag
	case sure:
		return random(v) || len(v) >= 12 && !label(v)
	case random(v):
		return !label(v) && (t == strong || !dotted(v))
	}
	return t == strong && x.plain(f, v)
}

// plain judges a value that is made of words, or is one with a number or a mark:
// in settings it is a weak password, in code and prose it is not.
func (x *scan) plain(f *field, v string) bool {
	if len(v) < 4 || in(codeWords, v) || label(v) || dotted(v) || codec(v) || constant(v) {
		return false
	}
	number := numbers(v) > 0
	if number && len(v) >= 6 && !secretWords(v) {
		return is(v, 0, alnum)
	}
	// name=value with a blank behind it is one of a list of settings.
	end := skipAtMost(x.text, f.end, 2, dot)
	switch {
	case !x.lineEnds(end) && !(f.glued() && is(x.text, f.end, blank)):
		return false
	case !number && f.op == colon && !is(x.text, f.start-1, space|dot),
		!number && f.op == equals && !f.glued() && !x.lineStarts(f.begin):
		return false
	case strings.ContainsAny(v[1:len(v)-1], "!@#$%^&*~+"):
		return is(v, 0, alnum)
	case strings.HasSuffix(v, "!") || strings.HasSuffix(v, "=") && len(v) >= 8:
		return is(v, 0, alnum)
	}
	return skip(v, 0, lower|digit|minus) == len(v)
}

var codeWords = names(`value values input data text pass password pwd secret token key hash hashed user username name
	field result response request args params self this other new old current row form body config settings env
	await async return null compat files systemd function lambda validation required reset strength policy`)

// dotted reports whether v is a path of identifiers, such as req.body.password.
func dotted(v string) bool {
	i := strings.IndexByte(v, '.')
	return i > 0 && i < len(v)-1 && is(v, 0, letter|under) && skip(v, 0, word|dot) == len(v) && is(v, i+1, letter|under)
}

// codeFollows reports whether what ends at i is called or indexed.
func codeFollows(s string, i int) bool {
	return i < len(s) && (s[i] == '(' || s[i] == '[' || s[i] == '{')
}
