package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/redact"
)

const (
	digits  = "0123456789"
	hexes   = digits + "abcdef"
	lowers  = "abcdefghijklmnopqrstuvwxyz"
	uppers  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnums  = digits + lowers + uppers
	words   = alnums + "-_"
	base64s = alnums + "+/"
)

// fake makes n random characters of an alphabet, always the same ones for a
// seed, so that no file of ours has anything in it that looks like a key.
func fake(seed uint64, alphabet string, n int) string {
	r := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	if n >= 4 { // no real key lacks digits or letters
		b[1], b[3] = alphabet[r.IntN(10)], alphabet[r.IntN(10)]
		b[2] = alphabet[10+r.IntN(len(alphabet)-10)]
		b[0] = alphabet[10+r.IntN(6)]
	}
	return string(b)
}

// shape is a text with a secret in it.
type shape struct{ name, text, secret string }

// token is a shape that is nothing but the secret.
func token(name string, parts ...string) shape {
	s := strings.Join(parts, "")
	return shape{name, s, s}
}

// in is a shape with the secret in the middle of a format.
func in(name, format, secret string) shape {
	return shape{name, fmt.Sprintf(format, secret), secret}
}

func jwtOf(seed uint64) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc([]byte(`{"sub":"12345","name":"`+fake(seed, alnums, 12)+`"}`)) + "." + fake(seed+1, words, 43)
}

// tokens are secrets that show themselves by their form.
func tokens() []shape {
	uuid := fake(1, hexes, 8) + "-" + fake(2, hexes, 4) + "-" + fake(3, hexes, 4) + "-" + fake(4, hexes, 4) + "-" + fake(5, hexes, 12)
	return []shape{
		token("openai", "sk", "-", fake(10, alnums, 48)),
		token("openai short", "sk", "-", fake(10, alnums, 20)),
		token("openai made up", "sk", "-test-", fake(10, digits+digits, 10)),
		token("openai project", "sk", "-proj-", fake(11, words, 120)),
		token("openai service account", "sk", "-svcacct-", fake(11, words, 80)),
		token("anthropic", "sk", "-ant-api03-", fake(12, words, 93), "AA"),
		token("anthropic oauth", "sk", "-ant-oat01-", fake(12, words, 93), "AA"),
		token("openrouter", "sk", "-or-v1-", fake(13, hexes, 64)),
		token("langfuse", "sk", "-lf-", uuid),
		token("google api", "AI", "za", fake(14, words, 35)),
		token("google oauth", "ya", "29.", fake(15, words, 120)),
		token("google client secret", "GOC", "SPX-", fake(16, words, 28)),
		token("google refresh", "1/", "/0", fake(17, words, 60)),
		token("github personal", "gh", "p_", fake(18, alnums, 36)),
		token("github oauth", "gh", "o_", fake(19, alnums, 36)),
		token("github server", "gh", "s_", fake(20, alnums, 36)),
		token("github user", "gh", "u_", fake(21, alnums, 36)),
		token("github refresh", "gh", "r_", fake(22, alnums, 76)),
		token("github fine-grained", "github", "_pat_", fake(23, alnums, 22), "_", fake(24, alnums, 59)),
		token("gitlab", "gl", "pat-", fake(25, words, 20)),
		token("gitlab routable", "gl", "pat-", fake(25, words, 27), ".01.", fake(25, alnums, 9)),
		token("slack bot", "xo", "xb-", fake(26, digits+"0123456789", 12), "-", fake(27, digits+digits, 12), "-", fake(28, alnums, 24)),
		token("slack app", "xa", "pp-1-", fake(29, alnums, 11), "-", fake(30, digits+digits, 13), "-", fake(31, hexes, 64)),
		token("slack user", "xo", "xp-", fake(26, digits+digits, 12), "-", fake(28, hexes, 32)),
		token("slack session", "xo", "xs-", fake(26, digits+digits, 12), "-", fake(28, hexes, 64)),
		token("aws id", "AK", "IA", fake(32, "234567"+"2345"+uppers, 16)),
		token("aws session id", "AS", "IA", fake(33, "234567"+"2345"+uppers, 16)),
		token("jwt", jwtOf(34)),
		token("stripe live", "sk", "_live_", fake(35, alnums, 24)),
		token("stripe restricted", "rk", "_live_", fake(36, alnums, 24)),
		token("stripe webhook", "wh", "sec_", fake(37, alnums, 32)),
		token("twilio", "S", "K", fake(38, hexes, 32)),
		token("sendgrid", "S", "G.", fake(39, words, 22), ".", fake(40, words, 43)),
		token("npm", "np", "m_", fake(41, alnums, 36)),
		token("pypi", "py", "pi-AgEIcHlwaS5vcmc", fake(42, words, 120)),
		token("docker", "dckr", "_pat_", fake(43, words, 27)),
		token("hugging face", "h", "f_", fake(44, alnums, 34)),
		token("telegram", "1", fake(45, digits+digits, 9), ":A", "A", fake(46, words, 33)),
		token("discord", base64.RawStdEncoding.EncodeToString([]byte("1"+fake(47, digits+digits, 17))), ".", fake(48, words, 6), ".", fake(49, words, 38)),
		token("databricks", "da", "pi", fake(50, hexes, 32)),
		token("digitalocean", "do", "p_v1_", fake(51, hexes, 64)),
		token("heroku", "HR", "KU-", uuid),
		token("shopify", "shp", "at_", fake(52, hexes, 32)),
		token("square", "sq0", "atp-", fake(53, words, 22)),
		token("square token", "EA", "AA", fake(53, words, 59)+"a"),
		token("mailgun", "ke", "y-", fake(54, hexes, 32)),
		token("mailchimp", fake(54, hexes, 32), "-u", "s12"),
		token("linear", "lin", "_api_", fake(55, alnums, 40)),
		token("notion", "nt", "n_", fake(56, alnums, 46)),
		token("notion old", "sec", "ret_", fake(57, alnums, 43)),
		token("atlassian", "ATA", "TT3xFfGF0", fake(58, words, 170), "=", fake(59, hexes, 8)),
		token("bitbucket", "AT", "BB", fake(59, alnums, 32)),
		token("vault", "hv", "s.", fake(60, words, 92)),
		token("terraform cloud", fake(61, alnums, 14), ".atl", "asv1.", fake(62, words, 67)),
		token("grafana cloud", "gl", "c_", base64.StdEncoding.EncodeToString([]byte(`{"o":"1","k":"`+fake(63, alnums, 40)+`"}`))),
		token("grafana service account", "gl", "sa_", fake(64, alnums, 32), "_", fake(65, hexes, 8)),
		token("new relic", "NR", "AK-", fake(66, digits+uppers, 27)),
		token("sentry", "snt", "rys_", fake(67, base64s, 80), "_", fake(68, base64s, 43)),
		token("supabase", "sb", "p_", fake(69, hexes, 40)),
		token("supabase secret", "sb_", "secret_", fake(69, words, 31)),
		token("vercel", "vc", "p_", fake(70, alnums, 56)),
		token("cloudflare", "cf", "ut_", fake(71, alnums, 48)),
		token("cloudflare origin ca", "v1", ".0-", fake(72, hexes, 24), "-", fake(73, hexes, 146)),
		token("age", "AGE-SEC", "RET-KEY-1", fake(74, digits+uppers, 58)),
		token("azure client secret", fake(75, alnums, 3), "8Q", "~", fake(76, words, 34)),
		token("alibaba", "LT", "AI", fake(77, alnums, 20)),
		token("groq", "gs", "k_", fake(78, alnums, 52)),
		token("replicate", "r", "8_", fake(79, alnums, 37)),
		token("perplexity", "pp", "lx-", fake(80, alnums, 48)),
		token("postman", "PM", "AK-", fake(81, hexes, 24), "-", fake(82, hexes, 34)),
		token("pulumi", "pu", "l-", fake(83, hexes, 40)),
		token("planetscale", "psc", "ale_tkn_", fake(84, words, 43)),
		token("doppler", "dp", ".pt.", fake(85, alnums, 43)),
		token("tailscale", "ts", "key-auth-", fake(86, alnums, 17), "-", fake(87, alnums, 32)),
		token("figma", "fi", "gd_", fake(88, words, 40)),
		token("rubygems", "ruby", "gems_", fake(89, hexes, 48)),
		token("resend", "r", "e_", fake(90, alnums, 8), "_", fake(91, alnums, 24)),
		token("hubspot", "pat-", "na1-", uuid),
		token("launchdarkly", "sd", "k-", uuid),
		token("jfrog", "AK", "Cp", fake(92, alnums, 69)),
		token("circleci", "CCI", "PAT_", fake(93, alnums, 22), "_", fake(94, hexes, 40)),
	}
}

// named are secrets that a name or a place gives away.
func named() []shape {
	short := "Tr0ub" + "4dor&3"
	long := fake(100, alnums, 40)
	secret40 := fake(101, base64s, 40)
	azure := fake(102, base64s, 86) + "=="
	basic := base64.StdEncoding.EncodeToString([]byte("admin:" + short))
	id := "AK" + "IA" + fake(103, "234567"+"2345"+uppers, 16)
	return []shape{
		in("env", "DB_PASSWORD=%s", "hunter2"),
		in("env words", "POSTGRES_PASSWORD=%s", "correcthorse"),
		in("env line with marks", "export ADMIN_PASS=%s", "p@ss,w;rd|x9"),
		in("env token", "GITHUB_TOKEN=%s", long),
		in("env secret", "JWT_SECRET=%s", "s3cr3t-value"),
		in("env key", "OPENAI_API_KEY=%s", long),
		in("env other key", "WEATHER_KEY=%s", long),
		in("assignment", "password=%s", short),
		in("assignment with blanks", "password = %s", "letmein1"),
		in("yaml", "password: %s", "hunter22"),
		in("yaml quoted", "  db_password: \"%s\"", short),
		in("yaml single", "  passwd: '%s'", short),
		in("yaml block", "password: |\n    %s\n", short),
		in("yaml key", "api_key: %s", long),
		in("toml", "api_key = \"%s\"", long),
		in("toml secret", "secret = \"%s\"", long),
		in("json", `{"user":"ana","password":"%s"}`, short),
		in("json one letter", `{"password":"%s"}`, "Q9"),
		in("json number", `{"user":"ana","password": %s}`, "83927461"),
		in("json token", `{"access_token":"%s","expires_in":3600}`, long),
		in("json secret", `{"client_secret":"%s"}`, "abcd-efgh-1234"),
		in("json camel", `{"apiKey":"%s"}`, long),
		in("json escaped", `{"cmd":"echo {\"password\":\"%s\"}"}`, "Tr0ub4dor"),
		in("json escaped twice", `{"a":"{\"b\":\"{\\\"password\\\":\\\"%s\\\"}\"}"}`, "Tr0ub4dor"),
		in("python dict", `{'user': 'ana', 'password': '%s'}`, short),
		in("python constant", `SECRET_KEY = '%s'`, "django-insecure-"+fake(104, alnums+"!@^*", 50)),
		in("go", `password := "%s"`, short),
		in("typed", `const password: string = "%s";`, short),
		in("subscript", `os.environ["DB_PASSWORD"] = "%s"`, short),
		in("php", `'password' => '%s',`, short),
		in("xml", "<password>%s</password>", short),
		in("properties", "spring.datasource.password=%s", short),
		in("call", "login(user='ana', password=%s)", "hunter2"),
		in("list", "{user: ana, password: %s, port: 1}", "hunter2"),
		in("env with blanks", "DB_PASSWORD=\"%s\"", "my s3cret pass"),
		in("kubernetes", "data:\n  password: %s\n", base64.StdEncoding.EncodeToString([]byte("opensesame"))),
		in("helm", "helm upgrade x --set db.auth.password=%s", "hunter2"),
		in("form", "grant_type=password&username=ana&password=%s&client_id=x", "hunter2"),
		in("sentence", "Password: %s.", "hunter2"),
		in("powershell", "$env:API_KEY = \"%s\"", long),
		in("dockerfile", "ENV MYSQL_ROOT_PASSWORD=%s", "toor"),
		in("flag", "mytool --password %s --verbose", short),
		in("flag in a line of its own", "mytool \\\n--password %s \\\n--verbose", short),
		in("flag equals", "mytool --api-key=%s", long),
		in("flag token", "mytool --token %s", long),
		in("flag in json", `{"command":["mytool","--password","%s"]}`, short),
		in("query", "https://example.com/x?user=ana&password=%s&y=1", "hunter2"),
		in("query token", "GET /cb?access_token=%s HTTP/1.1", long),
		in("userinfo", "https://ana:%s@example.com/x", "hunter2"),
		in("userinfo token", "git clone https://%s@example.com/x.git", long),
		in("postgres", "postgres://app:%s@db.example.com:5432/app", "s3cr3tP"),
		in("postgres with at", "postgres://app:%s@db.example.com:5432/app", "s3cr3tP@ss"),
		in("postgres with slash", "postgres://app:%s@db.example.com:5432/app", "s3cr3t/P4ss9"),
		in("raw authorization", "Authorization: %s", "Key"+fake(99, alnums, 30)),
		in("mysql", "mysql://root:%s@localhost/app", "toor"),
		in("mongodb", "mongodb+srv://app:%s@c0.example.net/?retryWrites=true", "pa55"),
		in("redis", "redis://:%s@localhost:6379/0", "foobared"),
		in("amqp", "amqp://guest:%s@mq:5672/", "guest1"),
		in("libpq", "host=db user=app password=%s dbname=app", "hunter2"),
		in("ado", "Server=db;User Id=sa;Password=%s;Encrypt=true", "hunter2"),
		in("bearer", "Authorization: Bearer %s", long),
		in("bearer in json", `{"headers":{"Authorization":"Bearer %s"}}`, long),
		in("bearer in curl", `curl -H "Authorization: Bearer %s" https://example.com`, long),
		in("bearer alone", "got header bearer %s from client", long),
		in("basic", "Authorization: Basic %s", basic),
		in("token scheme", "Authorization: token %s", long),
		in("header key", "X-Api-Key: %s", long),
		in("private token", "PRIVATE-TOKEN: %s", long),
		in("cookie", "Cookie: theme=dark; sessionid=%s; lang=en", fake(105, alnums, 32)),
		in("set-cookie", "Set-Cookie: sid=%s; Path=/; HttpOnly", fake(106, alnums, 24)),
		in("cookie in json", `{"Cookie":"connect.sid=s%%3A%s"}`, fake(107, alnums, 32)),
		in("curl user", "curl -s -u ana:%s https://example.com", "hunter2"),
		in("curl user in json", `{"cmd":["curl","-u","ana:%s","https://example.com"]}`, "hunter2"),
		in("sshpass", "sshpass -p %s ssh ana@example.com", "hunter2"),
		in("mysql flag", "mysql -u root -p%s app", "hunter2"),
		in("redis-cli", "redis-cli -h cache -a %s ping", "hunter2"),
		in("docker login", "docker login -u ana -p %s registry.example.com", "hunter2"),
		in("openssl", "openssl rsa -in k.pem -passin pass:%s", "hunter2"),
		in("netrc", "machine example.com login ana password %s", "hunter2"),
		in("sql", "CREATE USER app WITH PASSWORD '%s';", short),
		in("mysql sql", "CREATE USER 'app'@'%%' IDENTIFIED BY '%s';", short),
		in("slack webhook", "https://hooks.slack.com/services/%s", "T"+fake(108, digits+uppers, 8)+"/B"+fake(109, digits+uppers, 8)+"/"+fake(110, alnums, 24)),
		in("discord webhook", "https://discord.com/api/webhooks/%s", "1"+fake(111, digits+digits, 17)+"/"+fake(112, words, 68)),
		in("aws secret", "aws_secret_access_key = %s", secret40),
		in("aws pair", id[:4]+id[4:]+",%s", secret40),
		in("aws json", `{"SecretAccessKey":"%s"}`, secret40),
		in("azure storage", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=%s;EndpointSuffix=core.windows.net", azure),
		in("azure bus", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=%s", fake(113, base64s, 43)+"="),
		in("azure sas", "https://x.blob.core.windows.net/c?sv=2024-11-04&sig=%s&se=2030", strings.ReplaceAll(fake(114, base64s, 43), "/", "%2F")+"%3D"),
		in("wireguard", "[Interface]\nPrivateKey = %s\n", fake(115, base64s, 43)+"="),
		in("npmrc", "//registry.npmjs.org/:_authToken=%s", long),
		in("docker config", `{"auths":{"https://index.docker.io/v1/":{"auth":"%s"}}}`, basic),
		in("heroku", "HEROKU_API_KEY=%s", fake(116, hexes, 8)+"-"+fake(117, hexes, 4)+"-"+fake(118, hexes, 4)+"-"+fake(119, hexes, 4)+"-"+fake(120, hexes, 12)),
		in("cloudflare env", "CLOUDFLARE_API_TOKEN=%s", fake(121, words, 40)),
		in("said", "by the way, the password is %s, do not lose it", "hunter2x9"),
		in("said with a colon", "the password is: %s", "hunter2x9"),
		in("said in quotes", "the password is `%s`", "hunter2x9"),
		in("said key", "the API key is %s", long),
		in("api key with a blank", "API key: %s", long),
		in("markdown", "**Password:** %s", short),
		in("beside the word", "use the token %s for it", fake(122, alnums, 40)),
		in("chinese", "数据库密码是 %s，请保密", "abc123456"),
		in("chinese verb and colon", "密码为：%s", "hunter2"),
		in("chinese gap", "密码 %s 已过期", "hunter2"),
		in("chinese colon", "密码：%s", "hunter2"),
		in("chinese key", "密钥: %s", long),
		in("chinese passphrase", "口令=%s", "Kaimen88"),
		in("passphrase", `{"passphrase":"%s"}`, "correct horse battery staple"),
		in("kubeconfig", "    client-key-data: %s", base64.StdEncoding.EncodeToString([]byte("-----BEGIN RSA PRI"+"VATE KEY-----\nMIIEpAIBAAKCAQEA"+fake(123, base64s, 400)))),
	}
}

// keys are armoured private keys. The secret is the first full line of the key.
func keys() []shape {
	var list []shape
	for i, kind := range []string{"", "RSA ", "EC ", "DSA ", "ENCRYPTED ", "OPENSSH "} {
		list = append(list, pem(kind+"PRIVATE", uint64(200+10*i)))
	}
	list = append(list, pem("PGP PRIVATE", 300))
	body := fake(310, base64s, 64)
	list = append(list,
		shape{"unfinished", "-----BEGIN RSA PRI" + "VATE KEY-----\n" + body + "\n" + fake(311, base64s, 64), body},
		shape{"tail", body + "\n" + fake(312, base64s, 30) + "==\n-----END RSA PRI" + "VATE KEY-----", body},
		shape{"with headers", "-----BEGIN RSA PRI" + "VATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + body + "\n-----END RSA PRI" + "VATE KEY-----", body},
		shape{"listing", "     1→-----BEGIN PRI" + "VATE KEY-----\n     2→" + body + "\n     3→" + fake(313, base64s, 64) + "\n     4→-----END PRI" + "VATE KEY-----\n", body},
		shape{"diff", "+-----BEGIN PRI" + "VATE KEY-----\n+" + body + "\n+-----END PRI" + "VATE KEY-----\n", body},
		shape{"quoted lines", `key = "-----BEGIN PRI` + `VATE KEY-----\n" + "` + body + `\n" + "-----END PRI` + `VATE KEY-----"`, body},
		shape{"putty", "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\n" + body + "\nPrivate-MAC: 00", body},
	)
	return list
}

func pem(kind string, seed uint64) shape {
	armour := kind + " KEY-----\n"
	if strings.HasPrefix(kind, "PGP") {
		armour = kind + " KEY BLOCK-----\n"
	}
	first := fake(seed, base64s, 64)
	text := "-----BEGIN " + armour + "\n" + first + "\n" + fake(seed+1, base64s, 64) + "\n" + fake(seed+2, base64s, 22) + "==\n-----END " + armour
	return shape{strings.ToLower(kind) + " key", text, first}
}

func shapes() []shape { return append(append(tokens(), named()...), keys()...) }

// places are where a secret may stand. Each leaves its line alone, so that all
// shapes work in all of them.
var places = map[string]func(s string) string{
	"alone":           func(s string) string { return s },
	"at the end":      func(s string) string { return "I tried it and got this:\n" + s },
	"at the start":    func(s string) string { return s + "\nand that is all." },
	"fenced":          func(s string) string { return "Look:\n```\n" + s + "\n```\nDone." },
	"indented":        func(s string) string { return "list:\n    " + s + "\n" },
	"windows lines":   func(s string) string { return "a\r\n" + s + "\r\nb" },
	"between chinese": func(s string) string { return "请看\n" + s + "\n谢谢" },
	"coloured":        func(s string) string { return "\x1b[31m" + s + "\x1b[0m" },
	"json":            func(s string) string { return jsonOf(map[string]any{"a": 1, "text": s, "z": []string{"b"}}) },
	"json in json":    func(s string) string { return jsonOf(map[string]string{"input": jsonOf(map[string]string{"text": s})}) },
	"json line":       func(s string) string { return "x\n" + jsonOf([]string{"a", s, "b"}) + "\ny" },
	"json thrice":     func(s string) string { return jsonOf([]string{jsonOf([]string{jsonOf([]string{s})})}) },
	"json escaped":    func(s string) string { return escapeMarks(jsonOf([]string{s})) },
	"json slashes":    func(s string) string { return strings.ReplaceAll(jsonOf([]string{s}), "/", `\/`) },
}

func jsonOf(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// escapeMarks writes as \u00XX what some encoders do.
func escapeMarks(s string) string {
	return strings.NewReplacer("-", `\u002d`, "_", `\u005f`, "=", `\u003d`, "&", `\u0026`, "<", `\u003c`, ">", `\u003e`, "'", `\u0027`, "+", `\u002b`).Replace(s)
}

func TestTextRemovesEverySecret(t *testing.T) {
	list := shapes()
	if len(list) < 60 {
		t.Fatalf("%d shapes, want 60 or more", len(list))
	}
	for _, s := range list {
		if !strings.Contains(s.text, s.secret) {
			t.Fatalf("%s: the shape does not have its secret", s.name)
		}
		for place, put := range places {
			t.Run(s.name+"/"+place, func(t *testing.T) { checkClean(t, put(s.text), s.secret) })
		}
	}
}

// checkClean redacts text and fails if any part of secret can still be read, in
// the text or in what JSON says it means.
func checkClean(t *testing.T, text, secret string) {
	t.Helper()
	clean, found := redact.Text(text)
	if found == 0 {
		t.Fatalf("nothing found in %q", text)
	}
	if part := leaked(clean, secret); part != "" {
		t.Errorf("%q survives in %q", part, clean)
	}
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		if err := json.Unmarshal([]byte(clean), &v); err != nil {
			t.Errorf("no longer JSON: %v: %s", err, clean)
		}
		if part := leaked(fmt.Sprint(v), secret); part != "" {
			t.Errorf("%q survives in the meaning of %s", part, clean)
		}
	}
	if again, n := redact.Text(clean); again != clean || n != 0 {
		t.Errorf("redacting %q again finds %d more and gives %q", clean, n, again)
	}
}

var mark = regexp.MustCompile(`\[REDACTED:[a-z0-9-]+\]`)

// leaked returns a part of secret, of eight bytes or all of it, that is in text.
func leaked(text, secret string) string {
	text = mark.ReplaceAllString(text, "")
	n := min(8, len(secret))
	for i := range len(secret) - n + 1 {
		if strings.Contains(text, secret[i:i+n]) {
			return secret[i : i+n]
		}
	}
	return ""
}

// unbroken are tokens that cannot be told from other text when a line end is in
// them: what is before it, or behind it, is too short or nothing but a word.
var unbroken = map[string]bool{
	"openai short": true, "openai made up": true, "langfuse": true, "alibaba": true, "new relic": true, "mailchimp": true,
	"launchdarkly": true, "square token": true,
}

// Tokens are broken where a terminal or a mail program breaks lines.
func TestTextRemovesBrokenTokens(t *testing.T) {
	breaks := map[string]string{
		"line": "\n", "windows": "\r\n", "indented": "\n    ", "quoted": "\n> ", "json": `\n`, "json in json": `\\n`,
		"json windows": `\r\n`, "json tab": `\n\t`, "shell": "\\\n", "shell in json": `\\\n`,
	}
	for _, s := range tokens() {
		for name, br := range breaks {
			t.Run(s.name+"/"+name, func(t *testing.T) {
				if unbroken[s.name] {
					t.Skip("this token has no form that a line end leaves")
				}
				half := len(s.secret) * 3 / 5
				clean, _ := redact.Text("see " + s.secret[:half] + br + s.secret[half:])
				for _, part := range []string{leaked(clean, s.secret[:half]), leaked(clean, s.secret[half:])} {
					if part != "" {
						t.Errorf("%q survives in %q", part, clean)
					}
				}
			})
		}
	}
}

// Settings are broken between a name and its value.
func TestTextRemovesValuesInTheNextLine(t *testing.T) {
	for _, format := range []string{
		"{\n  \"password\":\n    \"%s\"\n}", `{\"password\":\n\t\"%s\"}`, "password =\n    '%s'", "password: >-\n    %s\n",
		"api_key: |\r\n  %s\r\n", "Authorization:\n  Bearer %s", "mytool --password \\\n  %s", `["--token",` + "\n" + `"%s"]`,
	} {
		t.Run(format, func(t *testing.T) {
			secret := fake(600, alnums, 24)
			checkClean(t, fmt.Sprintf(format, secret), secret)
		})
	}
}
