package redact

// rules are what we look for, the more particular rule before the more general
// one. The forms are those that the issuers document.
var rules = []rule{
	{id: "escape", keywords: []string{`\/`, `\u00`}, match: escapes},

	// Models.
	{id: "anthropic-key", keywords: []string{"sk-ant-"}, match: atLeast(word, 12)},
	{id: "openrouter-key", keywords: []string{"sk-or-"}, match: atLeast(word, 16)},
	{id: "openai-key", keywords: []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"}, match: atLeast(word, 12)},
	{id: "openai-key", keywords: []string{"sk-"}, alone: true, match: openAI},
	{id: "huggingface-token", keywords: []string{"hf_", "api_org_"}, alone: true, match: mixed(30, fixed(alnum, 34))},
	{id: "groq-key", keywords: []string{"gsk_"}, alone: true, match: fixed(alnum, 52)},
	{id: "perplexity-key", keywords: []string{"pplx-"}, match: fixed(alnum, 48)},
	{id: "xai-key", keywords: []string{"xai-"}, alone: true, match: fixed(alnum, 80)},
	{id: "replicate-token", keywords: []string{"r8_"}, alone: true, match: fixed(alnum, 37)},
	{id: "nvidia-key", keywords: []string{"nvapi-"}, match: atLeast(word, 32)},
	{id: "langsmith-key", keywords: []string{"lsv2_pt_", "lsv2_sk_"}, match: atLeast(word, 32)},
	{id: "tavily-key", keywords: []string{"tvly-"}, match: atLeast(word, 24)},
	{id: "firecrawl-key", keywords: []string{"fc-"}, alone: true, match: mixed(32, fixed(hex, 32))},
	{id: "elevenlabs-key", keywords: []string{"sk_"}, alone: true, match: mixed(40, atLeast(hex, 40))},

	// Clouds.
	{id: "aws-key", keywords: []string{"AKIA", "ASIA"}, match: amazon},
	{id: "aws-bedrock-key", keywords: []string{"ABSK"}, alone: true, match: atLeast(base64, 64)},
	{id: "google-key", keywords: []string{"AIza"}, match: fixed(word, 35)},
	{id: "google-oauth", keywords: []string{"ya29."}, match: atLeast(word|dot, 16)},
	{id: "google-oauth", keywords: []string{"GOCSPX-"}, match: fixed(word, 28)},
	{id: "google-oauth", keywords: []string{"1//0"}, alone: true, match: atLeast(word, 32)},
	{id: "azure-secret", keywords: eachEnd("0123456789", "Q~"), match: before(alnum|minus|under|dot|tilde, 3, 3, word|dot|tilde, 31)},
	{id: "azure-sas", keywords: []string{"sig="}, match: after(quoted, 32)},
	{id: "aws-signature", keywords: []string{"X-Amz-Signature=", "X-Goog-Signature="}, match: after(hex, 32)},
	{id: "alibaba-key", keywords: []string{"LTAI"}, alone: true, match: mixed(16, fixed(alnum, 20))},
	{id: "tencent-key", keywords: []string{"AKID"}, match: exactly(alnum, 36)},
	{id: "digitalocean-token", keywords: []string{"dop_v1_", "doo_v1_", "dor_v1_"}, match: fixed(hex, 64)},
	{id: "heroku-key", keywords: []string{"HRKU-"}, match: atLeast(word, 32)},
	{id: "cloudflare-token", keywords: []string{"cfk_", "cfut_", "cfat_"}, match: fixed(alnum, 40)},
	{id: "cloudflare-ca-key", keywords: []string{"v1.0-"}, alone: true, match: atLeast(hex|minus, 100)},
	{id: "flyio-token", keywords: []string{"fo1_", "fm1r_", "fm2_"}, alone: true, match: atLeast(word|base64, 40)},
	{id: "databricks-token", keywords: []string{"dapi"}, match: fixed(hex|minus, 32)},
	{id: "planetscale-secret", keywords: []string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, match: atLeast(word|dot, 32)},
	{id: "supabase-token", keywords: []string{"sbp_"}, match: fixed(hex, 40)},
	{id: "supabase-token", keywords: []string{"sb_secret_"}, match: atLeast(word, 20)},
	{id: "vercel-token", keywords: []string{"vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_"}, alone: true, match: fixed(word, 48)},
	{id: "netlify-token", keywords: []string{"nfp_"}, alone: true, match: fixed(alnum, 36)},
	{id: "render-key", keywords: []string{"rnd_"}, alone: true, match: mixed(32, fixed(alnum, 32))},
	{id: "tailscale-key", keywords: []string{"tskey-"}, match: atLeast(word, 20)},

	// Code and packages.
	{id: "github-token", keywords: []string{"ghp_", "gho_", "ghu_", "ghr_"}, match: fixed(alnum, 36)},
	{id: "github-token", keywords: []string{"ghs_"}, match: fixed(word|dot, 36)},
	{id: "github-token", keywords: []string{"github_pat_"}, match: fixed(word, 82)},
	{id: "gitlab-token", keywords: []string{
		"glpat-", "gldt-", "glptt-", "glrt-", "glcbt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-", "glffct-",
	}, match: fixed(word|dot, 20)},
	{id: "bitbucket-token", keywords: []string{"ATBB"}, alone: true, match: fixed(alnum, 32)},
	{id: "atlassian-token", keywords: []string{"ATATT3", "ATCTT3"}, alone: true, match: atLeast(word|equal, 32)},
	{id: "npm-token", keywords: []string{"npm_"}, match: mixed(36, fixed(alnum, 36))},
	{id: "pypi-token", keywords: []string{"pypi-"}, alone: true, match: mixed(40, atLeast(word, 40))},
	{id: "rubygems-key", keywords: []string{"rubygems_"}, match: fixed(hex, 48)},
	{id: "crates-token", keywords: []string{"cio"}, alone: true, match: exactly(alnum, 35)},
	{id: "nuget-key", keywords: []string{"oy2"}, alone: true, match: exactly(lower|digit, 46)},
	{id: "docker-token", keywords: []string{"dckr_pat_", "dckr_oat_"}, match: fixed(word, 27)},
	{id: "jfrog-key", keywords: []string{"AKCp"}, alone: true, match: atLeast(alnum, 60)},
	{id: "jfrog-key", keywords: []string{"cmVmdGtu"}, alone: true, match: fixed(alnum, 56)},
	{id: "circleci-token", keywords: []string{"CCIPAT_", "CCIPRJ_"}, match: atLeast(word, 40)},
	{id: "buildkite-token", keywords: []string{"bkua_"}, match: fixed(hex, 40)},
	{id: "sonarqube-token", keywords: []string{"sqp_", "squ_", "sqa_"}, match: fixed(hex, 40)},
	{id: "terraform-token", keywords: []string{".atlasv1."}, match: before(alnum, 14, 14, word|equal, 60)},
	{id: "pulumi-token", keywords: []string{"pul-"}, alone: true, match: fixed(hex, 40)},
	{id: "vault-token", keywords: []string{"hvs.", "hvb.", "hvr."}, match: fixed(word, 24)},
	{id: "doppler-token", keywords: []string{"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."}, match: atLeast(word|dot, 32)},
	{id: "postman-key", keywords: []string{"PMAK-"}, match: fixed(hex|minus, 59)},
	{id: "launchdarkly-key", keywords: []string{"sdk-", "mob-"}, alone: true, match: mixed(36, exactly(hex|minus|letter, 40))},

	// Payment and shops.
	{id: "stripe-key", keywords: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"}, match: atLeast(alnum|plus|under, 10)},
	{id: "square-token", keywords: []string{"sq0atp-", "sq0csp-"}, match: fixed(word, 22)},
	{id: "square-token", keywords: []string{"EAAA"}, match: exactly(word, 64)},
	{id: "shopify-token", keywords: []string{"shpat_", "shpca_", "shppa_", "shpss_"}, match: fixed(hex, 32)},
	{id: "plaid-token", keywords: []string{"access-production-", "access-sandbox-", "access-development-"}, match: fixed(hex|minus, 36)},
	{id: "flutterwave-key", keywords: []string{"FLWSECK-", "FLWSECK_TEST-"}, match: atLeast(word, 12)},
	{id: "duffel-token", keywords: []string{"duffel_live_", "duffel_test_"}, match: atLeast(word, 40)},

	// Messages and mail.
	{
		id: "slack-token", keywords: []string{"xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xapp-", "xwfp-"},
		match: atLeast(word|dot|percent, 10),
	},
	{
		id: "slack-webhook", keywords: []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"},
		match: after(word|plus, 16),
	},
	{id: "discord-webhook", keywords: []string{"/api/webhooks/"}, match: after(word|plus, 32)},
	{id: "discord-token", keywords: snowflakes(), match: discord},
	{id: "telegram-token", keywords: []string{":AA"}, match: telegram},
	{id: "webhook", keywords: []string{
		"webhook.office.com/webhookb2/", "open-apis/bot/v2/hook/", "cgi-bin/webhook/send?key=", "hooks.zapier.com/hooks/catch/",
		"/with/key/",
	}, match: after(word|plus|dot, 12)},
	{id: "twilio-key", keywords: each("SK", "0123456789abcdef"), alone: true, match: fixed(hex, 31)},
	{id: "sendgrid-key", keywords: []string{"SG."}, alone: true, match: atLeast(word|dot, 40)},
	{id: "mailgun-key", keywords: []string{"key-"}, match: mixed(32, fixed(hex, 32))},
	{id: "mailchimp-key", keywords: each("-us", "123456789"), match: before(hex, 32, 32, digit, 0)},
	{id: "brevo-key", keywords: []string{"xkeysib-", "xsmtpsib-"}, match: atLeast(word, 32)},
	{id: "resend-key", keywords: []string{"re_"}, alone: true, match: mixed(24, atLeast(word, 24))},
	{id: "firebase-key", keywords: []string{":APA91b"}, match: before(word, 8, 32, word, 100)},

	// Services.
	{id: "hubspot-token", keywords: []string{"pat-na1-", "pat-na2-", "pat-eu1-"}, match: fixed(hex|minus, 36)},
	{id: "linear-key", keywords: []string{"lin_api_", "lin_oauth_"}, match: fixed(alnum, 40)},
	{id: "notion-token", keywords: []string{"ntn_"}, alone: true, match: mixed(32, fixed(alnum, 46))},
	{id: "notion-token", keywords: []string{"secret_"}, alone: true, match: mixed(43, fixed(alnum, 43))},
	{id: "figma-token", keywords: []string{"figd_"}, match: fixed(word, 40)},
	{id: "grafana-token", keywords: []string{"glc_"}, alone: true, match: atLeast(base64, 32)},
	{id: "grafana-token", keywords: []string{"glsa_"}, match: atLeast(alnum|under, 32)},
	{id: "grafana-token", keywords: []string{"eyJrIjoi"}, match: atLeast(base64, 40)},
	{id: "newrelic-key", keywords: []string{"NRAK-", "NRAA-", "NRII-", "NRSP-"}, match: fixed(alnum, 27)},
	{id: "sentry-token", keywords: []string{"sntrys_", "sntryu_"}, match: atLeast(word|base64, 32)},
	{id: "dynatrace-token", keywords: []string{"dt0c01."}, match: atLeast(alnum|dot, 60)},
	{id: "contentful-token", keywords: []string{"CFPAT-"}, match: fixed(word, 43)},
	{id: "typeform-token", keywords: []string{"tfp_"}, alone: true, match: fixed(word|dot, 59)},
	{id: "readme-key", keywords: []string{"rdme_"}, match: fixed(alnum, 70)},
	{id: "prefect-key", keywords: []string{"pnu_"}, alone: true, match: fixed(alnum, 36)},
	{id: "clojars-token", keywords: []string{"CLOJARS_"}, match: fixed(hex, 60)},
	{id: "dropbox-token", keywords: []string{"sl.B", "sl.u"}, alone: true, match: atLeast(word, 100)},

	// Keys.
	{id: "private-key", keywords: []string{"PRIVATE KEY"}, match: privateKey},
	{id: "private-key", keywords: []string{"LS0tLS1CRUdJTi"}, match: encodedPEM},
	{id: "private-key", keywords: []string{"b3BlbnNzaC1rZXktdjE"}, match: atLeast(base64, 40)},
	{id: "private-key", keywords: []string{"BADANBgkqhkiG9w0BAQEFAASC"}, match: before(base64, 6, 12, base64, 40)},
	{id: "private-key", keywords: []string{"Private-Lines: "}, match: putty},
	{id: "age-key", keywords: []string{"AGE-SECRET-KEY-1"}, match: fixed(upper|digit, 58)},
	{id: "extended-key", keywords: []string{"xprv"}, alone: true, match: fixed(alnum, 107)},
	{id: "jwt", keywords: []string{"eyJ"}, match: jwt},

	// What a name or a place gives away.
	{id: "authorization", keywords: []string{"authorization"}, fold: true, match: authorization},
	{id: "authorization", keywords: []string{"bearer "}, fold: true, match: bearer},
	{id: "authorization", keywords: []string{"basic "}, fold: true, match: basic},
	{id: "cookie", keywords: []string{"cookie"}, fold: true, match: cookie},
	{id: "url-password", keywords: []string{"://"}, match: userinfo},
	{id: "password", keywords: []string{"password", "passwd", "passphrase", "passcode", "passwort"}, fold: true, match: assigned(passwords)},
	{id: "passphrase", keywords: []string{"mnemonic", "seed phrase", "recovery phrase"}, fold: true, match: assigned(mnemonics)},
	{id: "password", keywords: []string{"pass", "pwd"}, fold: true, match: assigned(abbreviations)},
	{id: "password", keywords: []string{"密码", "口令", "密碼", "パスワード", "비밀번호", "пароль"}, match: assigned(chinese)},
	{id: "password", keywords: []string{"identified by"}, fold: true, match: assigned(passwords)},
	{id: "secret", keywords: []string{"密钥", "私钥", "令牌", "密鑰", "凭证"}, match: assigned(chinese)},
	{id: "secret", keywords: []string{"secret"}, fold: true, match: assigned(secrets)},
	{id: "token", keywords: []string{"token"}, fold: true, match: assigned(tokens)},
	{id: "api-key", keywords: []string{"key"}, fold: true, match: assigned(keys)},
	{id: "credential", keywords: []string{"credential", "creds"}, fold: true, match: assigned(credentials)},
	{id: "credential", keywords: []string{"auth"}, fold: true, match: assigned(auths)},

	// Arguments of commands.
	{id: "password", keywords: []string{"curl"}, match: command("-u:", "--user:", "-U:", "--proxy-user:", "-b;", "--cookie;")},
	{id: "password", keywords: []string{"sshpass"}, match: command("-p ", "-p=")},
	{id: "password", keywords: []string{"mysql", "mariadb"}, match: command("-p=")},
	{id: "password", keywords: []string{"mongosh", "mongodump", "mongorestore", "docker login", "podman login"}, match: command("-p ")},
	{id: "password", keywords: []string{"redis-cli"}, match: command("-a ")},
	{id: "password", keywords: []string{"-passin pass:", "-passout pass:", "-pass pass:"}, match: after(quoted, 1)},
}

// each puts each of the bytes behind prefix.
func each(prefix, bytes string) []string {
	var list []string
	for i := range len(bytes) {
		list = append(list, prefix+bytes[i:i+1])
	}
	return list
}

// eachEnd puts each of the bytes before suffix.
func eachEnd(bytes, suffix string) []string {
	var list []string
	for i := range len(bytes) {
		list = append(list, bytes[i:i+1]+suffix)
	}
	return list
}

// snowflakes returns how the ids of Discord, numbers of 17 digits or more, can
// begin in base64.
func snowflakes() []string {
	var list []string
	for _, first := range []string{"MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"} {
		list = append(list, each(first, "AEIMQUYcgk")...)
	}
	return list
}
