package redact_test

import (
	"strings"
	"testing"
	"unsafe"

	"ambry.dev/ambry/internal/redact"
)

// lookalikes resemble secrets or speak of them and are none.
var lookalikes = strings.Split(strings.Trim(`
commit 3f786850e387550fdab836ed7e6dc881de23001b
sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
index 3f78685..89e6c98 100644
Merge branch 'token-refresh' into main (89e6c98d92887913cadf06b2adb97f26cde4849b)
session 550e8400-e29b-41d4-a716-446655440000 started
{"session_id":"019cab4b-dc76-7f56-a7a7-65b78b1e0bfa","type":"user"}
{"id":"toolu_01A09q90qw90lq917835lq9","type":"tool_use"}
{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","call_id":"call_abc123XYZ987"}
/home/ana/projects/payments/internal/secretstore/token/provider_test.go
internal/auth/password/hash.go:42:17: undefined: secretKey
src/cache_token.ts:1834:replica := open(x)
app/secret_queue.sql:190:if closure != nil
C:\Users\ana\AppData\Local\Password Manager\readme.txt
![password screen](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==)
"integrity": "sha512-9fdB6Jpz1c0Xl1uXQy8mJX1nTqCqjW0bqG7u7nq9l8FqV0pZcZ1Y6wq0Qw1Uq7V9n6C2yXo5h0m8n1b2v3c4d5=="
github.com/golang-jwt/jwt/v5 v5.2.1 h1:OuVbFODueb089Lh128TAcimifWaLhJwVflnwvnHHPYc=
github.com/zalando/go-keyring v0.2.3/go.mod h1:HL4k+OXQfJUWaMnqyuSOc0drfGPX2b51Du6K+MRgZMk=
password := os.Getenv("PASSWORD")
password = process.env.DB_PASSWORD
const token = req.headers.authorization.split(" ")[1]
token: string
password: str
password?: string;
if password == "" {
if (password !== confirmPassword) {
def login(user, password):
login(user=user, password=password)
login(user, password=form.password.data)
user.Password = hashPassword(input.Password)
this.password = newPassword;
const { password, token } = req.body
return &Config{Token: token, Secret: secret, Password: pass}
max_tokens=4096
"max_tokens": 4096,
{"usage":{"input_tokens":12345,"cache_read_input_tokens":99999,"output_tokens":678}}
"tokens": 123
token_count = 17
token: 50256
num_tokens: 128000 of 200000
next_token = tokens[i+1]
for token in tokenizer.tokenize(text):
api_key: ${API_KEY}
api_key = "<your-api-key>"
api_key="YOUR_API_KEY"
OPENAI_API_KEY=sk-...
export GITHUB_TOKEN=$(gh auth token)
TOKEN=$TOKEN make deploy
password: "********"
password: {{ .Values.db.password }}
password: !vault |
token: ${{ secrets.GITHUB_TOKEN }}
"password": "%s"
postgres://${DB_USER}:${DB_PASSWORD}@db/app
https://<user>:<password>@example.com
https://example.com:8443/a/b@c
oci://registry/image:latest@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
docker://image:tag@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
http://localhost:PORT/@vite/client
http://127.0.0.1:${port}/@fs/home/ana
git clone git@github.com:ambry/ambry.git
ssh://git@github.com/ambry/ambry.git
npm install @scope/pkg@1.2.3 --registry https://registry.npmjs.org:443/@scope
docker pull ghcr.io/x/y:latest@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
pip install scikit-learn sk-learn sklearn
<div class="sk-fading-circle sk-toggleable__content sk-estimator-doc-link">
.sk-cube-grid .sk-cube1 { animation-delay: 0.2s }
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer {token}
Authorization: Basic authentication is not supported
headers["Authorization"] = "Bearer " + token
set the Authorization header to a bearer token
getPassword()
setToken(newToken)
the password is wrong
The password is required and must be at least 8 characters.
your password was changed 3 days ago
the token is valid until 2026-11-27T23:59:59Z
Forgot your password? Reset it here.
error: secret "db-credentials" not found
secretKeyRef: { name: db-credentials, key: password }
secretName: my-tls-secret
secret: my-tls-secret
"passwordResetUrl": "https://example.com/reset"
passwordHash: string
password_min_length: 12
PASSWORD_FILE=/run/secrets/db_password
password_file: /run/secrets/db_password
SSH_AUTH_SOCK=/tmp/ssh-XXXXXX1234/agent.5678
PWD=/home/ana/work/api
{"pwd":"/home/ana/work/api","cwd":"/home/ana"}
"password": "Password",
"password": "Enter your password",
"password": {"type": "string", "minLength": 8},
{"name":"password","type":"password","placeholder":"Password"}
"required": ["username", "password"],
<input type="password" name="password" id="password">
<label for="password">Password</label>
await page.fill("#password", value)
console.log("password: " + password)
fmt.Printf("token=%s\n", token)
input("Password: "), user="bob"
echo "Password: "; read -s PASSWORD
Co-authored-by: Ana Key <ana.key@example.com>
Signed-off-by: secret-bot <bot@example.com>
keys := make([]string, 0, len(m))
"key": "ArrowDown",
key={item.id}
primary_key=True
public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4n0 ana@laptop
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDJ ana@laptop
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
strings.Contains(s, "-----BEGIN PRIVATE KEY-----")
AKIA is the prefix of access key ids
keyboard: qwerty, monkey: 1
v1.2.3-rc.1+build.5 released 2026-03-03
ghp_ tokens and npm_config_registry are prefixes
npm_package_config_some_long_name_of_a_variable_here
eyJ is how base64 of JSON begins
task-0123456789 disk-usage-report-2026 risk-assessment
"cookie": "theme=dark; lang=en"
Cookie: theme=dark
req.cookies.session
import { cookies } from "next/headers"
密码错误，请重试
请输入密码：
密码是必填项
密码字段的类型是 string
修改密码 (password) 的页面
api_key: Optional[str] = None
token: Token = field(default_factory=Token)
type Secret = { name: string; value: string }
secrets: inherit
env_key = "OPENAI_API_KEY"
apiKeyEnvVar: ANTHROPIC_API_KEY
curl -u "$USER:$PASS" https://example.com
docker run -u 1000:1000 -p 8080:80 nginx
mysql -p -u root
(Pre)-Master-Secret log filename in SSL
var a=b;item.renderPass=renderPass;item.renderPassId=i
the basic Op type
#define ATTR_SAE_PASSWORD 0x115
ATTR_SAE_PASSWORD = 0x115
private key is *ed25519.PrivateKey, expected another
PrivateKey:  testECDSAP256Key,
passwd:         compat
exports.CUSTOM_AUTH_START = SOCKS5_CUSTOM_AUTH_START;
<a href="#top" accesskey="n">
oauth2Key = "oauth2.google.serviceAccount"
sessionTokenHeader = "X-aws-ec2-metadata-token"
Authorization: AWS4-HMAC-SHA256 Credential=x/20110909/us-east-1/host/aws4_request
export KEY=$KEYSTORE_DIR/72523_go_integration_service_account
AssemblyName, Version=1.0.0.0, Culture=neutral, PublicKeyToken=31bf3856ad364e35
Token: '#d0d0d0',
// token = 1*tchar
tokens = 2*maxConcurrency + minTokens
cfg.ClientAuth = VerifyClientCertIfGiven
We pass 'a' to the function
set PWD=dir in the environment
username, password = split
the --username and --password options of svn
[REDACTED:password]
password=[REDACTED:password]
{"password":"[REDACTED:password]"}
Authorization: Bearer [REDACTED:jwt]
`, "\n"), "\n")

func TestTextKeepsLookAlikes(t *testing.T) {
	if len(lookalikes) < 60 {
		t.Fatalf("%d look-alikes, want 60 or more", len(lookalikes))
	}
	for _, s := range lookalikes {
		t.Run(s, func(t *testing.T) {
			for place, put := range places {
				text := put(s)
				if clean, found := redact.Text(text); clean != text || found != 0 {
					t.Errorf("%s: %q became %q", place, text, clean)
				}
			}
		})
	}
	all := strings.Join(lookalikes, "\n")
	if clean, found := redact.Text(all); clean != all || found != 0 {
		t.Errorf("%d found in all of them together: %q", found, clean)
	}
}

// A text without secrets is not copied, and to find that out costs no memory
// but for what a word like password needs.
func TestTextReturnsTheSameString(t *testing.T) {
	for _, s := range lookalikes {
		if clean, _ := redact.Text(s); unsafe.StringData(clean) != unsafe.StringData(s) {
			t.Errorf("%q was copied", s)
		}
	}
	prose := strings.Repeat("We looked at the parser, and at how it reads a line; nothing is wrong with it.\n", 100)
	if n := testing.AllocsPerRun(10, func() { redact.Text(prose) }); n != 0 {
		t.Errorf("%v allocations for prose, want none", n)
	}
	if n := testing.AllocsPerRun(10, func() { redact.Text(strings.Join(lookalikes[:20], prose)) }); n > 3 {
		t.Errorf("%v allocations for prose with look-alikes, want 3 or fewer", n)
	}
}
