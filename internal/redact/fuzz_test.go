package redact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"ambry.dev/ambry/internal/redact"
)

// plants are secrets that must be seen whatever touches them.
var plants = []string{
	"gh" + "p_" + fake(400, alnums, 36),
	"sk" + "-ant-api03-" + fake(401, alnums, 40),
	"gl" + "pat-" + fake(402, alnums, 20),
	"AI" + "za" + fake(403, alnums, 35),
	"xo" + "xb-" + fake(404, digits+digits, 12) + "-" + fake(405, alnums, 24),
	"dckr" + "_pat_" + fake(406, alnums, 27),
	jwtOf(407),
}

func addTexts(add func(s string)) {
	for _, s := range lookalikes {
		add(s)
	}
	for _, s := range shapes() {
		add(s.text)
		add(jsonOf(map[string]string{"text": s.text}))
	}
	for _, s := range hostile(300) {
		add(s)
	}
}

func FuzzText(f *testing.F) {
	addTexts(func(s string) { f.Add(s, "", uint8(len(s))) })
	f.Add("password: \"", "\"", uint8(0))
	f.Add("{\"password\":", "}", uint8(1))
	f.Add(`"-pass","`, "", uint8(2))
	f.Add("curl -u api_key", "", uint8(6))
	f.Fuzz(func(t *testing.T, before, after string, n uint8) {
		checkStable(t, before+after)
		plant := plants[int(n)%len(plants)]
		if clean := checkStable(t, before+plant+after); strings.Contains(clean, plant) {
			t.Errorf("%q survives in %q", plant, clean)
		}
	})
}

// checkStable redacts text and fails if doing it again changes something, or if
// characters were torn apart.
func checkStable(t *testing.T, text string) string {
	t.Helper()
	clean, found := redact.Text(text)
	if found == 0 && clean != text {
		t.Errorf("nothing was found, but %q became %q", text, clean)
	}
	if again, n := redact.Text(clean); again != clean || n != 0 {
		t.Errorf("%q became %q, then %q", text, clean, again)
	}
	if rest := mark.ReplaceAllString(clean, ""); strings.Count(rest, "[REDACTED:") > strings.Count(text, "[REDACTED:") {
		t.Errorf("%q became %q, in which a replacement is torn", text, clean)
	}
	if utf8.ValidString(text) && !utf8.ValidString(clean) {
		t.Errorf("%q became %q, which is not UTF-8", text, clean)
	}
	return clean
}

func FuzzJSON(f *testing.F) {
	addTexts(func(s string) { f.Add(s, "") })
	f.Add(`{"password":12345678,"token":[1,2],"--password":"x"}`, `\u002d`)
	f.Add(`["-----BEGIN PRIVATE KEY-----",123456789012345678901234567890]`, "")
	f.Fuzz(func(t *testing.T, text, more string) {
		checkJSON(t, text)
		checkJSON(t, jsonOf([]string{text, more}))
		checkJSON(t, jsonOf(map[string]any{"password": text, more: 12345678, "z": []any{more, 1.5, nil}}))
		nested := jsonOf(map[string]string{more: jsonOf(map[string]string{"password": plants[0], "text": text})})
		if clean := checkJSON(t, nested); strings.Contains(clean, plants[0]) {
			t.Errorf("%q survives in %q", plants[0], clean)
		}
	})
}

// checkJSON fails if text is JSON and its redaction is not.
func checkJSON(t *testing.T, text string) string {
	t.Helper()
	clean := checkStable(t, text)
	if json.Valid([]byte(text)) && !json.Valid([]byte(clean)) {
		t.Errorf("%s became %s", text, clean)
	}
	return clean
}

// pieces are what texts with secrets are made of; other bytes than these seldom
// change what is found.
var pieces = append([]string{
	"password", "PASSWORD", "--password", "passwd", "pass", "pwd", "secret", "token", "api_key", "key", "auth", "credentials",
	"Authorization", "Bearer ", "Basic ", "Cookie", "curl", "-u ", "machine a login b ", "密码", "密钥", "identified by",
	"=", ":", ": ", " = ", ":=", "=>", "：", " is ", "是", ",", ", ", ";", "&", "?", "<", ">", "</", "|\n", "[", "]", "{", "}", "(", ")",
	`"`, `\"`, `\\\"`, "'", "`", `\`, `\\`, `\n`, `\\n`, `\/`, `\u002d`, `\u0022`, `\u000a`, `\u00e9`, "\n", "\r\n", " ", "\t", "*", "**",
	"hunter2", "Tr0ub4dor", "letmein", "12345678", "string", "null", "${X}", "<x>", "a", "x-y", "_", "-", ".", "/", "//", "@", "://",
	"[REDACTED:", "[REDACTED:password]", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "ghp_", "eyJ", "sk-", "AKIA",
	"0123456789abcdef0123456789abcdef", "é", "界", "\x1b[31m", "\xff", "Set-", "n", "r", "u", "export ", "f",
}, plants...)

// FuzzPieces makes texts of pieces: each byte is one of them.
func FuzzPieces(f *testing.F) {
	f.Add([]byte{0, 22, 46, 66, 46})
	f.Fuzz(func(t *testing.T, choice []byte) {
		var b strings.Builder
		for _, c := range choice[:min(len(choice), 200)] {
			b.WriteString(pieces[int(c)%len(pieces)])
		}
		text := b.String()
		checkJSON(t, text)
		checkJSON(t, jsonOf([]string{text, text}))
		checkJSON(t, jsonOf(map[string]any{text: 12345678, "text": jsonOf(map[string]any{"password": text, text: 1})}))
	})
}
